from collections.abc import Sequence
from typing import Any

import pytest

from compiler.proof import equivalence
from compiler.proof.binding import SizeLimits
from compiler.proof.fusion import Build
from compiler.proof.obligations import Conclusion, Prover
from compiler.proof.proof_limits import Unsupported
from compiler.proof.prove import prover_of
from compiler.proof.structure import name_arguments
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.task import generic_form
from launch.contract.text import read_contract
from tests.proofs.compiled_ttir import TARGET, ttir_of

FLAT = """def kernel(x, y, out, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    tl.store(out + o, VALUE, mask=m)
"""
STRIDED = """def kernel(x, y, out, n, B: tl.constexpr):
    for s in range(tl.program_id(0) * B, n, tl.num_programs(0) * B):
        o = s + tl.arange(0, B)
        m = o < n
        tl.store(out + o, VALUE, mask=m)
"""
TYPES = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
SUM = "tl.load(x + o, mask=m) * 2.0 + tl.load(y + o, mask=m)"
SWAPPED = "tl.load(y + o, mask=m) + 2.0 * tl.load(x + o, mask=m)"
CLOCK = """tl.inline_asm_elementwise(
        "mov.b32 $0, %clock;", "=r,r", [tl.load(x + o, mask=m)], tl.float32, True, 1)"""
CONTRACT = "x: n\ny: n\nout: n\ngrid: cdiv(n, B)\n"


def prover(
    source: str,
    value: str = SUM,
    block: int = 256,
    contract: str = CONTRACT,
    types: dict[str, Any] = TYPES,
    names: Sequence[str] = (),
) -> Prover:
    constants = {"B": block}
    text = ttir_of(source.replace("VALUE", value), types, constants)
    module = module_of(generic_form(text, TARGET, "ttir")[0])
    name_arguments(module, names or list(types))
    return prover_of(module, read_contract(contract), constants, SizeLimits(size=2**20))


def equivalent(
    one: Prover, other: Prover, backend: str = "cuda", *, is_alike: bool = False
) -> Conclusion:
    """Return whether two kernels store the same, compiled with other options unless `is_alike`."""
    return equivalence.equivalent(one, other, Build(backend, is_alike))


def test_another_block_and_swapped_operands_store_the_same() -> None:
    found = equivalent(prover(FLAT), prover(FLAT, SWAPPED, 64))
    assert found.verdict == "proved", found.reason


def test_functions_of_libdevice_are_compared_by_their_names() -> None:
    value = "tl.extra.cuda.libdevice.{}(tl.load(x + o, mask=m))"
    tanh, erf = value.format("tanh"), value.format("erf")
    assert equivalent(prover(FLAT, tanh), prover(FLAT, tanh, 64)).verdict == "proved"
    assert equivalent(prover(FLAT, tanh), prover(FLAT, erf, 64)).verdict == "unknown"


def test_a_loop_over_the_grid_stores_the_same_as_one_tile_a_program() -> None:
    strided = prover(STRIDED, SUM, 128, CONTRACT.replace("cdiv(n, B)", "g") + "sizes g\n")
    found = equivalent(prover(FLAT), strided)
    assert found.verdict == "proved", found.reason


@pytest.mark.parametrize(
    ("source", "value", "words"),
    [
        (FLAT, SUM.replace("y + o,", "y + o + 1,"), "different operations"),
        (FLAT, SUM.replace("* 2.0", "* 3.0"), "different operations"),
        (FLAT.replace("o < n", "o < n - 1"), SUM, "every element is stored"),
        (FLAT, SUM.replace("mask=m)", "mask=o < n - 1)", 1), "may be masked"),
        (FLAT, "tl.load(out + o, mask=m)", "is loaded and stored"),
        (FLAT.replace("0) * B", "0) * 2 * B"), SUM, "every element is stored"),
        (FLAT.replace("o < n", "o < n + 1"), SUM, "stay in bounds"),
        (FLAT, SUM.replace("x + o", "x + o + n // 2"), "no fixed distance"),
        (FLAT, SUM + " * tl.num_programs(0)", "cannot read tt.get_num_programs in a stored value"),
        (FLAT, CLOCK, "cannot read tt.elementwise_inline_asm in a stored value"),
    ],
)
def test_what_is_not_shown_to_be_equal_is_unknown(source: str, value: str, words: str) -> None:
    found = equivalent(prover(FLAT), prover(source, value))
    assert found.verdict == "unknown"
    assert words in found.reason


def test_an_extent_with_a_quotient_is_not_compared_by_its_name() -> None:
    quarter = CONTRACT.replace("out: n", "out: cdiv(n, 4)")
    found = equivalent(prover(FLAT, contract=quarter), prover(FLAT))
    assert found.verdict == "unknown"
    assert "the extent of out" in found.reason


def test_contracts_that_no_size_keeps_together_prove_nothing() -> None:
    small, large = CONTRACT + "n <= 5\n", CONTRACT + "n >= 10\n"
    found = equivalent(prover(FLAT, contract=small), prover(FLAT, contract=large))
    assert found.verdict == "unknown"
    assert "both contracts" in found.reason


LATER = FLAT.replace("    o = tl", "    LOOP\n    o = tl")
ENDLESS = "i = n\n    while i > 0:\n        i = tl.maximum(i, 1)"
USED = "(o < n) & ((i < 1) | (i > 0))"
NESTED = "i = 0\n    for j in range(0, n):\n        while i * i > 1:\n            i = n"


@pytest.mark.parametrize(
    ("loop", "mask", "words"),
    [
        (ENDLESS, USED, "the while loop at line 8 might never end"),
        (NESTED, USED, "the while loop at line 9 might never end"),
        (
            "for j in range(0, n, s):\n        tl.debug_barrier()",
            "o < n",
            "the loop at line 7 might",
        ),
        ("tl.assume(n > 4)", "o < n", "what the assume at line 7 demands is not shown to hold"),
    ],
)
def test_a_kernel_that_may_not_reach_its_store_is_not_compared(
    loop: str, mask: str, words: str
) -> None:
    source = LATER.replace("LOOP", loop).replace("m = o < n", f"m = {mask}")
    source = source.replace("n, B:", "n, s, B:")
    types = TYPES | {"s": "i32"}
    found = equivalent(prover(FLAT), prover(source, contract=CONTRACT + "any s\n", types=types))
    assert found.verdict == "unknown"
    assert words in found.reason


def test_a_while_loop_around_the_store_is_not_compared() -> None:
    source = """def kernel(x, y, out, n, B: tl.constexpr):
    s = tl.program_id(0) * B
    while s < n:
        o = s + tl.arange(0, B)
        m = o < n
        tl.store(out + o, VALUE, mask=m)
        s += tl.num_programs(0) * B
"""
    found = equivalent(prover(FLAT), prover(source))
    assert found.verdict == "unknown"
    assert "the while loop at line 8 might never end" in found.reason


@pytest.mark.parametrize(
    "before", ["for j in range(0, n, 4):\n        tl.debug_barrier()", "tl.assume(n > 0)"]
)
def test_a_loop_that_ends_and_what_always_holds_change_nothing(before: str) -> None:
    found = equivalent(prover(FLAT), prover(LATER.replace("LOOP", before)))
    assert found.verdict == "proved", found.reason


def test_a_load_beyond_its_buffer_may_fault_so_it_is_not_compared() -> None:
    short = CONTRACT.replace("x: n", "x: n - 1")
    found = equivalent(prover(FLAT, contract=short), prover(FLAT, contract=short))
    assert found.verdict == "unknown"
    assert "the access at line 9 is not proved to stay in bounds" in found.reason


@pytest.mark.parametrize("grid", ["n // B", "n // B, 2", "2, n // B", "cdiv(n, B) - 1"])
def test_a_grid_that_may_be_empty_stores_nothing(grid: str) -> None:
    strided = prover(STRIDED, SUM, 128, CONTRACT.replace("cdiv(n, B)", grid) + "n <= 1000000\n")
    found = equivalent(prover(FLAT), strided)
    assert found.verdict == "unknown"
    assert "the grid may be empty" in found.reason


def test_grids_that_are_empty_where_the_buffer_is_store_the_same() -> None:
    contract = "any n\nn >= 0\nx: n\ny: n\nout: n\ngrid: cdiv(n, B)\n"
    found = equivalent(prover(FLAT, contract=contract), prover(FLAT, SUM, 64, contract))
    assert found.verdict == "proved", found.reason


@pytest.mark.parametrize("items", [("t[0]", "t[1]"), ("t[2][0]", "t[2][1]"), ("t[1]", "t[2][0]")])
def test_items_of_a_tuple_are_told_apart(items: tuple[str, str]) -> None:
    source = FLAT.replace("out, n", "out, t, n")
    types = TYPES | {"t": ("fp32", "fp32", ("fp32", "fp32"))}
    names = ["x", "y", "out", "t.0", "t.1", "t.2.0", "t.2.1", "n"]
    first, second = (
        prover(source, f"tl.load(x + o, mask=m) * {one}", types=types, names=names) for one in items
    )
    assert equivalent(first, first).verdict == "proved"
    assert equivalent(first, second).verdict == "unknown"


SWITCH = """module {
  tt.func public @k(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
    %p = tt.get_program_id x : i32
    %x1 = tt.addptr %x, %p : !tt.ptr<f32>, i32
    %o1 = tt.addptr %out, %p : !tt.ptr<f32>, i32
    %v = tt.load %x1 : !tt.ptr<f32>
    %i = arith.index_cast %n : i32 to index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    STORE
    tt.return
  }
}
"""
STORED = "tt.store %o1, %v : !tt.ptr<f32>"


@pytest.mark.parametrize(
    "text",
    [
        f"scf.index_switch %i case 7 {{\n {STORED}\n scf.yield }} default {{ scf.yield }}",
        f"scf.parallel (%j) = (%c1) to (%i) step (%c1) {{\n {STORED}\n scf.reduce }}",
        f"scf.forall (%j) in (%i) {{\n {STORED}\n }}",
        f"scf.execute_region {{\n {STORED}\n scf.yield }}",
    ],
)
def test_regions_that_are_not_modelled_are_refused_by_name(text: str) -> None:
    module = module_of(generic_form(SWITCH.replace("STORE", text), TARGET, "ttir")[0])
    name_arguments(module, ["x", "out", "n"])
    contract = read_contract("x: n\nout: n\ngrid: n\n")
    with pytest.raises(Unsupported, match=text.split(maxsplit=1)[0]):
        prover_of(module, contract, {}, SizeLimits(size=2**20))


X, Y = "tl.load(x + o, mask=m)", "tl.load(y + o, mask=m)"


def test_two_products_of_a_sum_in_another_order_are_not_compared() -> None:
    """The compiler fuses the first product with the sum, which rounds once, and not the other."""
    first, second = f"{X} * {Y} + {X} * 3.0", f"{X} * 3.0 + {X} * {Y}"
    assert equivalent(prover(FLAT, first), prover(FLAT, first, 64)).verdict == "proved"
    assert equivalent(prover(FLAT, first), prover(FLAT, second)).verdict == "unknown"


SCALED = FLAT.replace("n, B:", "n, a, b, B:")
SCALED_LOOP = STRIDED.replace("n, B:", "n, a, b, B:")
OF_SCALED = TYPES | {"a": "fp32", "b": "fp32"}
STRIDED_CONTRACT = CONTRACT.replace("cdiv(n, B)", "g") + "sizes g\n"


def test_a_product_that_may_leave_a_loop_is_not_compared_with_one_in_a_sum() -> None:
    value = f"{X} + a * b"
    flat = prover(SCALED, value, types=OF_SCALED)
    assert equivalent(flat, prover(SCALED, value, 64, types=OF_SCALED)).verdict == "proved"
    found = equivalent(flat, prover(SCALED_LOOP, value, 64, STRIDED_CONTRACT, OF_SCALED))
    assert found.verdict == "unknown"
    assert "fused" in found.reason


def test_a_product_outside_of_the_branch_of_its_sum_is_not_compared() -> None:
    source = SCALED.replace(
        "    tl.store(out + o, VALUE, mask=m)",
        f"    p = {X} * b\n    if n > 0:\n        tl.store(out + o, p + a, mask=m)",
    )
    found = equivalent(
        prover(SCALED, f"{X} * b + a", types=OF_SCALED), prover(source, types=OF_SCALED)
    )
    assert found.verdict == "unknown"
    assert "fused" in found.reason


APART = FLAT.replace(
    "    tl.store(out + o, VALUE, mask=m)", "    VALUE\n    tl.store(out + o, s, mask=m)"
)
PRODUCT, SUM_OF_IT = f"a = {X}\n    p = a * {Y}", "s = p + a"
SHOWN = "tl.device_print('p', p)"


@pytest.mark.parametrize(
    "between",
    [
        "for j in range(0, n):\n        tl.debug_barrier()",
        "if n > 5:\n        tl.device_print('n', n)",
        "tl.debug_barrier()",
        "tl.device_print('n', n)",
    ],
)
@pytest.mark.parametrize("shown", ["", SHOWN])
def test_a_product_apart_from_its_sum_is_not_compared_with_one_next_to_it(
    between: str, shown: str
) -> None:
    """The end of a basic block between the two keeps them two operations, with two roundings."""
    apart = prover(APART, "\n    ".join([PRODUCT, *filter(None, [shown]), between, SUM_OF_IT]))
    near = prover(APART, "\n    ".join([between, PRODUCT, *filter(None, [shown]), SUM_OF_IT]))
    found = equivalent(apart, near)
    assert found.verdict == "unknown"
    assert "fused" in found.reason
    assert equivalent(apart, apart).verdict == "proved"


WIDE = TYPES | {"x": "*fp64", "y": "*fp64", "out": "*fp64"}
LIBDEVICE, BITS = "tl.extra.cuda.libdevice", "tl.int32, bitcast=True"


@pytest.mark.parametrize(
    ("product", "function", "types"),
    [
        ("a * b", "tl.exp({})", WIDE),
        ("a * b", "tl.exp2({})", WIDE),
        ("a * b", "({}.to(tl.int64) // (n.to(tl.int64) + 1)).to(tl.float32)", TYPES),
        ("a * b", "({}.to(tl.int64) % (n.to(tl.int64) + 1)).to(tl.float32)", TYPES),
        (f"{LIBDEVICE}.exp10(a)", f"{LIBDEVICE}.tanh({{}})", TYPES),
        (f"{LIBDEVICE}.exp(a)", f"{LIBDEVICE}.tanh({{}})", TYPES),
        ("tl.fma(a, b, -0.0)", f"{LIBDEVICE}.tanh({{}})", TYPES),
        ("a / 2.0", f"{LIBDEVICE}.tanh({{}})", TYPES),
        ("(a.to(tl.float64) * b).to(tl.float32)", f"{LIBDEVICE}.tanh({{}})", TYPES),
        (f"(a * b).to({BITS}).to(tl.float32, bitcast=True)", f"{LIBDEVICE}.tanh({{}})", TYPES),
    ],
)
def test_a_product_before_what_may_branch_is_not_compared_with_one_after_it(
    product: str, function: str, types: dict[str, Any]
) -> None:
    """The sums of `p` are in two blocks, so `p` stays where it is: in one of them, or before."""
    loaded, called = f"a = {X}\n    b = {Y}", f"q = {function.format('b')}"
    rest = f"s = p + q\n    s = p + {function.format('s')}"
    first = prover(APART, "\n    ".join([loaded, f"p = {product}", called, rest]), types=types)
    later = prover(APART, "\n    ".join([loaded, called, f"p = {product}", rest]), types=types)
    found = equivalent(first, later)
    assert found.verdict == "unknown"
    assert "fused" in found.reason
    assert equivalent(first, first).verdict == "proved"


@pytest.mark.parametrize("use", ["p * 2.0", "p * -1.0 + a", "tl.fma(p, 1.0, a)", "p % b"])
def test_a_product_is_fused_with_what_becomes_a_sum(use: str) -> None:
    """The compiler makes `p + p` of `p * 2.0`, and fuses that."""
    between = "tl.debug_barrier()"
    head, rest = f"b = {Y}\n    a = {X}", f"s = {use}"
    apart = prover(APART, f"{head}\n    p = a * b\n    {between}\n    {rest}")
    near = prover(APART, f"{head}\n    {between}\n    p = a * b\n    {rest}")
    assert equivalent(apart, near).verdict == "unknown"
    assert equivalent(near, near).verdict == "proved"


@pytest.mark.parametrize(
    "value",
    [
        "tl.where(a > 0, p, b * 3.0) + q",
        "c * d + q",
        "(p.to(tl.float64) + q.to(tl.float64)).to(tl.float32)",
        "tl.abs(a * a) + q",
    ],
)
def test_a_product_that_other_uses_may_keep_from_its_sum_is_compared_in_one_form(
    value: str,
) -> None:
    """The compiler makes |a * b| of |a| * |b|, and one product of two that are selected."""
    head = f"a = {X}\n    b = {Y}\n    q = b\n    p = a * b\n    c = tl.abs(a)\n    d = tl.abs(b)"
    other_use = "tl.device_print('c', c + d)"
    first = prover(APART, f"{head}\n    s = {value}")
    assert equivalent(first, prover(APART, f"{head}\n    s = {value}", 64)).verdict == "proved"
    later = prover(APART, f"{head}\n    {other_use}\n    s = {value}")
    assert equivalent(first, later).verdict == "unknown"


def test_a_product_with_another_use_is_not_compared_with_one_that_has_none() -> None:
    """Of two products of a sum, the compiler fuses the one with fewer uses."""
    both = f"p = {X} * {Y}\n    q = {X} * 3.0"
    more = prover(APART, f"{both}\n    {SHOWN}\n    s = p + q")
    found = equivalent(prover(APART, f"{both}\n    s = p + q"), more)
    assert found.verdict == "unknown"


def test_a_product_before_a_function_is_compared_in_kernels_of_one_form() -> None:
    tanh = f"tl.extra.cuda.libdevice.tanh({X})"
    value = f"p = {Y} * {X}\n    q = {tanh}\n    s = p + q"
    first, later = prover(APART, value), f"q = {tanh}\n    p = {Y} * {X}\n    s = p + q"
    assert equivalent(first, prover(APART, value, 64)).verdict == "proved"
    assert equivalent(first, prover(APART, later)).verdict == "unknown"


def test_a_product_of_scalars_and_one_of_tiles_are_compared_for_equal_tiles_only() -> None:
    value = f"a * b + {X} * {Y}"
    first = prover(SCALED, value, types=OF_SCALED)
    assert equivalent(first, prover(SCALED, value, types=OF_SCALED)).verdict == "proved"
    assert equivalent(first, prover(SCALED, value, 64, types=OF_SCALED)).verdict == "unknown"


LOADED_FIRST = f"""a = {X}
    b = {Y}
    p = a * b
    s = p + a"""
LOADED_BETWEEN = f"""a = {X}
    p = a * 2.0
    b = {Y}
    s = p + b"""


def test_a_masked_load_between_a_product_and_its_sum_is_a_branch_for_amd() -> None:
    first, small = prover(APART, LOADED_BETWEEN), prover(APART, LOADED_BETWEEN, 64)
    assert equivalent(first, small).verdict == "proved"
    found = equivalent(first, small, "hip", is_alike=True)
    assert found.verdict == "unknown"
    assert "fused" in found.reason


def test_a_function_between_a_product_and_its_sum_may_be_a_branch_for_amd() -> None:
    value = f"a = {X}\n    p = a * {Y}\n    s = p + tl.exp(a)"
    first, small = prover(APART, value), prover(APART, value, 64)
    assert equivalent(first, small).verdict == "proved"
    assert equivalent(first, small, "hip", is_alike=True).verdict == "unknown"


@pytest.mark.parametrize("is_alike", [True, False])
def test_a_kernel_for_amd_with_a_load_in_a_sum_equals_one_that_is_compiled_alike(
    *, is_alike: bool
) -> None:
    first = prover(APART, LOADED_BETWEEN)
    found = equivalent(first, prover(APART, LOADED_BETWEEN), "hip", is_alike=is_alike)
    assert (found.verdict == "proved") == is_alike


def test_kernels_for_amd_that_load_before_a_product_are_compared() -> None:
    first, small = prover(APART, LOADED_FIRST), prover(APART, LOADED_FIRST, 64)
    assert equivalent(first, small, "hip").verdict == "proved"
