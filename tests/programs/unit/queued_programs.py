"""Programs in the queue, as the service writes them for a test's request."""

from collections.abc import Mapping
from typing import Any

from launch.request.launch_record import Device
from programs.program_job import ProgramJob, program_job
from programs.program_request import ProgramRequest


def queued(
    body: Mapping[str, Any] | ProgramRequest | None = None,
    *,
    program_id: str = "1",
    device: Device | None = None,
) -> ProgramJob:
    """Return the job of a posted `body`."""
    return program_job(
        ProgramRequest.model_validate(body or {"source": "x = 1"}),
        program_id=program_id,
        caller="ada",
        namespace="",
        toolchain_id="t",
        device=device,
        lane="programs:t",
        drawn_seed=42,
    )
