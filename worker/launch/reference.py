"""What the outputs of a launch should be, from the child that runs the user's reference.

That child gets the inputs and never sees what the kernel made. It can say anything of what is
expected, as its author may anyway; it cannot make a kernel pass whose outputs it does not foresee.
"""

from dataclasses import dataclass, field

from compiler.diagnostic import MESSAGE_CHARS, clipped
from compiler.messages.wire import header_of
from launch.messages import ExpectedOutput, Finding, ReferenceOrder, ReferenceReport
from launch.request.bound_arguments import Buffer
from launch.request.reference_request import Reference
from launch.request.verdict import RunEnding
from store.workers import Workers
from worker.compile.reports import Malformed, read_report
from worker.launch.launch_children import TORCH, Children
from worker.launch.launch_reports import LaunchFailure, read_message
from worker.launch.run import Deadline, PreparedRun, RunResult, inputs_of
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.retry import run_task

_NEEDS_TORCH = "needs_torch"


@dataclass(frozen=True, slots=True)
class Expected:
    """Elements in C order by output, or why there are none.

    `dtypes` are NumPy's names; an output without one is of the kernel's own dtype.
    """

    outputs: dict[str, bytes]
    dtypes: dict[str, str]
    failure: Finding | None = None
    unwritten: dict[str, bytes] = field(default_factory=dict)
    """What a reference's kernel did not write: a bit for each element of such outputs."""
    unchanged: frozenset[str] = frozenset()
    """Outputs in place that are to stay as they were, by the reference's own account."""


async def expect(
    children: Children,
    reference: Reference,
    run: PreparedRun,
    timeout_s: float,
    deadline: Deadline,
    registry: Workers,
) -> Expected:
    """Run the source of `reference` in a child of its own. Raises DeadlinePassed.

    `registry` says who offers torch, for a reference that would have needed it.
    """
    pool = children.of_reference(reference.language)
    if pool is None:
        return no_reference(f"{reference.language} is not available on this worker: use numpy")
    source = (reference.source or "").encode()
    order = ReferenceOrder(source=(0, len(source)), **inputs_of(run, len(source)))
    limit_s = deadline.limit_s(timeout_s)
    outcome = await run_task(
        pool,
        order.profile,
        header_of(order),
        source + run.uploads,
        deadline_s=limit_s,
        stages={f"expected:{name}" for name in run.bound.outputs},
    )
    if outcome.ending is Ending.DEADLINE and limit_s < timeout_s:
        raise deadline.passed
    try:
        return await _expected(outcome, run, registry)
    except Malformed as error:
        return no_reference(f"the reference did not report as it should: {error}")


async def _expected(outcome: ChildOutcome, run: PreparedRun, registry: Workers) -> Expected:
    if outcome.failure is not None:
        failure = read_report(LaunchFailure, outcome.failure)
        return _failed(failure, await _torch(registry) if failure.slug == _NEEDS_TORCH else "")
    if outcome.result is None:
        return no_reference(f"the reference did not return ({outcome.detail})")
    return _outputs_of(read_message(ReferenceReport, outcome.result), outcome, run)


def of_kernel(result: RunResult, run: PreparedRun) -> Expected:
    """Return what another kernel's run makes of a reference."""
    if result.problem is not None:
        return no_reference(f"the reference's kernel could not be run: {result.problem.detail}")
    if result.ending is not RunEnding.FINISHED or result.findings:
        reason = result.findings[0].message if result.findings else "it did not end well"
        return no_reference(f"the reference's kernel went wrong: {reason}")
    outputs = {name: result.outputs[name] for name in run.bound.outputs}
    return Expected(outputs, {}, unwritten=result.unwritten)


def no_reference(message: str, line: int | None = None) -> Expected:
    """Return that there is nothing to compare with, and why."""
    finding = Finding(
        kind="invalid_reference",
        file="reference.py" if line is not None else None,
        line=line,
        message=clipped(message, MESSAGE_CHARS),
    )
    return Expected({}, {}, finding)


async def _torch(registry: Workers) -> str:
    """Return what to do about a reference that imports torch and did not say so."""
    known = await registry.known_references()
    places = [place for place, languages in known.items() if TORCH in languages]
    classes = [place for place in places if " " in place]
    offered = [*(["the interpreter"] if len(classes) < len(places) else []), *classes]
    return (
        f'. A reference that uses torch says so, with "language": "{TORCH}"; '
        + (f"it is offered on {', '.join(offered)}" if offered else "but no worker offers torch")
        + " (`references` of GET /v1/targets and GET /v1/devices)"
    )


def _failed(failure: LaunchFailure, advice: str) -> Expected:
    if failure.slug == "memory_exceeded":
        return no_reference("the reference needs more memory than a process of a launch may have")
    first = failure.diagnostics[0] if failure.diagnostics else None
    return no_reference(failure.message + advice, first.line if first else None)


def _outputs_of(report: ReferenceReport, outcome: ChildOutcome, run: PreparedRun) -> Expected:
    stages = {stage.name: stage.body for stage in outcome.stages}
    outputs = {
        name: _whole(stages.get(f"expected:{name}"), name, described, run.bound.outputs.get(name))
        for name, described in report.outputs.items()
    }
    dtypes: dict[str, str] = {name: item.dtype for name, item in report.outputs.items()}
    unchanged = {name for name, item in report.outputs.items() if item.unchanged}
    return Expected(outputs, dtypes, unchanged=frozenset(unchanged))


def _whole(
    data: bytes | None, name: str, described: ExpectedOutput, output: Buffer | None
) -> bytes:
    if output is None or described.shape != output.shape:
        raise Malformed(f"{name} is no output of that shape")
    if data is None or len(data) != described.size_bytes:
        raise Malformed(f"the expected {name} is missing or of another size")
    return data
