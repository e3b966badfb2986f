"""The reports of a program's launcher, with bounds on every field.

No user Python runs in a launcher, but the tape that it replays may be forged.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from programs.gpu.program_order import MOST_CHANGED
from programs.worker.replay_child import ReportedReplay
from worker.compile.reports import Count, Report
from worker.gpu.supervisor.launcher_protocol import MOST_ITERATIONS
from worker.launch.launch_reports import ComparedOutput


class _Iteration(Report):
    """A timed run whose outputs were sent, and the call whose inputs it had."""

    repeat: Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)]
    call: Literal[0, 1]


class _WrongTurn(Report):
    """A timed run whose outputs, by position, differ from the reference's on the same inputs."""

    repeat: Count
    call: Literal[0, 1]
    outputs: Annotated[list[Count], Field(min_length=1, max_length=8192)]


class _Variable(Report):
    """A global variable of a kernel's module; `changed` is None if that is unknown."""

    name: Annotated[str, Field(max_length=4096)]
    size_bytes: Count
    changed: bool | None


class _ModuleState(Report):
    """The state that a kernel's module could keep between its runs."""

    problem: Annotated[str, Field(max_length=4096)] | None = None
    variables: list[_Variable] = Field(default_factory=list)
    unnamed_bytes: Count | None = None
    uses_heap: bool | None = None


class DeviceReport(ReportedReplay):
    """A launcher's report of a replay."""

    variants: Annotated[dict[str, Count], Field(max_length=200_000)] = Field(default_factory=dict)
    module_state: Annotated[dict[str, _ModuleState], Field(max_length=4096)] = Field(
        default_factory=dict
    )
    """Those kernels that could keep state, by short name."""
    repeats: Annotated[list[_Iteration], Field(max_length=MOST_ITERATIONS)] = Field(
        default_factory=list
    )
    changed_storages: Annotated[list[Count], Field(max_length=MOST_CHANGED)] = Field(
        default_factory=list
    )
    """Memory that a call changed, although none of its ops may write it."""
    changed_elsewhere: bool = False
    """True if that was memory of its reference, or copies of inputs."""
    wrong_turns: Annotated[list[_WrongTurn], Field(max_length=16)] = Field(default_factory=list)


class DeviceReferenceReport(DeviceReport):
    """A launcher's report of a reference that ran in its candidate's turn."""

    inputs_left: Annotated[list[str], Field(max_length=8192)] = Field(default_factory=list)
    """Places (`call:position`) of the inputs that it changed."""


class PairedReplayReport(Report):
    """A launcher's report of a program that it compared with its reference."""

    outputs: Annotated[dict[str, ComparedOutput], Field(max_length=8192)]
    """Outputs by call and position."""
    reference: dict[str, Any]


class FaultReport(Report):
    """A fault of a kernel; `op` is the launch that was probably running."""

    kind: Annotated[str, Field(max_length=64)]
    message: Annotated[str, Field(max_length=4096)]
    op: Count | None = None
