"""A launch job: one request with everything resolved that only the service knows.

Both sides of the queue read it with this class.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from compiler.job import CompileJob
from compiler.problem import Problem
from compiler.rejection import RequestRejected
from compiler.request.field_faults import field_faults
from launch.request.launch_record import Device, Launch, launch_url
from launch.request.launch_request import LaunchRequest

MAX_OUTPUT_BYTES = 128 << 20
"""What the outputs of one run may take together: they travel and are compared in one piece."""
MAX_UPLOADED_BYTES = 256 << 20
"""What the uploaded tensors of one run may take together."""


class LaunchJob(BaseModel):
    """Everything a launch depends on. `request` is the posted body, with its seeds filled in."""

    model_config = ConfigDict(frozen=True)

    id: str
    caller: str
    request: dict[str, Any]
    compile_job: CompileJob
    """What is launched; its specialization lacks the types that arguments are to tell."""
    device: Device
    references: dict[str, CompileJob] = Field(default_factory=dict)
    """The kernels that references name, by their compilations' keys."""
    lane: str = ""
    """The queue of workers with the device; empty where an earlier version queued the job."""

    @property
    def infers(self) -> bool:
        """Whether the signature is inferred from the arguments: the job says no type itself."""
        job = self.compile_job
        if job.source is None or job.specialization.positional:
            return False
        return all(parameter.is_constexpr for parameter in job.specialization.named.values())

    def read_request(self) -> LaunchRequest:
        """Return the posted body.

        Raises RequestRejected for what an earlier version of the service queued and this one no
        longer accepts.
        """
        try:
            return LaunchRequest.model_validate(self.request)
        except ValidationError as error:
            raise RequestRejected(*field_faults(error, LaunchRequest)) from None


def compile_job_of_launch(job: CompileJob, timeout_s: float) -> CompileJob:
    """Return `job` as a launch with this `timeout_s` has it compiled: within that time."""
    return job.model_copy(update={"timeout_s": min(job.timeout_s, timeout_s)})


def new_launch(
    job: LaunchJob, state: Any, *, queue_position: int | None = None, problem: Problem | None = None
) -> Launch:
    """Return the launch of `job` in `state`, with nothing found out yet."""
    return Launch(
        id=job.id,
        url=launch_url(job.id),
        state=state,
        queue_position=queue_position,
        device=job.device,
        problem=problem,
    )
