"""One run of a kernel, whatever runs it: what is to be run, by when, and what came out of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from compiler.compilation import Compilation
from compiler.constexpr import Value
from compiler.problem import Problem
from compiler.specialization import Specialization
from launch.messages import BodyRange, Cause, Finding, TraceOrder
from launch.profile_record import Profile
from launch.request.bound_arguments import BoundArguments, Buffer
from launch.request.element import ITEM_BYTES
from launch.request.launch_record import Timing
from launch.request.launch_request import TraceRequest
from launch.request.verdict import RunEnding
from worker.gpu.timing_integrity.timed_iteration import TimedIteration
from worker.pool.shared_bytes import Body


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """One case, ready to run: arguments bound, grid evaluated; `uploads` lie behind the source."""

    kernel: str
    bound: BoundArguments
    grid: list[int]
    constexprs: dict[str, Value]
    """The values of constexpr parameters, by name."""
    inferred: Specialization
    """The specialization with types and hints inferred from the arguments."""
    uploads: bytes = b""

    @property
    def output_bytes(self) -> int:
        """The total size of its outputs."""
        return sum(size_bytes(output) for output in self.bound.outputs.values())

    @property
    def needed_bytes(self) -> int:
        """An upper estimate of uploads, outputs, outputs of a timed run, and expected outputs."""
        allocations = self.bound.allocations
        uploaded = [
            allocation
            for allocation in allocations
            if allocation.init and allocation.init["kind"] == "tensor"
        ]
        inputs = sum(allocation.elements * ITEM_BYTES[allocation.dtype] for allocation in uploaded)
        return inputs + 4 * self.output_bytes


@dataclass(frozen=True, slots=True)
class SentIteration:
    """A timed run that is to be looked at, and what it left: elements in C order, by output.

    `unwritten`: of outputs with elements that it did not write, a bit for each, 1 for such.
    """

    iteration: TimedIteration
    outputs: Mapping[str, Body]
    unwritten: Mapping[str, Body] = field(default_factory=dict)


@dataclass(slots=True)
class RunResult:
    """The outcome of a run. `outputs` are elements in C order, by name."""

    ending: RunEnding = RunEnding.FINISHED
    outputs: Mapping[str, Body] = field(default_factory=dict)
    unwritten: Mapping[str, Body] = field(default_factory=dict)
    """For each output with unwritten elements: a bit per element, 1 if unwritten."""
    repeats: list[SentIteration] = field(default_factory=list)
    """Timed runs that are to be compared with the reference, too."""
    keeps_state: bool = False
    """True if runs changed global variables of the kernel's module."""
    findings: list[Finding] = field(default_factory=list)
    deterministic: bool | None = None
    timing: Timing | None = None
    profile: Profile | None = None
    counters: bytes = b""
    """A profiler's counts per instruction, until `profile` has them by line."""
    ir: bytes = b""
    """The TTIR of a kernel that ran on a GPU, where its precision may be in question."""
    causes: list[Cause] = field(default_factory=list)
    """The reasons why a kernel of the CPU device may be imprecise; on a GPU, `ir` shows them."""
    stdout: str = ""
    trace: bytes | None = None
    compilation: Compilation | None = None
    """The kernel that ran on a GPU; on the CPU device, the one that failed to compile."""
    problem: Problem | None = None
    """The reason why the kernel could not run, if its ending is `NOT_RUN`."""

    def end(self, ending: RunEnding, message: str) -> None:
        """Record that it ended badly, with a finding of that kind."""
        self.ending = ending
        self.findings.append(Finding(kind=str(ending), message=message))

    def fail(self, problem: Problem) -> None:
        """Record that there is no run to judge."""
        self.ending, self.problem = RunEnding.NOT_RUN, problem


def not_run(problem: Problem) -> RunResult:
    """Return the result of a run that could not begin."""
    return RunResult(ending=RunEnding.NOT_RUN, problem=problem)


def size_bytes(buffer: Buffer) -> int:
    """Return what the elements of a buffer take, one behind the other."""
    return prod(buffer.shape) * ITEM_BYTES[buffer.dtype]


def bits_bytes(buffer: Buffer) -> int:
    """Return what a bit for each element of a buffer takes."""
    return -(-prod(buffer.shape) // 8)


def places_of(parts: Mapping[str, Body]) -> dict[str, BodyRange]:
    """Return the place of each of `parts` by name, as they lie one behind the other."""
    places: dict[str, BodyRange] = {}
    offset = 0
    for name, data in parts.items():
        places[name] = (offset, len(data))
        offset += len(data)
    return places


def inputs_of(run: PreparedRun, offset: int) -> dict[str, Any]:
    """Return what an InputsOrder contains of `run`, whose uploads begin at `offset` of the body."""
    dumped = run.bound.model_dump(mode="json")
    for allocation in dumped["allocations"]:
        if allocation["body"] is not None:
            allocation["body"] = [offset + allocation["body"][0], allocation["body"][1]]
    return {**dumped, "constexprs": run.constexprs}


def traced(trace: TraceRequest | None) -> TraceOrder | None:
    """Return the program instances to trace, for a child; axes that are not named are 0."""
    if trace is None:
        return None
    programs = [[*program, 0, 0][:3] for program in trace.programs]
    return TraceOrder(programs=programs, max_accesses=trace.max_accesses, values=trace.values)
