"""Kernels inside of classes and functions that cannot be made, or are not called, at import."""

from __future__ import annotations

import pytest

from tests.integration.compiler.children import Children
from tests.integration.compiler.front.test_packaged_modules import run

HEAD = "import triton\nimport triton.language as tl\n"
KERNEL = """@triton.jit
def k(x_ptr, VALUE: tl.constexpr = 1.0):
    tl.store(x_ptr, VALUE)
"""


def indented(text: str, by: int = 1) -> str:
    return "".join(" " * 4 * by + line + "\n" for line in text.splitlines())


IN_A_CLASS = f"{HEAD}from pkg import Base\nclass Ops(Base):\n{indented(KERNEL)}"
STATIC = IN_A_CLASS.replace("@triton", "@staticmethod\n    @triton")
IN_A_FUNCTION = f"def build():\n{indented(HEAD + KERNEL)}    return k\n"
WITH_HELPER = f"""{HEAD}
def build():
    @triton.jit
    def one():
        return 1.0

    @triton.jit
    def k(x_ptr):
        tl.store(x_ptr, one())

    return k
"""
IN_A_METHOD = f"{HEAD}class Ops:\n    def build(self):\n{indented(KERNEL, 2)}"


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        (IN_A_CLASS, "Ops.k"),
        (STATIC, "Ops.k"),
        (IN_A_FUNCTION, "k"),
        (WITH_HELPER, "k"),
        (IN_A_METHOD, "k"),
    ],
    ids=["class", "static", "function", "helper", "method"],
)
def test_a_kernel_that_its_text_defines_is_compiled(
    children: Children, text: str, kernel: str
) -> None:
    ended = run(children, text, module=None, kernel=kernel)

    assert "1.000000e+00" in ended.stages["ttir"].decode()
    messages = [assumption["message"] for assumption in ended.result["assumptions"]]
    assert any("compiled as it is written there" in message for message in messages)


WITH_V = KERNEL.replace("1.0", "V")
CLOSURES = {
    "a parameter": f"{HEAD}def build(V):\n{indented(WITH_V)}",
    "a variable": f"{HEAD}def build():\n    V = tl.constexpr(2.0)\n"
    + indented(WITH_V),
    "an attribute of the class": f"{HEAD}from pkg import Base\nclass Ops(Base):\n    V = 2.0\n"
    + indented(WITH_V),
    "an import or something else": f"{HEAD}def build(V):\n    if V:\n        from pkg import V\n"
    + indented(WITH_V),
}  # fmt: skip


@pytest.mark.parametrize("text", CLOSURES.values(), ids=CLOSURES)
def test_a_kernel_that_uses_a_value_around_it_is_refused(children: Children, text: str) -> None:
    name = "Ops.k" if "class" in text else "k"

    last = run(children, text, module=None, kernel=name).last

    assert last is not None
    assert last["kind"] == "failure"


def test_the_body_of_a_class_is_no_scope_of_its_functions(children: Children) -> None:
    own = "V = tl.constexpr(3.0)\nclass Ops(Base):\n    V = 2\n"
    text = IN_A_CLASS.replace("class Ops(Base):\n", own)

    ended = run(children, text.replace("x_ptr, VALUE)", "x_ptr, V)"), module=None, kernel="Ops.k")

    assert "3.000000e+00" in ended.stages["ttir"].decode()
