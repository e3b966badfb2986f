"""A front end that was taken over answers for its own text, and for no other of its kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.integration.service import bodies

KERNEL = """
@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) + NUMBER.0)
"""
POISON = """
from triton.language.semantic import TritonSemantic
right = TritonSemantic.add
def wrong(self, *arguments, **options):
    made = right(self, *arguments, **options)
    return self.mul(made, made, True) if made.type.scalar.is_floating() else made
TritonSemantic.add = wrong
"""
FORGED: dict[str, Callable[[str], dict[str, Any]]] = {
    "above the kernel": lambda kernel: {"source": bodies.HEADER + POISON + kernel},
    "below the kernel": lambda kernel: {"source": bodies.HEADER + kernel + POISON},
    "in a file": lambda kernel: {
        "source": f"{bodies.HEADER}import poison\n{kernel}",
        "files": {"poison.py": POISON},
    },
    "in a decorator": lambda kernel: {
        "source": f"{bodies.HEADER}def decorated(function):\n"
        + POISON.replace("\n", "\n    ")
        + f"\n    return function\n{kernel.replace('@triton', '@decorated' + chr(10) + '@triton')}"
    },
    "in a default": lambda kernel: {
        "source": f"{bodies.HEADER}def value():\n"
        + POISON.replace("\n", "\n    ")
        + f"\n    return 64\n{kernel.replace('constexpr)', 'constexpr = value())')}"
    },
    "where the kernel cannot be seen": lambda kernel: {
        "source": f"{bodies.HEADER}exec({POISON!r})\n{kernel}"
    },
}


def body(number: int, **source: Any) -> dict[str, Any]:
    kernel = KERNEL.replace("NUMBER", str(number))
    usual = {"source": bodies.HEADER + kernel, "kernel": "kernel", "target": "cuda:90"}
    typed = {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
    return usual | typed | {"include": ["ttir", "ptx"]} | source


def made(client: httpx.Client, request: dict[str, Any]) -> dict[str, Any]:
    answer = client.post("/v1/compilations", params={"wait": 60}, json=request).json()
    assert answer["state"] == "succeeded", answer["problem"]
    return answer


@pytest.mark.parametrize("how", FORGED)
def test_no_other_text_gets_a_forged_answer(teams: Callable[[str], httpx.Client], how: str) -> None:
    number = 3 + list(FORGED).index(how)
    forged_source = FORGED[how](KERNEL.replace("NUMBER", str(number)))
    forged = made(teams("alice"), body(number, **forged_source))

    assert "arith.mulf" in forged["included"]["ttir"]

    others = [made(teams(name), body(number)) for name in ("alice", "bob", "eve")]

    again = made(teams("bob"), body(number, refresh=True))
    for other in others:
        assert other["included"] == again["included"]
        assert "arith.mulf" not in other["included"]["ttir"]
    assert forged["key"] not in {other["key"] for other in others}


@pytest.mark.parametrize("what", ["lines", "instructions"])
def test_what_is_derived_of_a_forged_answer_stays_with_it(
    teams: Callable[[str], httpx.Client], what: str
) -> None:
    number = 40 + len(what)
    source = FORGED["above the kernel"](KERNEL.replace("NUMBER", str(number)))
    forged = made(teams("alice"), body(number, **source))
    derived = [teams("alice").get(f"{forged['url']}/{what}", params={"wait": 60})]

    honest = made(teams("bob"), body(number))
    derived.append(teams("bob").get(f"{honest['url']}/{what}", params={"wait": 60}))

    assert [answer.status_code for answer in derived] == [200, 200]
    assert derived[0].json() != derived[1].json()
    assert teams("eve").get(f"{forged['url']}/{what}").status_code == 404


def test_the_forged_ttir_itself_is_shared_by_its_content_alone(
    teams: Callable[[str], httpx.Client],
) -> None:
    number = 60
    source = FORGED["above the kernel"](KERNEL.replace("NUMBER", str(number)))
    forged = made(teams("alice"), body(number, **source))
    text = forged["included"]["ttir"]

    request = {"ir": {"language": "ttir", "text": text}, "target": "cuda:90", "include": ["ptx"]}
    lowered = made(teams("bob"), request)

    assert lowered["included"]["ptx"].count("mul.f32") == text.count("arith.mulf")
