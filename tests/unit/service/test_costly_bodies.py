"""A body that is wrong many times over gets one refusal, without a look at every item."""

from typing import Any

import pytest
from pydantic import BaseModel

from adapters.compiler_explorer.compiling import ExplorerCompileRequest
from adapters.evaluators.flashinfer_solution import FlashInferTask
from adapters.evaluators.kernelgym_task import KernelGymTask
from adapters.mcp.tool_arguments import LaunchArguments
from compiler.inspection import InspectRequest
from compiler.rejection import MAX_ERRORS, FieldError, RequestRejected
from compiler.request.compile_request import CompileRequest
from launch.request.argument_binding import bind_arguments
from launch.request.argument_schema import BufferArgument
from launch.request.grid import parse_grid
from launch.request.launch_request import LaunchRequest
from launch.request.launch_resolution import resolve_launch
from launch.request.request_part import read
from programs.program_request import ProgramRequest
from service.http.body import parse_value
from service.page_state import PageState

MANY = 20_000
OBJECTS: list[Any] = [{}] * MANY
NAMED: dict[str, Any] = {f"a{index}": 0 for index in range(MANY)}

REFUSED: dict[str, tuple[type[BaseModel], dict[str, Any], str]] = {
    "checks of MCP": (LaunchArguments, {"checks": OBJECTS}, "/checks"),
    "options of MCP": (LaunchArguments, {"options": NAMED}, "/options"),
    "reference of a program": (ProgramRequest, {"reference": NAMED}, "/reference"),
    "files of a program": (ProgramRequest, {"files": NAMED}, "/files"),
    "entry of a program": (ProgramRequest, {"entry": NAMED}, "/entry"),
    "timing of a program": (ProgramRequest, {"timing": NAMED}, "/timing"),
    "reference of a launch": (LaunchRequest, {"reference": NAMED}, "/reference"),
    "reference of a case": (LaunchRequest, {"cases": [{"reference": NAMED}]}, "/cases/0/reference"),
    "files of a compilation": (CompileRequest, {"files": NAMED}, "/files"),
    "hints of a compilation": (CompileRequest, {"hints": NAMED}, "/hints"),
    "files of an inspection": (InspectRequest, {"files": NAMED}, "/files"),
    "files of Compiler Explorer": (ExplorerCompileRequest, {"files": OBJECTS}, "/files"),
    "tools of Compiler Explorer": (
        ExplorerCompileRequest,
        {"options": {"tools": OBJECTS}},
        "/options/tools",
    ),
    "a task of KernelGYM": (KernelGymTask, NAMED, ""),
    "sources of flashinfer-bench": (
        FlashInferTask,
        {"solution": {"sources": [NAMED]}},
        "/solution/sources/0",
    ),
    "a case of the page": (PageState, {"launch": {"cases": [NAMED]}}, "/launch/cases/0"),
}


@pytest.mark.parametrize(("model", "data", "pointer"), REFUSED.values(), ids=REFUSED)
def test_a_flood_in_any_part_is_one_fault(
    model: type[BaseModel], data: dict[str, Any], pointer: str
):
    with pytest.raises(RequestRejected) as refused:
        parse_value(data, model)

    [error] = refused.value.errors
    assert error.pointer == pointer


def test_a_flood_in_what_is_read_later_is_one_fault():
    with pytest.raises(RequestRejected) as refused:
        read(BufferArgument, NAMED, "/arguments/x_ptr")

    assert refused.value.errors == (
        FieldError("/arguments/x_ptr", f"has {MANY} fields, far more than the 7 there are"),
    )


def test_arguments_are_bound_no_further_than_faults_are_reported(monkeypatch: pytest.MonkeyPatch):
    seen = []
    monkeypatch.setattr(
        "launch.request.argument_binding.read",
        lambda model, raw, at: seen.append(at) or read(model, raw, at),
    )

    with pytest.raises(RequestRejected):
        bind_arguments({f"a{index}": {"shape": [1]} for index in range(1000)})

    assert len(seen) == MAX_ERRORS


def test_a_long_name_is_reported_in_part_wherever_it_is():
    name = "a" * 1_000_000

    with pytest.raises(RequestRejected) as refused:
        bind_arguments({name: {"shape": [1], "dtype": "fp32", "init": {"knid": 1}}})

    assert all(len(error.pointer) < 1000 for error in refused.value.errors)


LONG = [f"{'x' * 240}{index}" for index in range(256)]


def described_bytes(request: dict[str, Any]) -> int:
    with pytest.raises(RequestRejected) as refused:
        resolve_launch(parse_value(request, LaunchRequest))
    return sum(len(error.message) for error in refused.value.errors)


def test_wrong_returns_do_not_multiply_with_the_outputs():
    kernel = {"source": "x", "constexprs": dict.fromkeys(LONG, 1)}
    output = {"shape": [1], "dtype": "fp32", "output": True}
    outputs = {f"o{name}"[:250]: output for name in LONG}
    wrong_returns = {f"r{index}": "summary" for index in range(256)}
    launch = {"compilation": kernel, "grid": [1], "device": "cpu"}

    request = launch | {"arguments": outputs, "return": wrong_returns}
    assert 0 < described_bytes(request) <= MAX_ERRORS * 6_000


def test_a_flood_of_dimensions_is_one_fault():
    with pytest.raises(RequestRejected) as refused:
        parse_grid(OBJECTS)

    assert [error.pointer for error in refused.value.errors] == ["/grid"]


def test_a_grid_lists_a_few_of_the_names_that_there_are():
    with pytest.raises(RequestRejected, match="and 236 more") as refused:
        parse_grid(["y"]).evaluate(dict.fromkeys(LONG, 1))

    assert len(refused.value.errors[0].message) < 6_000


def test_arguments_that_a_signature_lacks_do_not_multiply_with_its_own():
    kernel = {"source": "x", "signature": dict.fromkeys(LONG, "i32")}
    launch = {"compilation": kernel, "grid": [1], "device": "cpu"}
    arguments = {f"a{index}": 1 for index in range(1000)}

    assert 0 < described_bytes(launch | {"arguments": arguments}) <= MAX_ERRORS * 6_000
