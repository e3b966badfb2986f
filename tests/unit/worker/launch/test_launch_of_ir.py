"""Launches of posted IR have no source to slice."""

from typing import Any, cast

import pytest

from compiler.abi import abi_of
from compiler.compilation import Parameter, amended, new_compilation
from compiler.job import CompileJob
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import resolve
from compiler.target import Target
from jobs.deadline import Deadline
from tests.unit.compiler.vector_add import TOOLCHAIN
from tests.unit.launch.request.queued_launches import queued
from worker.launch.cases.case_context import CaseContext
from worker.launch.cases.cases import Cases
from worker.launch.gpu.gpu_run import _named_as_given

BODY: dict[str, Any] = {
    "compilation": {"ir": {"language": "ttir", "text": "module {}"}, "target": "cuda:90"},
    "grid": [1],
    "arguments": [1],
}


def ir_job() -> CompileJob:
    return resolve(CompileRequest.model_validate(BODY["compilation"]), TOOLCHAIN, "")


async def test_nothing_is_sliced() -> None:
    job = queued(BODY, compile_job=ir_job())
    nothing = cast("Any", None)
    place = CaseContext(nothing, children=nothing, blobs=nothing, references=nothing, gpu=None)

    await Cases(job, place, Deadline(60), nothing).prepare()


@pytest.mark.parametrize(
    ("given", "named"),
    [(("x_ptr", "n"), ["x_ptr", "n"]), (("arg0", "arg1"), ["arg0", "arg1"])],
)
def test_a_gpu_names_arguments_as_the_launch_does(given: tuple[str, ...], named: list[str]) -> None:
    """So do its findings, as on the CPU device."""
    parameters = [
        Parameter(name=name, type=kind, role="runtime", hints=[], value=None)
        for name, kind in (("x_ptr", "*fp32"), ("n", "i32"))
    ]
    abi = abi_of(Target("cuda", 90, 32), parameters, {"name": "k", "num_warps": 4, "shared": 0})
    made = amended(
        new_compilation(ir_job(), TOOLCHAIN, "succeeded"), abi=abi, parameters=parameters
    )

    found = _named_as_given(made, given)

    assert [item.name for item in found.parameters] == named
    assert found.abi is not None
    assert [slot.name for slot in found.abi.parameters][:2] == named
