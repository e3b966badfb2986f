"""A slice keeps what a kernel reaches at its line; every other line becomes empty."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.diagnostic import Failure
from compiler.messages.orders import SliceOrder
from compiler.messages.wire import members_of
from compiler.slice.slice import slice_kernel

HEAD = "import triton\nimport triton.language as tl\n"


def sliced_text(text: str, **header: Any) -> dict[str, Any]:
    return members_of(slice_kernel(SliceOrder(**header), text.encode()))


def kept(text: str, **header: Any) -> list[str]:
    return [line for line in sliced_text(text, **header)["slice"].split("\n") if line]


KERNEL = "@triton.jit\ndef k(x):\n    tl.store(x, 1.0)\n"


def test_lines_stay_where_they_are() -> None:
    text = "import torch\n" + HEAD + "x = torch.rand(3)\n" + KERNEL + "k[(1,)](x)\n"

    slice_ = sliced_text(text)["slice"]

    assert slice_.split("\n") == ["", *text.split("\n")[1:3], "", *text.split("\n")[4:7], "", ""]


def test_an_edit_outside_of_the_slice_does_not_change_it() -> None:
    text = HEAD + "print('one')\n" + KERNEL

    assert sliced_text(text)["slice"] == sliced_text(text.replace("one", "two"))["slice"]


def test_helpers_constants_and_their_imports_are_reached() -> None:
    text = (
        "import math\nimport os\n" + HEAD + "A = math.pi\nB = tl.constexpr(A)\nC = 3\n"
        "@triton.jit\ndef helper(x):\n    return x + B\n"
        "@triton.jit\ndef k(x):\n    tl.store(x, helper(x))\n"
    )

    lines = kept(text, kernel="k")

    assert "import math" in lines
    assert "A = math.pi" in lines
    assert "def helper(x):" in lines
    assert "import os" not in lines
    assert "C = 3" not in lines


def test_a_kernels_own_variables_reach_nothing() -> None:
    text = HEAD + "y = 3\n@triton.jit\ndef k(x):\n    y = tl.load(x)\n    tl.store(x, y)\n"

    assert "y = 3" not in kept(text)


def test_autotune_and_heuristics_are_blanked_but_stated() -> None:
    text = HEAD + (
        "@triton.autotune(\n    configs=[triton.Config({'B': 64}, num_warps=8)],\n"
        "    key=['n'],\n)\n"
        "@triton.heuristics({'EVEN': lambda args: True})\n"
        "@triton.jit(do_not_specialize=['n'])\n"
        "def k(x, n, B: tl.constexpr, EVEN: tl.constexpr):\n    tl.store(x, n)\n"
    )

    result = sliced_text(text)

    (facts,) = result["facts"]["kernels"]
    assert "autotune" not in result["slice"]
    assert "do_not_specialize=['n']" in result["slice"]
    assert facts["heuristics"] == ["EVEN"]
    assert facts["configs"] == [
        {
            "constexprs": {"B": {"literal": {"int": "64"}}},
            "options": {"num_warps": {"literal": {"int": "8"}}},
        }
    ]
    assert [p["do_not_specialize"] for p in facts["parameters"]] == [False, True, False, False]


def test_inspection_says_which_lines_a_kernel_does_not_reach() -> None:
    text = HEAD + "@triton.autotune(\n    configs=[],\n    key=[])\n" + KERNEL + "k[(1,)](None)\n"

    (facts,) = sliced_text(text, inspect=True)["facts"]["kernels"]

    assert facts["blanked"] == [[3, 5], [9, 9]]


def test_a_guarded_import_is_kept_whole_only_if_it_is_reached() -> None:
    text = "try:\n    import nowhere\nexcept ImportError:\n    nowhere = None\n" + HEAD + KERNEL

    assert "try:" not in kept(text)
    assert "try:" in kept(text.replace("1.0", "nowhere"))


def test_a_block_of_which_one_part_matters_is_kept_whole() -> None:
    text = HEAD + (
        "if True:\n    import torch\nelse:\n    VALUE = tl.constexpr(2)\n"
        "@triton.jit\ndef k(x):\n    tl.store(x, VALUE)\n"
    )

    assert kept(text)[2:6] == [
        "if True:",
        "    import torch",
        "else:",
        "    VALUE = tl.constexpr(2)",
    ]


def test_statements_on_one_line_stay_together() -> None:
    text = "import os; import triton\nimport triton.language as tl\n" + KERNEL

    assert kept(text)[0] == "import os; import triton"


def test_changes_to_a_reached_list_are_kept() -> None:
    text = HEAD + "SIZES = []\nSIZES.append(4)\nOTHER = []\nOTHER.append(5)\n"
    text += "@triton.jit\ndef k(x):\n    tl.store(x, SIZES[0])\n"

    lines = kept(text)

    assert "SIZES.append(4)" in lines
    assert "OTHER.append(5)" not in lines


def test_assigning_to_a_module_that_is_reached_is_kept() -> None:
    assert "tl.mine = 3" in kept(HEAD + "tl.mine = 3\n" + KERNEL)


def test_the_only_function_that_no_other_calls_is_the_kernel() -> None:
    text = HEAD + "@triton.jit\ndef helper(x):\n    return x\n"
    text += "@triton.jit\ndef k(x):\n    tl.store(x, helper(1.0))\n"

    assert sliced_text(text)["kernel"] == "k"


@pytest.mark.parametrize(
    ("imports", "decorator"),
    [
        ("from triton import jit", "jit"),
        ("import triton as t", "t.jit"),
        ("import triton\nfast = triton.jit", "fast"),
        ("import functools, triton", "functools.partial(triton.jit, debug=True)"),
        ("from triton.experimental import gluon", "gluon.jit"),
    ],
)
def test_jit_is_recognised_through_its_names(imports: str, decorator: str) -> None:
    result = sliced_text(f"{imports}\n@{decorator}\ndef k(x):\n    pass\n")

    assert result["kernel"] == "k"
    assert result["whole"] is False


def test_a_wrong_kernel_name_gets_a_suggestion() -> None:
    with pytest.raises(Failure, match="Did you mean 'add_kernel'") as caught:
        sliced_text(HEAD + KERNEL.replace("def k", "def add_kernel"), kernel="ad_kernel")

    assert caught.value.slug == "unknown_kernel"


def test_inspection_states_facts_of_all_kernels_without_choosing() -> None:
    text = HEAD + KERNEL + KERNEL.replace("def k", "def other")

    result = sliced_text(text, inspect=True)

    assert [kernel["name"] for kernel in result["facts"]["kernels"]] == ["k", "other"]
    assert result["slice"] is None


@pytest.mark.parametrize(
    "default",
    [
        ("None", {"literal": None}),
        ("-1.5", {"literal": {"float": "-0x1.8000000000000p+0"}}),
        ("True", {"literal": True}),
        ("tl.bfloat16", {"literal": {"dtype": "bf16"}}),
        ("tl.constexpr(4)", {"literal": {"int": "4"}, "constexpr": True}),
        ("(1, 'a')", {"literal": {"tuple": [{"int": "1"}, "a"]}}),
        ("SIZE * 2", {"expression": "SIZE * 2"}),
    ],
    ids=lambda pair: pair[0],
)
def test_defaults_are_stated(default: tuple[str, Any]) -> None:
    text, expected = default

    result = sliced_text(f"{HEAD}@triton.jit\ndef k(x, A: tl.constexpr = {text}):\n    pass\n")

    assert result["facts"]["kernels"][0]["parameters"][1]["default"] == expected


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_any_newline_is_a_newline(newline: str) -> None:
    text = HEAD + KERNEL

    assert sliced_text(text.replace("\n", newline))["slice"] == sliced_text(text)["slice"]


def test_a_byte_order_mark_is_ignored() -> None:
    assert slice_kernel(SliceOrder(), b"\xef\xbb\xbf" + (HEAD + KERNEL).encode()).kernel == "k"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("%%time\n" + KERNEL, "notebook command"),
        (">>> import triton\n", "prompt"),
        ("```python\nimport triton\n```\n", "Markdown"),
        ("print 'x'\n", "print(...)"),
        (KERNEL + "--\nmodule {\n  tt.func public @k() {\n    %c-1_i32 = arith.x\n", "MLIR"),
        ("%0 = tt.get_program_id x : i32\n", "MLIR"),
        ("In [1]:\nimport triton\n\nIt's easy.\n", "notebook"),
        ("# Kernels\nIt's easy:\n```python\nimport triton\n```\n", "Markdown"),
        ("x = 'abc\n", "not closed"),
    ],
)
def test_pasted_text_that_is_no_python_gets_a_hint(text: str, hint: str) -> None:
    with pytest.raises(Failure) as caught:
        sliced_text(text)

    assert caught.value.slug == "syntax_error"
    assert hint in str(caught.value.diagnostics[0].hint)


def test_a_foreign_decorator_differs_from_none() -> None:
    with pytest.raises(Failure) as caught:
        sliced_text("import mini as mt\n@mt.jit\ndef k(x):\n    pass\n")

    assert caught.value.slug == "unknown_kernel"
    assert "k is decorated with @mt.jit, which is not Triton's" in caught.value.message


@pytest.mark.parametrize(
    "body", [b"\xff\xfe\x00", b"x = 1\x00\n", b"(" * 5000 + b"1" + b")" * 5000]
)
def test_text_that_cannot_be_read_is_a_syntax_error(body: bytes) -> None:
    with pytest.raises(Failure) as caught:
        slice_kernel(SliceOrder(), body)

    assert caught.value.slug == "syntax_error"


def test_a_star_import_of_another_package_is_an_assumption() -> None:
    result = sliced_text(
        HEAD + "VALUE = 1.0\nfrom torch import *\n" + KERNEL.replace("1.0", "VALUE")
    )

    assert result["assumptions"][0]["line"] == 4
    assert "`from torch import *`" in result["assumptions"][0]["message"]


def test_functions_passed_as_constexprs_are_reached() -> None:
    text = HEAD + "@triton.jit\ndef relu(x):\n    return x\n" + KERNEL

    result = sliced_text(text, functions=["relu"])

    assert result["kernel"] == "k"
    assert "def relu(x):" in result["slice"]
