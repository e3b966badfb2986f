"""Inspections of more than plain kernels: configs made by code, helpers in other files."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.diagnostic import Failure
from compiler.messages.orders import ReadOrder
from compiler.messages.wire import members_of
from compiler.reading.read_source import read_source

HEAD = "import triton\nimport triton.language as tl\n"
JIT = "@triton.jit\ndef double(x):\n    return x + x\n"
CALLER = HEAD + "@triton.jit\ndef k(x):\n    tl.store(x, double(1.0))\n"


def kernels_of(text: str, files: dict[str, str] | None = None) -> list[dict[str, Any]]:
    order = ReadOrder(inspect=True, files=files or {})
    found: list[dict[str, Any]] = read_source(order, text.encode()).facts["kernels"]
    return found


def test_a_configuration_may_be_written_with_dict() -> None:
    text = HEAD + (
        "@triton.autotune(configs=[triton.Config(kwargs=dict(B=64), num_stages=2)], key=['n'])\n"
        "@triton.jit\ndef k(x, n, B: tl.constexpr):\n    pass\n"
    )

    [kernel] = kernels_of(text)

    assert kernel["configs"] == [
        {
            "constexprs": {"B": {"literal": {"int": "64"}}},
            "options": {"num_stages": {"literal": {"int": "2"}}},
        }
    ]


def test_configurations_made_by_code_are_reported_as_that_code() -> None:
    text = HEAD + "@triton.autotune(configs=made(), key=[])\n@triton.jit\ndef k(x):\n    pass\n"

    assert kernels_of(text)[0]["configs"] == [{"expression": "made()"}]


IMPORTS = {
    "relative": ("from .helpers import double\n", {"helpers.py": HEAD + JIT}),
    "renamed": (
        "from helpers import twice as double\n",
        {"helpers.py": HEAD + JIT.replace("double", "twice")},
    ),
    "passed on by a package": (
        "from ops import double\n",
        {"ops/math.py": HEAD + JIT, "ops/__init__.py": "from .math import double\n"},
    ),
}


@pytest.mark.parametrize(("statement", "files"), IMPORTS.values(), ids=IMPORTS)
def test_calls_into_further_files_are_reported(statement: str, files: dict[str, str]) -> None:
    [kernel] = kernels_of(statement + CALLER, files)

    assert kernel["calls"] == ["double"]


def test_a_plain_function_of_another_file_is_no_call() -> None:
    files = {"helpers.py": "def double(x):\n    return x\n"}

    [kernel] = kernels_of("from helpers import double\n" + CALLER, files)

    assert kernel["calls"] == []


def test_a_file_that_imports_itself_ends() -> None:
    files = {"a.py": "from b import double\n", "b.py": "from a import double\n"}

    [kernel] = kernels_of("from a import double\n" + CALLER, files)

    assert kernel["calls"] == []


MADE_INSIDE = {
    "a function": (
        "def make():\n    @triton.jit\n    def k(x):\n        pass\n    return k\nmade = make()\n",
        "k",
    ),
    "a class": (
        "class Ops:\n    @staticmethod\n    @triton.jit\n    def k(x):\n        pass\n",
        "Ops.k",
    ),
}


@pytest.mark.parametrize(("text", "name"), MADE_INSIDE.values(), ids=MADE_INSIDE)
def test_a_kernel_made_inside_something_is_left_to_running_the_source(text: str, name: str) -> None:
    result = members_of(read_source(ReadOrder(kernel=name), (HEAD + text).encode()))

    assert result["kernel"] == name


def test_the_error_of_an_unknown_kernel_lists_nested_ones() -> None:
    text = HEAD + MADE_INSIDE["a class"][0]

    with pytest.raises(Failure) as caught:
        read_source(ReadOrder(kernel="kk"), text.encode())

    assert caught.value.slug == "unknown_kernel"
    assert "inside functions and classes there are: Ops.k" in caught.value.message


def test_a_size_without_an_annotation_has_a_warning() -> None:
    text = HEAD + "@triton.jit\ndef k(x, BLOCK):\n    tl.store(x + tl.arange(0, BLOCK), 1.0)\n"

    (plain,) = kernels_of(text)
    (annotated,) = kernels_of(text.replace("BLOCK)", "BLOCK: tl.constexpr)", 1))

    assert plain["warnings"] == [
        "BLOCK is used as a constant on line 5 (tl.arange(0, BLOCK)) but is not annotated: "
        "write `BLOCK: tl.constexpr`"
    ]
    assert annotated["warnings"] == []


def test_a_function_that_a_kernel_calls_needs_no_annotation() -> None:
    text = HEAD + (
        "@triton.jit\ndef part(B):\n    return tl.arange(0, B)\n"
        "@triton.jit\ndef k(x, B: tl.constexpr):\n    tl.store(x + part(B), 1.0)\n"
    )

    assert [kernel["warnings"] for kernel in kernels_of(text)] == [[], []]


HOST = "def run(x):\n    k[(1,)](x)\n\nclass F:\n    def forward(x):\n        run(x)\n"
REACHING = {
    "nothing": ("", False),
    "decorators only": ("@wraps\ndef other(x=size()):\n    run(x)\n", False),
    "a call": ("run(1)\n", True),
    "a launch": ("k[(1,)](1)\n", True),
    "an attribute of a class": ("for x in (1, 2):\n    F.apply(x)\n", True),
    "another name of it": ("apply = F.apply\n__all__ = [apply]\n", False),
    "a call by another name": ("apply = F.apply\napply(1)\n", True),
    "a name that is passed": ("measured(lambda: run)\n", True),
    "a runner of tests": ("if __name__ == '__main__':\n    unittest.main()\n", True),
}


@pytest.mark.parametrize(("text", "is_reached"), REACHING.values(), ids=REACHING)
def test_only_code_at_module_level_leads_to_a_launch(text: str, *, is_reached: bool) -> None:
    kernel = HEAD + "@triton.jit\ndef k(x):\n    tl.store(x, 1.0)\n"
    report = read_source(ReadOrder(inspect=True), (kernel + HOST + text).encode())

    assert report.facts["launches"] is is_reached


def test_a_warmup_is_a_launch() -> None:
    host = "def host(x):\n    made = k.warmup(x, grid=(1,))\n    made[(4, 1, 1)](x)\n"

    kernel = kernels_of(HEAD + "@triton.jit\ndef k(x):\n    tl.store(x, 1.0)\n" + host)[0]

    assert (kernel["launched"], kernel["launched_line"]) == (True, 7)
