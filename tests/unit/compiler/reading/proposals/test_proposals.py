"""Types proposed for parameters, each from the line that implies it."""

from __future__ import annotations

from typing import Any

from compiler.messages.orders import ReadOrder
from compiler.reading.read_source import read_source

HEAD = "import triton\nimport triton.language as tl\n@triton.jit\n"


def proposals_of(text: str) -> dict[str, dict[str, Any]]:
    kernels = read_source(ReadOrder(inspect=True), text.encode()).facts["kernels"]
    return {p["name"]: p["proposal"] for p in kernels[-1]["parameters"]}


def test_helpers_of_posted_files_are_followed() -> None:
    helper = HEAD + "def read(at, rows):\n    return tl.load(at).to(tl.int64) // rows\n"
    text = f"from helpers import read\n{HEAD}def k(x, rows):\n    read(x, tl.load(rows))\n"

    order = ReadOrder(inspect=True, files={"helpers.py": helper})
    kernels = read_source(order, text.encode()).facts["kernels"]

    found = {p["name"]: p["proposal"]["type"] for p in kernels[-1]["parameters"]}
    assert found == {"x": "*i64", "rows": "*i32"}


def types_of(parameters: str, *body: str) -> dict[str, str]:
    text = HEAD + f"def k({parameters}):\n" + "".join(f"    {line}\n" for line in body)
    return {name: made["type"] for name, made in proposals_of(text).items()}


def test_an_address_is_a_pointer_and_what_bounds_offsets_an_integer() -> None:
    found = proposals_of(
        HEAD + "def k(x, n, BLOCK: tl.constexpr):\n"
        "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.load(x + offsets, mask=offsets < n)\n"
    )

    assert {name: (made["type"], made["line"]) for name, made in found.items()} == {
        "x": ("*fp32", 6),
        "n": ("i32", 6),
        "BLOCK": ("constexpr", 5),
    }
    assert found["x"]["hints"] == ["divisible_by_16"]
    assert "fp32 is a guess" in found["x"]["reason"]


def test_addresses_are_followed_through_names_and_helpers() -> None:
    helper = "def read(at):\n    return tl.load(at)\n\n\n@triton.jit\n"
    body = (
        "    row = x + pid * stride\n    row += 4\n    read(row)\n    tl.store(offset + y_ptr, 0)\n"
    )

    found = proposals_of(HEAD + helper + "def k(x, y_ptr, pid, stride, offset):\n" + body)

    types = {name: made["type"] for name, made in found.items()}
    pointers, integers = ("x", "y_ptr"), ("pid", "stride", "offset")
    assert types == dict.fromkeys(pointers, "*fp32") | dict.fromkeys(integers, "i32")
    assert found["x"]["reason"].startswith("is passed to read")


def test_elements_are_what_the_code_casts_to_or_uses_them_as() -> None:
    found = types_of(
        "x, index, mask, out, ends",
        "i = tl.load(index)",
        "v = tl.load(x + i, mask=tl.load(mask)).to(tl.bfloat16)",
        "tl.store(out + i, v.to(tl.float16))",
        "for j in range(tl.load(ends)): pass",
    )

    expected = {"x": "*bf16", "index": "*i32", "mask": "*i1", "out": "*fp16", "ends": "*i32"}
    assert found == expected


def test_numbers_in_float_arithmetic_are_floats() -> None:
    found = types_of(
        "x, eps, by, momentum, rows, cols, low=0.5",
        "v = tl.load(x)",
        "tl.store(x, v * by / tl.sqrt(v + eps))",
        "for i in range(tl.cdiv(rows, cols)): pass",
    )

    floats = {"eps", "by", "momentum", "low"}
    assert found == {"x": "*fp32", "rows": "i32", "cols": "i32"} | dict.fromkeys(floats, "fp32")


def test_annotations_decide() -> None:
    found = types_of("x: '*fp16', n: tl.int64, f: float, p: tl.pointer_type(tl.int8)", "pass")

    assert found == {"x": "*fp16", "n": "i64", "f": "fp32", "p": "*i8"}


def test_a_descriptor_gets_the_rank_of_its_offsets() -> None:
    assert types_of("a, m", "a.load([m, 0])") == {"a": "tensordesc<fp32[64,64]>", "m": "i32"}


def test_values_come_from_configurations_defaults_and_launches_before_examples() -> None:
    found = proposals_of(
        "import triton\nimport triton.language as tl\n"
        "@triton.autotune([triton.Config({'A': a}) for a in [32, 64]], key=[])\n"
        "@triton.jit\n"
        "def k(A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, T: tl.constexpr,\n"
        "      M: tl.constexpr, F: tl.constexpr, D: tl.constexpr = 8):\n"
        "    if F: tl.zeros([C], T)\n"
        "    tl.full([A, B, D], 0, dtype=T)\n"
        "    M == 'relu'\n"
        "def run(x):\n"
        "    size = 128\n"
        "    k[(1,)](B=size, D=16)\n"
    )

    values = {name: made["values"] for name, made in found.items()}
    assert values == {
        "A": [{"int": "32"}, {"int": "64"}],
        "B": [{"int": "128"}],
        "C": [{"int": "64"}],
        "T": [{"dtype": "fp32"}],
        "M": ["relu"],
        "F": [False],
        "D": [{"int": "8"}],
    }
    examples = {name for name, made in found.items() if made["confidence"] == "low"}
    assert examples == {"C", "T", "M", "F"}


def test_a_shape_that_is_no_constexpr_yet_becomes_one() -> None:
    assert types_of("x, BLOCK=64", "tl.load(x + tl.arange(0, BLOCK))")["BLOCK"] == "constexpr"


def test_names_say_nothing_about_a_parameter_whose_use_does() -> None:
    found = types_of(
        "rows, x_ptr, eps, y_ptr",
        "at = tl.arange(0, 64) + eps",
        "tl.store(rows + at * x_ptr, y_ptr * 0.5, mask=at < eps)",
    )

    assert found == {"rows": "*fp32", "x_ptr": "i32", "eps": "i32", "y_ptr": "fp32"}


def test_masks_and_operands_of_bits_are_no_floats() -> None:
    found = types_of(
        "x, keep, bits, rest",
        "o = tl.arange(0, 64)",
        "both = tl.load(keep + o) & (o < 9)",
        "v = (tl.load(bits + o) + 1) & 7",
        "tl.store(x + o, v + tl.load(rest + o) % 3, mask=both)",
    )

    assert found == {"x": "*i32", "keep": "*i1", "bits": "*i32", "rest": "*i32"}


def test_what_is_negated_by_not_is_a_boolean() -> None:
    lines = ["y = True if x is None else tl.load(x)", "if not y:", "    tl.store(out, 1.0)"]

    assert types_of("x, out", *lines)["x"] == "*i1"


def test_an_asserted_type_is_that_of_the_pointer() -> None:
    found = types_of("x, out", "b = tl.load(x)", "tl.static_assert(b.dtype == tl.int8)")

    assert found["x"] == "*i8"


def test_what_is_multiplied_into_integers_is_an_integer() -> None:
    found = types_of(
        "a, b, c, d",
        "total = tl.zeros((32, 32), dtype=tl.int32)",
        "total += tl.dot(tl.load(a), tl.load(b))",
        "tl.dot(tl.load(c), tl.load(d), out_dtype=tl.int32)",
    )

    assert found == dict.fromkeys("abcd", "*i8")


def test_the_last_stride_of_a_descriptor_is_one() -> None:
    found = proposals_of(
        HEAD + "def k(x, m, s_ptr, last_ptr, B: tl.constexpr):\n"
        "    tl.make_tensor_descriptor(x, [m, m], [s_ptr, last_ptr], [B, B]).load([0, 0])\n"
    )

    hints = {name: (made["type"], made["hints"]) for name, made in found.items()}
    assert hints["last_ptr"] == ("i32", ["equal_to_1"])
    assert hints["s_ptr"] == ("i32", ["divisible_by_16"])
    assert found["last_ptr"]["reason"] == "is the last stride of a tensor descriptor"


def test_arguments_of_libdevice_are_floats() -> None:
    head = "from triton.language.extra import libdevice\n" + HEAD
    found = proposals_of(head + "def k(y, x):\n    tl.store(y, libdevice.fast_cosf(x))\n")

    assert found["x"]["type"] == "fp32"


def assumed_of(parameters: str, *body: str, decorator: str = "@triton.jit") -> dict[str, str]:
    """Return each parameter's type with the suffix of its hint."""
    head = HEAD.replace("@triton.jit", decorator)
    text = head + f"def k({parameters}):\n" + "".join(f"    {line}\n" for line in body)
    suffixes = {"divisible_by_16": ":16", "equal_to_1": ":1"}
    return {
        name: "".join([made["type"], *(suffixes[hint] for hint in made["hints"])])
        for name, made in proposals_of(text).items()
    }


MATRIX = (
    "rows = tl.arange(0, 64)[:, None]",
    "columns = tl.arange(0, 64)[None, :]",
    "a = x + rows * stride_m + columns * stride_k",
    "tl.store(a, 0.5, mask=(rows < m) & (columns < seed))",
)


def test_sizes_and_strides_are_divisible_by_16_and_last_strides_are_1() -> None:
    found = assumed_of("x, m, seed, stride_m, stride_k, start", *MATRIX, "tl.load(a + start)")

    assert found == {
        "x": "*fp32:16", "m": "i32:16", "seed": "i32:16", "stride_m": "i32:16",
        "stride_k": "i32:1", "start": "i32",
    }  # fmt: skip


def test_a_row_stride_is_not_1_where_columns_follow_each_other() -> None:
    found = assumed_of("x, stride, n", "o = tl.arange(0, 64)", "tl.load(x + n * stride + o)")

    assert found["stride"] == "i32:16"


def test_what_is_not_specialised_is_not_assumed() -> None:
    decorator = '@triton.jit(do_not_specialize=["stride_k"], do_not_specialize_on_alignment=["m"])'
    found = assumed_of("x, m, seed, stride_m, stride_k", *MATRIX, decorator=decorator)

    assert (found["stride_k"], found["m"], found["seed"]) == ("i32", "i32", "i32:16")


def test_a_last_stride_with_attributes_or_other_values_is_not_1() -> None:
    changed = assumed_of("x, m, seed, stride_m, stride_k", "stride_k = stride_k + 1", *MATRIX)
    cast = assumed_of("x, m, seed, stride_m, stride_k", "stride_k.to(tl.int64)", *MATRIX)

    assert {changed["stride_k"], cast["stride_k"]} <= {"i32", "i32:16"}


def test_operands_of_dot_are_fp16_unless_something_else_is_said() -> None:
    plain = types_of("a, b", "tl.dot(tl.load(a), tl.trans(tl.load(b)))")
    through = types_of(
        "q, k, v",
        "s = tl.dot(tl.load(q), tl.load(k))",
        "w = tl.load(v)",
        "tl.dot(s.to(w.dtype), w)",
    )
    cast = types_of("a, b", "tl.dot(tl.load(a).to(tl.float32), tl.load(b))")
    scaled = types_of("a, b, s", "tl.dot(tl.load(a) * s, tl.load(b))")
    used = types_of("a, b", "x = tl.load(a)", "tl.dot(x, tl.load(b))", "tl.exp(x)")
    stored = types_of(
        "a, b", "tl.store(a, (0.5).to(tl.bfloat16))", "tl.dot(tl.load(a), tl.load(b))"
    )

    assert plain == {"a": "*fp16", "b": "*fp16"}
    assert through == {"q": "*fp16", "k": "*fp16", "v": "*fp16"}
    assert {cast["b"], scaled["a"], scaled["b"], used["a"], used["b"]} == {"*fp32"}
    assert stored == {"a": "*bf16", "b": "*bf16"}


def test_operands_of_dot_are_followed_through_methods_that_keep_the_type() -> None:
    found = types_of(
        "a, b",
        "low = tl.load(b)",
        "tl.static_assert(low.dtype == tl.int8)",
        "tl.dot(tl.load(a), tl.join(low.to(tl.bfloat16), low.to(tl.bfloat16)).reshape(16, 16))",
    )

    assert found == {"a": "*bf16", "b": "*i8"}


def test_a_type_that_operands_of_bits_are_cast_to_is_an_integer() -> None:
    found = proposals_of(
        HEAD + "def k(x, T: tl.constexpr, F: tl.constexpr):\n"
        "    shifts = tl.arange(0, 16).to(T)\n"
        "    y = tl.load(x).to(F)\n"
        "    tl.store(x, tl.load(x).to(T) << shifts)\n"
    )

    assert [found[name]["values"] for name in "TF"] == [[{"dtype": "i32"}], [{"dtype": "fp32"}]]


def test_arguments_after_unpacked_ones_are_counted_or_not_guessed() -> None:
    kernel = HEAD + "def k(x, y, z, N: tl.constexpr):\n    tl.store(x, N)\n\n\n"
    known = f"{kernel}k[(1,)](x, *((1, 2) if x else (3, 4)), 8)\n"
    unknown = f"{kernel}k[(1,)](x, *sizes, 8, 16)\n"

    assert proposals_of(known)["N"]["values"] == [{"int": "8"}]
    assert proposals_of(unknown)["N"]["values"] == [{"int": "64"}]


def test_a_mode_is_the_least_of_the_numbers_that_it_is_compared_with() -> None:
    found = proposals_of(
        HEAD + "def k(x, MODE: tl.constexpr):\n"
        "    if MODE == 5:\n        tl.store(x, 1)\n"
        "    if MODE == 1 or MODE == -1:\n        tl.store(x, 2)\n"
    )

    assert found["MODE"]["values"] == [{"int": "1"}]


def test_a_mode_that_is_compared_with_constants_of_the_module_is_one_of_them() -> None:
    names = (
        "NONE: tl.constexpr = tl.constexpr(-1)\nFULL: tl.constexpr = tl.constexpr(3)\nHALF = 2\n"
    )
    found = proposals_of(
        HEAD + "def k(x, MODE: tl.constexpr):\n"
        "    if MODE == FULL:\n        tl.store(x, 1)\n"
        "    elif MODE == HALF:\n        tl.store(x, 2)\n"
        "    elif MODE == NONE:\n        tl.store(x, 3)\n" + names
    )

    assert found["MODE"]["values"] == [{"int": "2"}]
    assert found["MODE"]["line"] == 7


def test_an_operand_of_dot_has_the_type_of_its_last_cast() -> None:
    found = types_of(
        "q, k, v",
        "p = tl.exp(tl.dot(tl.load(q), tl.load(k)))",
        "values = tl.load(v)",
        "p = p.to(values.dtype)",
        "tl.dot(p, values)",
    )

    assert found == dict.fromkeys("qkv", "*fp16")


def test_helpers_of_a_star_import_are_followed() -> None:
    helper = HEAD + "def read(at):\n    return tl.load(at).to(tl.int64)\n"
    text = f"from .helpers import *\n{HEAD}def k(x):\n    read(x)\n"

    order = ReadOrder(inspect=True, files={"helpers.py": helper})
    kernels = read_source(order, text.encode()).facts["kernels"]

    assert kernels[-1]["parameters"][0]["proposal"]["type"] == "*i64"


def test_what_has_an_element_type_is_a_pointer() -> None:
    found = types_of("x, y", "value = tl.load(y).to(tl.pointer_type(x.dtype.element_ty))")

    assert found == {"x": "*fp32", "y": "*i64"}


def test_what_is_asserted_to_be_a_multiple_is_one() -> None:
    found = proposals_of(
        HEAD + "def k(x, K: tl.constexpr, B: tl.constexpr):\n"
        "    tl.static_assert(K % (4 * B) == 0, 'K is a multiple')\n"
        "    tl.store(x + tl.arange(0, B), K)\n"
    )

    assert [found[name]["values"] for name in "KB"] == [[{"int": "1024"}], [{"int": "64"}]]


def test_a_flag_that_decides_whether_a_parameter_is_a_pointer_makes_it_one() -> None:
    head = HEAD + "def k(out, at, shift, IS_AT: tl.constexpr, IS_SHIFT: tl.constexpr):\n"
    body = (
        "    if not IS_AT:\n        i = 4 + at\n    else:\n        i = 4 + tl.load(at)\n"
        "    j = tl.load(shift) if IS_SHIFT else shift\n    tl.store(out + i, j)\n"
    )

    found = proposals_of(head + body)

    assert (found["at"]["type"], found["shift"]["type"]) == ("*i32", "*fp32")
    assert (found["IS_AT"]["values"], found["IS_SHIFT"]["values"]) == ([True], [True])


def test_what_is_an_integer_before_a_loop_stays_one_in_it() -> None:
    found = types_of(
        "x, y, n",
        "start = tl.cast(0, tl.int64)",
        "total = 0.0",
        "for i in range(n):",
        "    ends = tl.cumsum(tl.load(x + i)) + start",
        "    start = tl.max(ends)",
        "    total += tl.load(y + i)",
    )

    assert found == {"x": "*i32", "y": "*fp32", "n": "i32"}


def test_an_operand_of_dot_has_the_type_that_a_helper_is_passed() -> None:
    helper = (
        "def dots(p, v, w, kind: tl.constexpr):\n"
        "    p = p.to(kind)\n    return tl.dot(p, tl.load(v)) + tl.dot(p, w.load([0, 0]))\n"
    )
    body = (
        "    kind = tl.float8e5 if IS_SMALL else tl.bfloat16\n"
        "    tl.store(x, dots(tl.zeros((64, 64), tl.float32), v, w, kind))\n"
    )

    found = proposals_of(
        f"{HEAD}{helper}\n\n@triton.jit\ndef k(x, v, w, IS_SMALL: tl.constexpr):\n{body}"
    )

    assert (found["v"]["type"], found["w"]["type"]) == ("*bf16", "tensordesc<bf16[64,64]>")


def test_what_may_be_a_descriptor_or_a_pointer_is_a_pointer() -> None:
    helper = (
        "def described(x, n):\n    if isinstance(x, tl.tensor_descriptor):\n        return x\n"
        "    return tl.make_tensor_descriptor(x, [n, n], [n, 1], [64, 64])\n"
    )
    body = "    x = described(x, n)\n    read(x)\n"
    read = "@triton.jit\ndef read(x):\n    return x.load([0, 0])\n"

    found = proposals_of(f"{HEAD}{helper}{read}@triton.jit\ndef k(x, n):\n{body}")

    assert found["x"]["type"] == "*fp32"


def test_a_constant_is_what_a_helper_uses_it_as() -> None:
    helper = (
        "def inner(x, mode: tl.constexpr, ws: tl.constexpr):\n"
        "    for i in tl.range(4, warp_specialize=ws):\n"
        "        if mode == 'mean':\n            tl.store(x, 1.0)\n"
    )
    body = "    inner(x, M, ws=W)\n"

    found = proposals_of(
        f"{HEAD}{helper}@triton.jit\ndef k(x, M: tl.constexpr, W: tl.constexpr):\n{body}"
    )

    assert (found["M"]["values"], found["W"]["values"]) == (["mean"], [False])
    assert found["M"]["reason"].startswith("is passed to inner, where it is compared with")


def test_a_seed_that_is_loaded_is_an_integer_and_a_parameter_a_mask() -> None:
    found = types_of(
        "seeds, x, inside",
        "tl.store(x, tl.rand(tl.load(seeds), 0), mask=inside)",
    )

    assert found == {"seeds": "*i32", "x": "*fp32", "inside": "i1"}


def test_a_divisor_is_an_example_that_divides() -> None:
    head = HEAD + "def k(x, bits: tl.constexpr, PART: tl.constexpr, TILE: tl.constexpr):\n"
    body = "    i = tl.arange(0, TILE) // (32 // bits)\n    tl.store(x + i % (TILE // PART), 1.0)\n"

    found = proposals_of(head + body)

    assert (found["bits"]["values"], found["PART"]["values"]) == ([{"int": "4"}], [{"int": "1"}])


def test_what_a_name_is_after_its_bits_were_used_may_be_a_float() -> None:
    found = types_of(
        "packed, scales, out",
        "b = tl.load(packed)",
        "b = (b >> 4) & 15",
        "b = b * tl.load(scales)",
        "tl.store(out, b)",
    )

    assert found == {"packed": "*i32", "scales": "*fp32", "out": "*fp32"}
