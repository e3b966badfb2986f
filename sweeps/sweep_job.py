"""A sweep's job: its plan, and what only the service could resolve.

A sweep may have more variants than a service could resolve, or a job could hold. So the plan holds
them as indices into axes, and each becomes a request and is resolved once: by the worker that
drives the sweep, which queues it as what it was resolved to.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from compiler.diagnostic import Assumption
from compiler.job import CompileJob
from compiler.request.compile_request import Name
from launch.contract.text import MAX_CHARACTERS
from launch.request.launch_record import Device
from sweeps.search.search_request import SearchRequest
from sweeps.sweep_plan import SweepPlan


class LaunchDevice(BaseModel):
    """Where launches of a target and a Triton run, as variants write them ("" if not)."""

    model_config = ConfigDict(frozen=True)

    target: str
    triton: str
    device: Device
    lane: str


class ShownSweepJob(BaseModel):
    """The part of a SweepJob that shows whether it can be read: its record shows none of it."""

    model_config = ConfigDict(frozen=True)

    version: Literal[1] = 1
    id: Annotated[str, Field(max_length=64)]


class SweepJob(BaseModel):
    """Everything that a sweep depends on. `toolchains` are ids by the Triton that variants name."""

    model_config = ConfigDict(frozen=True)

    version: Literal[1] = 1
    """The version of these fields."""
    id: Annotated[str, Field(max_length=64)]
    caller: Name
    namespace: str
    plan: SweepPlan
    toolchains: dict[str, str]
    places: list[LaunchDevice] = Field(default_factory=list)
    references: dict[str, CompileJob] = Field(default_factory=dict)
    """The kernels that references name, by their compilations' keys."""
    launched: CompileJob | None = None
    """The kernel to launch, if the base names a finished compilation."""
    search: SearchRequest | None = None
    budget_s: float | None = None
    contract: Annotated[str, Field(max_length=MAX_CHARACTERS)] | None = None
    include: list[str] = Field(default_factory=list)
    assumptions: list[Assumption] = Field(default_factory=list)

    def launch_device_of(self, target: str, triton: str) -> LaunchDevice | None:
        """Return where launches of a target and a Triton run, as variants write them."""
        at = (place for place in self.places if (place.target, place.triton) == (target, triton))
        return next(at, None)


def sweep_url(sweep_id: str) -> str:
    """Return the path of a sweep."""
    return f"/v1/sweeps/{sweep_id}"
