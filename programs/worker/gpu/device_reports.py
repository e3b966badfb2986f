"""What a program's launcher reports, bounded and checked before it is believed.

No user Python runs in a launcher, but what it replays is its author's.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from programs.worker.replay_child import ReportedReplay
from worker.compile.reports import Count, Report
from worker.gpu.supervisor.launcher_protocol import MOST_ITERATIONS
from worker.launch.launch_reports import ComparedOutput


class _Iteration(Report):
    """A timed repeat whose outputs were sent, and which call's inputs it had."""

    repeat: Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)]
    call: Literal[0, 1]


class _Variable(Report):
    """A global variable of a kernel's module; `changed` None: nobody can say."""

    name: Annotated[str, Field(max_length=4096)]
    size_bytes: Count
    changed: bool | None


class _ModuleState(Report):
    """What a kernel's module could keep between its runs."""

    problem: Annotated[str, Field(max_length=4096)] | None = None
    variables: list[_Variable] = Field(default_factory=list)
    unnamed_bytes: Count | None = None
    uses_heap: bool | None = None


class DeviceReport(ReportedReplay):
    """Of a launcher."""

    variants: Annotated[dict[str, Count], Field(max_length=200_000)] = Field(default_factory=dict)
    module_state: Annotated[dict[str, _ModuleState], Field(max_length=4096)] = Field(
        default_factory=dict
    )
    """Of kernels by their short names: only those with something to say."""
    repeats: Annotated[list[_Iteration], Field(max_length=MOST_ITERATIONS)] = Field(
        default_factory=list
    )


class DeviceReferenceReport(DeviceReport):
    """Of a reference that ran beside its candidate."""

    inputs_left: Annotated[list[str], Field(max_length=8192)] = Field(default_factory=list)
    """Places of the inputs that it changed in place."""


class BesideReport(Report):
    """What a launcher says that compared a program with its reference."""

    outputs: Annotated[dict[str, ComparedOutput], Field(max_length=8192)]
    """By place."""
    reference: dict[str, Any]


class FaultReport(Report):
    """What a kernel did; `op` is the launch that was under way, best known."""

    kind: Annotated[str, Field(max_length=64)]
    message: Annotated[str, Field(max_length=4096)]
    op: Count | None = None
