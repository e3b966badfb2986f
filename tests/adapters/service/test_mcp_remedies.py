"""Twenty broken kernels and calls: each answer names the cause, and a remedy that the tool has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from compiler.request.compile_request import CompileRequest
from launch.request.launch_request import LaunchRequest
from proofs.proof_request import ProofRequest
from tests.adapters.service.test_mcp import LAUNCHED, VECTOR_ADD, connected, steps_in
from tests.integration.service.bodies import broken
from tests.integration.service.running import Deployment

SOURCE = "source"
"""The argument of a remedy that names a line."""
MEMBERS = frozenset(
    name
    for request in (CompileRequest, LaunchRequest, ProofRequest)
    for name in request.model_fields
)
RACE = """\
import triton
import triton.language as tl

@triton.jit
def k(x_ptr):
    tl.store(x_ptr, tl.program_id(0))
"""
OF_COMPILE = ("source", "kernel", "signature", "constexprs", "options", "target")


@dataclass(frozen=True)
class Row:
    """A call, words of its answer's cause and remedy, and the argument to change."""

    tool: str
    call: dict[str, Any]
    cause: str
    remedy: str
    argument: str = SOURCE


def compiled(name: str, cause: str, remedy: str, argument: str = SOURCE, **more: Any) -> Row:
    body = broken(name) | more
    call = {member: body[member] for member in OF_COMPILE if member in body}
    return Row("compile", call, cause, remedy, argument)


def launched(cause: str, remedy: str, argument: str = SOURCE, **more: Any) -> Row:
    return Row("launch", LAUNCHED | more, cause, remedy, argument)


def edited(old: str, new: str) -> str:
    assert old in VECTOR_ADD
    return VECTOR_ADD.replace(old, new)


TYPES = {"source": edited("offsets < n_elements", "offsets <= n_elements")}
ROWS = {
    "a misspelt attribute": compiled("misspelt_attribute", "attribute 'shpe'", "mean .shape?"),
    "a break": compiled("break_in_loop", "`break` is not supported", "Use `while`"),
    "an assignment to an item": compiled("item_assignment", "__setitem__", "tl.where(mask"),
    "a branch on a block": compiled("vector_condition", "ambiguous", "tl.where(condition, a, b)"),
    "NumPy in a kernel": compiled("numpy_in_kernel", "runs on the host", "Use tl.exp"),
    "a global number": compiled("plain_global", "variable 'SCALE'", "SCALE = tl.constexpr(2.0)"),
    "no decorator": compiled("jit_missing", "@triton.jit", "Write @triton.jit on the line above"),
    "a type of torch": compiled("dtype_of_torch", "torch.float16", "Write tl.float16"),
    "a module that is not there": compiled(
        "import_of_a_module", "No module named 'mylib'", "mylib/ops.py", "files"
    ),
    "a block of 1000": compiled(
        "block_not_power_of_two", "must be a power of 2", "value of `BLOCK`", "constexprs"
    ),
    "a size that is no constexpr": compiled(
        "arange_not_constexpr", "of type tl.constexpr", "`BLOCK: tl.constexpr`", "constexprs"
    ),
    "a number in quotes": compiled(
        "number_as_string", 'BLOCK is the string "64"', "give BLOCK without quotes", "constexprs"
    ),
    "a size in quotes": compiled(
        "size_as_string", 'it is "64", a string', "give BLOCK without quotes", "constexprs"
    ),
    "an argument without a parameter": launched(
        "no parameter `out_ptr`", "rename `out_ptr` to `output_ptr`", "arguments",
        arguments={
            name.replace("output_ptr", "out_ptr"): value
            for name, value in LAUNCHED["arguments"].items()
        },
    ),
    "a buffer that is too small": launched(
        "out_of_bounds", "if `arguments.y_ptr` has fewer elements", "arguments",
        arguments=LAUNCHED["arguments"] | {"y_ptr": "fp32[1]:ones"},
    ),
    "an option in the decorator": compiled(
        "jit_with_num_warps", "'num_warps'", "request's `options`", "options"
    ),
    "a pointer that is null": compiled(
        "pointer_is_none", "b_ptr is None here", "Give it a type in `signature`", "signature"
    ),
    "two kernels": compiled("two_kernels", "ambiguous_kernel", "argument `kernel`", "kernel"),
    "a target that there is not": compiled(
        "plain_global", "cuda:9", "change `target`", "target", target="cuda:9"
    ),
    "a target without a GPU": launched(
        "no worker", "leave out `target`", "target", target="cuda:90"
    ),
    "a mask that lets too much through": launched(
        "out_of_bounds", "fix line", source=edited("< n_elements", "< n_elements + 9")
    ),
    "a reference of other outputs": launched(
        "invalid_reference", "line 2 of the reference", "reference",
        reference="def reference(x_ptr, **_):\n    return {'out': x_ptr}\n",
    ),
    "a race": Row(
        "launch",
        {"source": RACE, "arguments": {"x_ptr": "i32[1]"}, "grid": 4},
        ": race",
        "fix line 6",
    ),
    "a grid of an unknown name": launched(
        "there is no value", "`grid.0`", "grid", grid=["cdiv(n, BLOCK_SIZE)"]
    ),
    "a dtype that there is not": launched(
        "f33", "`arguments.x_ptr", "arguments",
        arguments=LAUNCHED["arguments"] | {"x_ptr": "f33[8]"},
    ),
    "a proof without a contract": Row("prove", TYPES, "x_ptr: n_elements", "draft", "contract"),
    "a contract with a mistake": Row(
        "prove", TYPES | {"contract": "x_ptr = n ?"}, "line 1", "change `contract`", "contract"
    ),
    "a mask with one lane too many": Row(
        "prove",
        TYPES
        | {
            "contract": "x_ptr: n_elements\ny_ptr: n_elements\noutput_ptr: n_elements\n"
            "grid: cdiv(n_elements, BLOCK_SIZE)\n"
        },
        "refuted at n_elements = ",
        "fix the refuted line",
    ),
    "an axis that there is not": Row(
        "sweep",
        {"source": VECTOR_ADD, "target": "cuda:90", "space": {"BLOK_SIZE": [64]}},
        "BLOK_SIZE",
        "`space",
        "space",
    ),
}  # fmt: skip


def test_there_are_twenty_at_least() -> None:
    assert len(ROWS) >= 20


@pytest.mark.parametrize("name", ROWS)
async def test_the_answer_names_the_cause_and_a_remedy(system: Deployment, name: str) -> None:
    row = ROWS[name]
    async with connected(system) as client:
        answered = await client.call_tool(row.tool, row.call)
        [tool] = [each for each in (await client.list_tools()).tools if each.name == row.tool]

    text, arguments = answered.content[0].text, tool.input_schema["properties"].keys()
    [step] = steps_in(text)
    named = {word.split(".")[0] for word in re.findall(r"`([\w.]+)`", step)}
    assert row.cause in text
    assert row.remedy in step
    assert row.argument in arguments
    assert row.argument in named or (row.argument in {SOURCE, "reference"} and "line" in step)
    assert named & MEMBERS <= arguments


SIZES = "sizes n_elements\nx_ptr: n_elements\n"
WITHOUT = {name: value for name, value in LAUNCHED.items() if name != "grid"}
FEW = {name: value for name, value in LAUNCHED["arguments"].items() if name != "y_ptr"}


def with_argument(name: str, value: Any) -> dict[str, Any]:
    return LAUNCHED | {"arguments": LAUNCHED["arguments"] | {name: value}}


@pytest.mark.parametrize(
    ("tool", "call", "cause", "remedy"),
    [
        ("prove", TYPES | {"contract": SIZES}, "leave it out of `sizes`", "change `contract`"),
        ("prove", TYPES, "grid: cdiv(n_elements, BLOCK_SIZE)", "check the draft and prove with"),
        ("launch", LAUNCHED | {"num_warps": 8}, "it belongs in `options`", "change `num_warps`"),
        ("launch", WITHOUT, "grid: this field is needed: 4, [4, 2] or", "change `grid`"),
        ("launch", LAUNCHED | {"arguments": FEW}, "missing_argument", '"y_ptr": "fp32[8,512]'),
        ("launch", with_argument("n_elements", -5), "n_elements = -5", "or the values in it"),
        ("launch", with_argument("n_elements", 0.5), "n_elements is 0.5", "or the values in it"),
        ("launch", with_argument("x_ptr", [1.0]), "tuple", "give x_ptr a buffer instead of a list"),
    ],
)
async def test_a_wrong_call_is_answered_with_a_call_that_differs(
    system: Deployment, tool: str, call: dict[str, Any], cause: str, remedy: str
) -> None:
    async with connected(system) as client:
        answered = await client.call_tool(tool, call)

    [step] = steps_in(answered.content[0].text)
    assert cause in answered.content[0].text
    assert remedy in step


async def test_a_launch_assumes_the_constexprs_that_a_compilation_assumes(
    system: Deployment,
) -> None:
    call = {name: value for name, value in LAUNCHED.items() if name != "constexprs"}
    async with connected(system) as client:
        answered = await client.call_tool("launch", call)

    text = answered.content[0].text
    assert ": passed\nassumes BLOCK_SIZE=" in text
