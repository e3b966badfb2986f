"""Facts are certain only if the text alone decides what Triton sees in the parameters."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.messages.orders import ReadOrder
from compiler.reading.read_source import read_source

HEAD = "import triton\nimport triton.language as tl\n"


def kernel(text: str) -> dict[str, Any]:
    found = read_source(ReadOrder(kernel="k"), text.encode()).facts["kernels"]
    known: dict[str, Any] = next(one for one in found if one["name"] == "k")
    return known


def with_parameters(parameters: str, above: str = "", flags: str = "") -> str:
    decorator = f"@triton.jit({flags})" if flags else "@triton.jit"
    return f"{HEAD}{above}\n{decorator}\ndef k({parameters}):\n    pass\n"


SURE = {
    "no annotation": with_parameters("x, n"),
    "a dtype": with_parameters("n: tl.int32, m: triton.language.core.int64"),
    "a constexpr": with_parameters("N: tl.constexpr = 4"),
    "a constexpr by another name": with_parameters(
        "N: ce", "from triton.language import constexpr as ce"
    ),
    "an alias": with_parameters("N: C", "C = tl.constexpr"),
    "text": with_parameters("x: 'const float*', n: 'tl.int32', N: 'tl.constexpr', p: '*fp32'"),
    "Python's types": with_parameters("n: int, f: float, b: bool"),
    "a pointer": with_parameters("x: tl.pointer_type(tl.float32)"),
    "plain defaults": with_parameters("n=16, m=None, f=-1.5, p=(1, None)"),
    "a wrapped default": with_parameters("n=tl.constexpr(4)"),
    "numbers and names": with_parameters("x, n", flags="do_not_specialize=['x', 1]"),
    "an autotuner above": with_parameters("x").replace(
        "@triton.jit", "@triton.autotune(configs=[], key=[])\n@triton.jit"
    ),
}
UNSURE = {
    "a name for names": with_parameters("x", "NAMES = ['x']", "do_not_specialize=NAMES"),
    "a computed name": with_parameters("x", "N = 'x'", "do_not_specialize=[N]"),
    "text for names": with_parameters("x", flags="do_not_specialize='x'"),
    "unpacked flags": with_parameters("x", "F = {}", "**F"),
    "an annotation of one's own": with_parameters("n: Size", "from sizes import Size"),
    "a rebound dtype": with_parameters("n: tl.int32", "tl = object()"),
    "a conditional import": with_parameters(
        "N: C",
        "try:\n    from triton.language import constexpr as C\nexcept ImportError:\n    C = int",
    ),
    "a shadowed type": with_parameters("n: int", "from numpy import int64 as int"),
    "an attribute of Triton's replaced": with_parameters("n: tl.int32", "tl.int32 = tl.int64"),
    "names made by code": with_parameters("n: tl.int32", "globals()['tl'] = None"),
    "names from a star": with_parameters("n: tl.int32", "from elsewhere import *"),
    "all annotations as text": "from __future__ import annotations\n" + with_parameters("n: L"),
    "typing": with_parameters("n: Optional[int]", "from typing import Optional"),
    "dotted text": with_parameters("n: 'triton.language.int32'"),
    "a computed default": with_parameters("n=SIZE", "SIZE = 4"),
    "a default of a dtype's name": with_parameters("N: tl.constexpr = tl.int32", "tl.int32 = 3"),
    "a decorator below": with_parameters("x").replace("def k", "@wrapped\ndef k"),
    "two definitions": with_parameters("x") + "@triton.jit\ndef k(y):\n    pass\n",
}


@pytest.mark.parametrize("text", SURE.values(), ids=SURE)
def test_what_only_the_text_decides_is_sure(text: str) -> None:
    assert kernel(text)["sure"]


@pytest.mark.parametrize("text", UNSURE.values(), ids=UNSURE)
def test_what_code_may_decide_is_not_sure(text: str) -> None:
    assert not kernel(text)["sure"]


@pytest.mark.parametrize(
    ("annotation", "above"),
    [("ce", "from triton.language import constexpr as ce"), ("C", "D = tl.constexpr\nC = D")],
)
def test_an_alias_is_followed(annotation: str, above: str) -> None:
    [parameter] = kernel(with_parameters(f"N: {annotation}", above))["parameters"]

    assert (parameter["constexpr"], parameter["annotation"]) == (True, "tl.constexpr")
