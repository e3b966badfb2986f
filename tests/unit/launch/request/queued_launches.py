"""Launches in the queue, as the service writes them for a test's request."""

from collections.abc import Mapping
from random import Random
from typing import Any

from compiler.job import CompileJob
from launch.request.case import with_seeds
from launch.request.launch_job import LaunchJob, launch_job
from launch.request.launch_record import Device
from launch.request.launch_request import LaunchRequest
from launch.request.launch_resolution import resolve_launch
from tests.unit.compiler.vector_add import job

ON_A_GPU = Device(target="cuda:90", interpreter=False)


def queued(
    body: Mapping[str, Any],
    *,
    launch_id: str = "0",
    caller: str = "ada",
    lane: str = "launch:cuda:90 Fake",
    device: Device = ON_A_GPU,
    compile_job: CompileJob | None = None,
    references: Mapping[str, CompileJob] | None = None,
) -> LaunchJob:
    """Return the job for a posted `body`."""
    request = with_seeds(LaunchRequest.model_validate(body), Random(0))
    return launch_job(
        request,
        resolve_launch(request).cases,
        launch_id=launch_id,
        caller=caller,
        device=device,
        lane=lane,
        compile_job=compile_job or job(),
        references=references or {},
    )
