"""One run of a kernel: what is to be run, and what came out of it, whatever ran it."""

from dataclasses import dataclass, field
from math import prod
from typing import Any

from compiler.launch.bound import BoundArguments, Buffer
from compiler.launch.element import ITEM_BYTES
from compiler.launch.launch import Finding, Profile, Timing
from compiler.problem import Problem
from compiler.specialization import Specialization
from compiler.value import Value


@dataclass(frozen=True, slots=True)
class Run:
    """One case, ready to run: arguments bound, grid evaluated; `uploads` lie behind the source."""

    kernel: str
    bound: BoundArguments
    grid: list[int]
    constexprs: dict[str, Value]
    """The values of constexpr parameters, by name."""
    inferred: Specialization
    """With the types and hints that the arguments tell."""
    uploads: bytes = b""

    @property
    def output_bytes(self) -> int:
        """What its outputs take together."""
        return sum(size_bytes(output) for output in self.bound.outputs.values())


@dataclass(slots=True)
class Ran:
    """What came out of a run. `outputs` are elements in C order, by name."""

    outputs: dict[str, bytes] = field(default_factory=dict)
    unwritten: dict[str, bytes] = field(default_factory=dict)
    """Of outputs with elements that nobody wrote: a bit for each element, 1 for such."""
    timed_outputs: dict[str, bytes] = field(default_factory=dict)
    """Those of the last timed run, where they differ from the first run's."""
    timed_unwritten: dict[str, bytes] = field(default_factory=dict)
    """The same of that run."""
    findings: list[Finding] = field(default_factory=list)
    inputs_modified: bool = False
    deterministic: bool | None = None
    fits: bool = True
    timed_out: bool = False
    out_of_memory: bool = False
    crashed: bool = False
    unchecked: bool = False
    """A check that was asked for did not get to its end; a finding says why."""
    timing: Timing | None = None
    profile: Profile | None = None
    stdout: str = ""
    trace: bytes | None = None
    problem: Problem | None = None
    """Why the kernel could not be run at all: then there is no verdict."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where bytes lie in a frame's body."""

    offset: int
    size: int

    def to_json(self) -> list[int]:
        """Return the form that children read."""
        return [self.offset, self.size]


def size_bytes(buffer: Buffer) -> int:
    """Return what the elements of a buffer take, one behind the other."""
    return prod(buffer.shape) * ITEM_BYTES[buffer.dtype]


def bits_bytes(buffer: Buffer) -> int:
    """Return what a bit for each element of a buffer takes."""
    return -(-prod(buffer.shape) // 8)


def laid_out(parts: dict[str, bytes]) -> tuple[bytes, dict[str, list[int]]]:
    """Return `parts` one behind the other, and the place of each by name."""
    places, offset = {}, 0
    for name, data in parts.items():
        places[name] = Place(offset, len(data)).to_json()
        offset += len(data)
    return b"".join(parts.values()), places


def arguments_header(run: Run, offset: int) -> dict[str, Any]:
    """Return the bound arguments for a child whose uploads begin at `offset` of the body."""
    dumped = run.bound.model_dump(mode="json")
    for allocation in dumped["allocations"]:
        if allocation["body"] is not None:
            allocation["body"] = [offset + allocation["body"][0], allocation["body"][1]]
    return {**dumped, "constexprs": run.constexprs}
