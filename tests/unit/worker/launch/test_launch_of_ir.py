"""Launches of posted IR have no source to slice."""

from typing import Any, cast

from compiler.job import CompileJob
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import resolve
from jobs.deadline import Deadline
from tests.unit.compiler.vector_add import TOOLCHAIN
from tests.unit.launch.request.queued_launches import queued
from worker.launch.cases.case_context import CaseContext
from worker.launch.cases.cases import Cases

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
