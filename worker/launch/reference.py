"""Expected outputs of a launch, from a child that runs the user's reference.

That child gets the inputs and never sees what the kernel made. It can answer anything as
expected values, as its author may anyway; it cannot make a kernel pass whose outputs it does not
foresee.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from math import prod

from compiler.diagnostic import MESSAGE_CHARS, REFERENCE_FILE, clipped
from compiler.messages.wire import header_of
from jobs.deadline import Deadline
from launch.messages import (
    Cause,
    ExpectedOutput,
    Finding,
    ReferenceOrder,
    ReferenceReport,
    RoundingOrder,
)
from launch.request.bound_arguments import Buffer
from launch.request.reference_request import Reference
from launch.request.verdict import RunEnding
from store.workers import Workers
from worker.compile.reports import Malformed
from worker.launch.large_body import body_of
from worker.launch.launch_children import TORCH, Children, ChildSlot
from worker.launch.launch_reports import LaunchFailure, read_reference_report
from worker.launch.reference_cache import ReferenceAnswer
from worker.launch.run import PreparedRun, RunResult, inputs_of
from worker.launch.stored_references import StoredReferences
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.pool import Pool
from worker.pool.session import ChildSession
from worker.pool.shared_bytes import Body

_NEEDS_TORCH = "needs_torch"


@dataclass(frozen=True, slots=True)
class Expected:
    """Elements in C order by output, or why there are none.

    `dtypes` are NumPy's names; an output without one is of the kernel's own dtype.
    """

    outputs: Mapping[str, Body]
    dtypes: dict[str, str]
    failure: Finding | None = None
    unwritten: Mapping[str, Body] = field(default_factory=dict)
    """Elements that a reference's kernel did not write: a bit for each, by output."""
    unchanged: frozenset[str] = frozenset()
    """Outputs in place that are to stay as they were, by the reference's own account."""
    ir: bytes = b""
    """The TTIR of a reference's kernel on a GPU, where its precision may be in question."""
    causes: list[Cause] = field(default_factory=list)
    """The reasons why a reference's kernel on the CPU device may be imprecise."""
    doubtful: Mapping[str, bytes] = field(default_factory=dict)
    """With a `doubt`: a bit per element of each output, 1 if the element is inconclusive."""
    scales: Mapping[str, float] = field(default_factory=dict)
    """With a `doubt`: the typical size of each output's elements."""
    atol_factors: Mapping[str, float] = field(default_factory=dict)
    """Factors on `atol`, by output, for outputs with large elements."""


class References:
    """The references of one launch: one child calls a source for all cases, another one another.

    It ends with `close`, and nothing of user code with it but the answers that are kept.
    """

    def __init__(
        self,
        children: Children,
        registry: Workers,
        kept: StoredReferences | None = None,
        child_slot: ChildSlot = nullcontext,
        yield_slot: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`registry` lists who offers torch, for a reference that would have needed it.

        The child works in a `child_slot`. The launch yields its slot while another one calculates.
        """
        self._children = children
        self._registry = registry
        self._kept = kept
        self._child_slot, self._yield_slot = child_slot, yield_slot
        self._one_at_a_time = asyncio.Lock()
        self._source: tuple[str, str | None] | None = None
        self._session: ChildSession | None = None

    async def expect(
        self,
        reference: Reference,
        run: PreparedRun,
        timeout_s: float,
        deadline: Deadline,
        doubt: RoundingOrder | None = None,
        *,
        keep: bool = True,
    ) -> Expected:
        """Return the result of `reference`, perhaps from the cache.

        With a `doubt` the result is for that only, and not cached; neither are results without
        further use. Raises DeadlinePassed.
        """
        pool = self._children.of_reference(reference.language)
        if pool is None:
            return no_reference(
                f"{reference.language} is not available on this worker; install it (`make torch` "
                "in a checkout) and restart the worker, or write the reference with NumPy"
            )
        key = self._kept.key(reference, run, pool.facts) if self._kept is not None else None
        if self._kept is None or key is None or doubt is not None or not keep:
            return await self._calculate(None, pool, reference, run, timeout_s, deadline, doubt)
        if (expected := await self._find(key, run)) is not None:
            return expected
        with self._yield_slot():
            waited = await self._kept.wait_for_other(key, deadline.limit_s(timeout_s))
        if waited and (expected := await self._find(key, run)) is not None:
            return expected
        with self._kept.calculating(key):
            return await self._calculate(key, pool, reference, run, timeout_s, deadline)

    async def _calculate(
        self,
        key: str | None,
        pool: Pool,
        reference: Reference,
        run: PreparedRun,
        timeout_s: float,
        deadline: Deadline,
        doubt: RoundingOrder | None = None,
    ) -> Expected:
        """Return what the source answers in a child, and keep it under `key`."""
        async with self._one_at_a_time, self._child_slot():
            outcome = await self._call(pool, reference, run, timeout_s, deadline, doubt)
        try:
            if outcome.result is None:
                return await self._failed(outcome)
            answer = _answer(outcome)
            expected = _with_doubts(_expected(answer, run), answer.report, outcome)
        except Malformed as error:
            return no_reference(f"the reference sent an invalid report: {error}")
        if self._kept is not None and key is not None:
            await self._kept.keep(key, answer)
        return expected

    async def _find(self, key: str | None, run: PreparedRun) -> Expected | None:
        """Return what was answered before; None if nothing was that fits the run's outputs."""
        if self._kept is None or key is None or (answer := await self._kept.find(key)) is None:
            return None
        with contextlib.suppress(Malformed):
            return _expected(answer, run)
        return None

    def close(self) -> None:
        """End its child."""
        if self._session is not None:
            self._session.close()

    async def _call(
        self,
        pool: Pool,
        reference: Reference,
        run: PreparedRun,
        timeout_s: float,
        deadline: Deadline,
        doubt: RoundingOrder | None,
    ) -> ChildOutcome:
        source = (reference.source or "").encode()
        inputs = inputs_of(run, len(source))
        order = ReferenceOrder(source=(0, len(source)), doubt=doubt, **inputs)
        step = deadline.step(timeout_s)
        kinds = ("expected",) if doubt is None else ("expected", "doubtful")
        async with body_of([source, run.uploads]) as body:
            outcome = await self._session_of(pool, reference).run(
                order.profile,
                header_of(order),
                body,
                deadline_s=step.limit_s,
                stages={f"{kind}:{name}" for kind in kinds for name in run.bound.outputs},
            )
        if outcome.ending is Ending.DEADLINE:
            step.timed_out()
        return outcome

    def _session_of(self, pool: Pool, reference: Reference) -> ChildSession:
        source = reference.language, reference.source
        if self._session is None or source != self._source:
            self.close()
            self._session, self._source = ChildSession(pool), source
        return self._session

    async def _failed(self, outcome: ChildOutcome) -> Expected:
        if outcome.failure is None:
            return no_reference(f"the reference did not return ({outcome.detail})")
        failure = LaunchFailure.read(outcome.failure)
        advice = await _torch(self._registry) if failure.slug == _NEEDS_TORCH else ""
        if failure.slug == "memory_exceeded":
            return no_reference(
                "the reference needs more memory than a process of a launch may have"
            )
        first = failure.diagnostics[0] if failure.diagnostics else None
        return no_reference(failure.message + advice, first.line if first else None)


def of_kernel(result: RunResult, run: PreparedRun) -> Expected:
    """Return what another kernel's run makes of a reference."""
    if result.problem is not None:
        return no_reference(f"the reference's kernel could not be run: {result.problem.detail}")
    if result.ending is not RunEnding.FINISHED or result.findings:
        reason = result.findings[0].message if result.findings else "it failed"
        return no_reference(f"the reference's kernel went wrong: {reason}")
    outputs = {name: result.outputs[name] for name in run.bound.outputs}
    return Expected(outputs, {}, unwritten=result.unwritten, ir=result.ir, causes=result.causes)


def no_reference(message: str, line: int | None = None) -> Expected:
    """Return that there is nothing to compare with, and why."""
    finding = Finding(
        kind="invalid_reference",
        file=REFERENCE_FILE if line is not None else None,
        line=line,
        message=clipped(message.removeprefix(f"line {line}: "), MESSAGE_CHARS),
    )
    return Expected({}, {}, finding)


async def _torch(registry: Workers) -> str:
    """Return advice for a reference that imports torch without saying so."""
    known = await registry.known_references()
    places = [place for place, languages in known.items() if TORCH in languages]
    classes = [place for place in places if " " in place]
    offered = [*(["the CPU device"] if len(classes) < len(places) else []), *classes]
    return (
        f'. A reference that uses torch needs "language": "{TORCH}"; '
        + (
            f"it is offered on {', '.join(offered)}"
            if offered
            else "but no worker has torch: write the reference with NumPy, or install torch "
            "(`make torch` in a checkout) and restart the worker"
        )
        + " (`references` of GET /v1/targets and GET /v1/devices)"
    )


def _answer(outcome: ChildOutcome) -> ReferenceAnswer:
    """Return what a child reports of a reference. Raises Malformed."""
    report = read_reference_report(outcome.result or {})
    stages = {stage.name: stage.body for stage in outcome.stages}
    outputs: dict[str, Body] = {
        name: stages.get(f"expected:{name}", b"") for name in report.outputs
    }
    return ReferenceAnswer(report, outputs)


def _expected(answer: ReferenceAnswer, run: PreparedRun) -> Expected:
    """Return what the outputs of `run` should be. Raises Malformed."""
    described = answer.report.outputs
    outputs = {
        name: _whole(answer.outputs[name], name, item, run.bound.outputs.get(name))
        for name, item in described.items()
    }
    dtypes: dict[str, str] = {name: item.dtype for name, item in described.items()}
    unchanged = {name for name, item in described.items() if item.unchanged}
    return Expected(outputs, dtypes, unchanged=frozenset(unchanged))


def _with_doubts(expected: Expected, report: ReferenceReport, outcome: ChildOutcome) -> Expected:
    """Return the same with the doubts that a child reported. Raises Malformed."""
    stages = {stage.name: stage.body for stage in outcome.stages}
    doubtful = {}
    for name, described in report.outputs.items():
        if (bits := stages.get(f"doubtful:{name}")) is not None:
            if len(bits) != -(-prod(described.shape) // 8):
                raise Malformed(f"the mask of inconclusive elements of {name} has the wrong size")
            doubtful[name] = bytes(bits)
    scales = {name: item.scale for name, item in report.outputs.items() if item.scale is not None}
    return replace(expected, doubtful=doubtful, scales=scales)


def _whole(data: Body, name: str, described: ExpectedOutput, output: Buffer | None) -> Body:
    if output is None or described.shape != output.shape:
        raise Malformed(f"{name} is not an output of that shape")
    if len(data) != described.size_bytes:
        raise Malformed(f"the expected {name} is missing or has the wrong size")
    return data
