"""Conversations of a model about broken kernels: each answer leads to the repair.

A model calls a tool with something wrong, reads the next step, does that, and calls again. What is
wrong with the arguments is repaired by an argument, what is wrong with the source at its line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.adapters.service.test_mcp import (
    BUFFER,
    COMPILED,
    LAUNCHED,
    VECTOR_ADD,
    connected,
    steps_in,
)
from tests.integration.service.running import Deployment

TWO_KERNELS = VECTOR_ADD + VECTOR_ADD[VECTOR_ADD.index("@triton.jit") :].replace(
    "add_kernel", "other_kernel"
)
DOT = """\
import triton
import triton.language as tl


@triton.jit
def tiles(a_ptr, c_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    a = tl.load(a_ptr + offsets[:, None] * N + offsets[None, :])
    tl.store(c_ptr + offsets[:, None] * N + offsets[None, :], tl.dot(a, a))
"""
LARGE = {
    "source": DOT,
    "signature": {"a_ptr": "*fp16:16", "c_ptr": "*fp32:16"},
    "constexprs": {"N": 2048},
    "target": "cuda:90",
}


def without(members: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in names}


def edited(old: str, new: str) -> dict[str, Any]:
    assert old in VECTOR_ADD
    return {"source": VECTOR_ADD.replace(old, new)}


def line_of(text: str) -> str:
    """Return the words of a next step at the line of the vector add that has `text`."""
    lines = VECTOR_ADD.split("\n")
    return f"line {1 + next(i for i, line in enumerate(lines) if text in line)}"


@dataclass(frozen=True)
class Conversation:
    """A wrong call as a change of `right`, and what the next step must name."""

    wrong: dict[str, Any]
    leads_to: str
    says: str = ""
    """The right word, which the answer also has."""
    fault: str | None = "request"
    tool: str = "compile"
    right: dict[str, Any] = field(default_factory=lambda: COMPILED)


def launch(wrong: dict[str, Any], leads_to: str, says: str = "", **more: Any) -> Conversation:
    return Conversation(wrong, leads_to, says, tool="launch", right=LAUNCHED, **more)


ARGUMENTS = LAUNCHED["arguments"]
CONVERSATIONS = {
    # the arguments are wrong
    "a parameter that there is not": Conversation(
        {"signature": COMPILED["signature"] | {"stride": "i32"}},
        "remove `stride` in `constexprs` or `signature`",
        "stride",
    ),
    "a misspelt kernel": Conversation(
        {"kernel": "ad_kernel"}, "the argument `kernel`", "add_kernel"
    ),
    "two kernels": Conversation(
        {"source": TWO_KERNELS},
        "the argument `kernel`",
        "other_kernel",
        right=COMPILED | {"source": TWO_KERNELS, "kernel": "add_kernel"},
    ),
    "a misspelt option": Conversation(
        {"options": {"num_wraps": 4}}, "`options.num_wraps`", "num_warps"
    ),
    "an option out of range": Conversation({"options": {"num_warps": 3}}, "`options.num_warps`"),
    "a target that there is not": Conversation({"target": "cuda:9"}, "`target`"),
    "a type that there is not": Conversation(
        {"signature": COMPILED["signature"] | {"x_ptr": "*float33"}}, "`signature.x_ptr`"
    ),
    "an argument that the tool has not": Conversation({"constants": {"A": 1}}, "`constants`"),
    "a block that is no power of two": Conversation(
        {"constexprs": {"BLOCK_SIZE": 1000}},
        "change the value of `BLOCK_SIZE` in the argument `constexprs`",
        fault="source",
    ),
    "tiles that are too large": Conversation(
        {},
        "change the value of `N` in the argument `constexprs`",
        fault="source",
        right=LARGE,
    ),
    "a grid of an unknown name": launch({"grid": ["cdiv(n, BLOCK_SIZE)"]}, "`grid.0`", "n"),
    "a misspelt initializer": launch(
        {"arguments": ARGUMENTS | {"x_ptr": BUFFER | {"init": {"kind": "unifrom"}}}},
        "`arguments.x_ptr.init",
        "uniform",
    ),
    "a buffer without values": launch(
        {"arguments": ARGUMENTS | {"x_ptr": BUFFER}}, "`arguments.x_ptr"
    ),
    "a dtype that there is not": launch(
        {"arguments": ARGUMENTS | {"output_ptr": {"shape": [8], "dtype": "f33", "output": True}}},
        "`arguments.output_ptr.dtype`",
    ),
    # the source is wrong
    "a misspelt function": Conversation(
        edited("tl.load(x_ptr", "tl.laod(x_ptr"), line_of("tl.load(x_ptr"), "tl.load", "source"
    ),
    "a bracket that is not closed": Conversation(
        edited("tl.program_id(axis=0)", "tl.program_id(axis=0"),
        line_of("tl.program_id(axis=0)"),
        fault="source",
    ),
    "a name that there is not": Conversation(
        edited("x + y", "x + z"), line_of("x + y"), "z", "source"
    ),
    "a branch on a tensor": Conversation(
        edited("    y = tl.load", "    if x > 0:\n        x = x + 1\n    y = tl.load"),
        line_of("    y = tl.load"),
        fault="source",
    ),
    "a mask that lets too much through": launch(
        edited("mask = offsets < n_elements", "mask = offsets < n_elements + 9"),
        "fix line",
        "out_of_bounds",
        fault=None,
    ),
    "a wrong result": launch(
        edited("x + y", "x - y"), "what makes the outputs differ", "instead of", fault=None
    ),
}


def test_there_are_twenty_at_least() -> None:
    assert len(CONVERSATIONS) >= 20


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_every_answer_leads_to_the_repair(system: Deployment, name: str) -> None:
    talk = CONVERSATIONS[name]
    repaired = talk.right | ({"constexprs": {"N": 16}} if talk.right is LARGE else {})
    wrong = talk.right | talk.wrong
    if name == "two kernels":
        wrong = without(wrong, "kernel")

    async with connected(system) as client:
        answered = await client.call_tool(talk.tool, wrong)
        again = await client.call_tool(talk.tool, repaired)

    text, facts = answered.content[0].text, answered.structured_content
    [step] = steps_in(text)
    assert talk.leads_to in step
    assert talk.says in text
    assert facts["fault"] == talk.fault
    if talk.fault == "request":
        assert "fix" not in step
        assert "mend" not in step
    assert (again.is_error, again.structured_content["fault"]) == (False, None)
    assert again.structured_content["verdict"] in {None, "passed"}
