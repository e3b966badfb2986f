"""Reading a source finds its kernel, and facts about its jit functions."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.diagnostic import Failure
from compiler.messages.orders import ReadOrder
from compiler.messages.wire import members_of
from compiler.reading.read_source import read_source

HEAD = "import triton\nimport triton.language as tl\n"


def reading_of(text: str, **header: Any) -> dict[str, Any]:
    return members_of(read_source(ReadOrder(**header), text.encode()))


KERNEL = "@triton.jit\ndef k(x):\n    tl.store(x, 1.0)\n"


def test_autotune_and_heuristics_are_stated() -> None:
    text = HEAD + (
        "@triton.autotune(\n    configs=[triton.Config({'B': 64}, num_warps=8)],\n"
        "    key=['n'],\n)\n"
        "@triton.heuristics({'EVEN': lambda args: True})\n"
        "@triton.jit(do_not_specialize=['n'])\n"
        "def k(x, n, B: tl.constexpr, EVEN: tl.constexpr):\n    tl.store(x, n)\n"
    )

    result = reading_of(text)

    (facts,) = result["facts"]["kernels"]
    assert facts["heuristics"] == ["EVEN"]
    assert facts["configs"] == [
        {
            "constexprs": {"B": {"literal": {"int": "64"}}},
            "options": {"num_warps": {"literal": {"int": "8"}}},
        }
    ]
    assert [p["do_not_specialize"] for p in facts["parameters"]] == [False, True, False, False]


def test_the_only_function_that_no_other_calls_is_the_kernel() -> None:
    text = HEAD + "@triton.jit\ndef helper(x):\n    return x\n"
    text += "@triton.jit\ndef k(x):\n    tl.store(x, helper(1.0))\n"

    assert reading_of(text)["kernel"] == "k"


def test_of_two_kernels_the_only_one_that_the_file_launches_is_compiled() -> None:
    text = HEAD + "@triton.jit\ndef unused(x):\n    return x\n" + KERNEL

    assert reading_of(text + "def run(x):\n    k[(1,)](x)\n")["kernel"] == "k"
    with pytest.raises(Failure) as failed:
        reading_of(text + "def run(x):\n    k[(1,)](x)\n    unused[(1,)](x)\n")
    assert failed.value.slug == "ambiguous_kernel"


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
    result = reading_of(f"{imports}\n@{decorator}\ndef k(x):\n    pass\n")

    assert result["kernel"] == "k"


def test_a_wrong_kernel_name_gets_a_suggestion() -> None:
    with pytest.raises(Failure, match="Did you mean 'add_kernel'") as caught:
        reading_of(HEAD + KERNEL.replace("def k", "def add_kernel"), kernel="ad_kernel")

    assert caught.value.slug == "unknown_kernel"


def test_inspection_states_facts_of_all_kernels_without_choosing() -> None:
    text = HEAD + KERNEL + KERNEL.replace("def k", "def other")

    result = reading_of(text, inspect=True)

    assert [kernel["name"] for kernel in result["facts"]["kernels"]] == ["k", "other"]
    assert result["kernel"] is None


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

    result = reading_of(f"{HEAD}@triton.jit\ndef k(x, A: tl.constexpr = {text}):\n    pass\n")

    assert result["facts"]["kernels"][0]["parameters"][1]["default"] == expected


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_any_newline_is_a_newline(newline: str) -> None:
    text = HEAD + KERNEL

    assert reading_of(text.replace("\n", newline))["facts"] == reading_of(text)["facts"]


def test_a_byte_order_mark_is_ignored() -> None:
    assert read_source(ReadOrder(), b"\xef\xbb\xbf" + (HEAD + KERNEL).encode()).kernel == "k"


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
        reading_of(text)

    assert caught.value.slug == "syntax_error"
    assert hint in str(caught.value.diagnostics[0].hint)


def test_a_foreign_decorator_differs_from_none() -> None:
    with pytest.raises(Failure) as caught:
        reading_of("import mini as mt\n@mt.jit\ndef k(x):\n    pass\n")

    assert caught.value.slug == "unknown_kernel"
    assert "k is decorated with @mt.jit, which is not Triton's" in caught.value.message


@pytest.mark.parametrize(
    "body", [b"\xff\xfe\x00", b"x = 1\x00\n", b"(" * 5000 + b"1" + b")" * 5000]
)
def test_text_that_cannot_be_read_is_a_syntax_error(body: bytes) -> None:
    with pytest.raises(Failure) as caught:
        read_source(ReadOrder(), body)

    assert caught.value.slug == "syntax_error"


def test_functions_passed_as_constexprs_are_no_kernels() -> None:
    text = HEAD + "@triton.jit\ndef relu(x):\n    return x\n" + KERNEL

    result = reading_of(text, functions=["relu"])

    assert result["kernel"] == "k"
