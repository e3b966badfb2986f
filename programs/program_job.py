"""A program job: one request with everything resolved that only the service knows.

Both sides of the queue read it with this class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from compiler.problem import failure_problem
from launch.request.launch_record import Device
from programs.program_record import Program, ProgramProblem, Reward, program_url
from programs.program_request import EntryKind, EntryRequest, ProgramRequest

CANDIDATE = "candidate"
REFERENCE = "reference"
_DEFAULT_NAMES: dict[str, tuple[str, str]] = {
    CANDIDATE: ("ModelNew", "custom_kernel"),
    REFERENCE: ("Model", "ref_kernel"),
}


@dataclass(frozen=True, slots=True)
class ProgramEntry:
    """What of a program is called. `name` is a model's class or a function's name.

    `outputs` are the variables of a script that hold its results, None: all.
    """

    kind: EntryKind
    name: str | None = None
    outputs: tuple[str, ...] | None = None


class ProgramJob(BaseModel):
    """Everything that a program's verdict depends on. `request` is the posted body."""

    model_config = ConfigDict(frozen=True)

    id: str
    caller: str
    namespace: str
    request: dict[str, Any]
    toolchain_id: str
    """Whose Triton records the program and compiles its kernels."""
    device: Device | None = None
    """The class of GPUs that it runs on; None: the CPU device, or it does not run."""
    lane: str = ""
    """The queue of workers that do such programs; empty where an earlier version queued the job."""

    def read_request(self) -> ProgramRequest:
        """Return the posted body."""
        return ProgramRequest.model_validate(self.request)


def entries_of(posted: EntryRequest | None, role: str) -> Sequence[ProgramEntry]:
    """Return what to look for in a program of a `role`: the first that there is, is its entry."""
    model, function = _DEFAULT_NAMES[role]
    defaults = (ProgramEntry("model", model), ProgramEntry("function", function))
    if posted is None:
        return defaults
    match posted.kind:
        case "model":
            return (ProgramEntry("model", posted.class_ or model),)
        case "function":
            return (ProgramEntry("function", posted.name or function),)
        case "script":
            outputs = None if posted.outputs is None else tuple(posted.outputs)
            return (ProgramEntry("script", outputs=outputs),)


def new_program(
    job: ProgramJob,
    state: Any,
    *,
    queue_position: int | None = None,
    problem: ProgramProblem | None = None,
) -> Program:
    """Return the program of `job` in `state`, with nothing found out yet."""
    return Program(
        id=job.id,
        url=program_url(job.id),
        state=state,
        queue_position=queue_position,
        device=job.device or Device(target=None, interpreter=True),
        reward=None if problem is None else Reward(compiled=False, correct=False),
        problem=problem,
    )


def program_problem(
    slug: str,
    detail: str,
    *,
    program: str | None = None,
    reason: str | None = None,
    file: str | None = None,
    line: int | None = None,
) -> ProgramProblem:
    """Return the problem of a program that failed, a long `detail` clipped."""
    said = {"program": program, "reason": reason, "file": file, "line": line}
    return ProgramProblem.model_validate(failure_problem(slug, detail).model_dump() | said)
