"""A launch job: one request with everything resolved that only the service knows.

Both sides of the queue read it with this class.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict

from compiler.job import CompileJob
from compiler.launch.launch import Device, Launch, launch_url
from compiler.launch.request import LaunchRequest


class LaunchJob(BaseModel):
    """Everything a launch depends on. `request` is the posted body, with its seeds filled in."""

    model_config = ConfigDict(frozen=True)

    id: str
    caller: str
    request: dict[str, Any]
    compile_job: CompileJob
    """What is launched; its specialization lacks the types that arguments are to tell."""
    device: Device
    infers: bool
    """Whether the signature is inferred from the arguments."""

    def read_request(self) -> LaunchRequest:
        """Return the posted body."""
        return LaunchRequest.model_validate(self.request)


def new_launch(job: LaunchJob, state: Any) -> Launch:
    """Return the launch of `job` in `state`, with nothing found out yet."""
    return Launch(id=job.id, url=launch_url(job.id), state=state, device=job.device)
