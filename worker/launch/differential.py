"""The check `differential`: one launch by several means, and where what they made is not the same.

What the launch itself ran on is compared with Triton's interpreter, and a GPU with the CPU device,
too. None of them is right by being first: a disagreement is a finding, and changes no verdict.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from launch.messages import Finding
from launch.request.launch_record import Comparison
from launch.request.reference_request import Reference
from launch.request.verdict import CHECK_INCOMPLETE, OF_FINDINGS, RunEnding
from worker.launch.comparison import Actual, compare
from worker.launch.reference import of_kernel
from worker.launch.run import PreparedRun, RunResult
from worker.pool.pool import Pool

DIFFERENTIAL = "differential"
DISAGREEMENT = "disagreement"
_OF_CHECKS = frozenset({"race", "uninitialized"})
"""What a run finds only where another check is asked for; the others run without."""
GPU, CPU, INTERPRETER = "the GPU", "the CPU device", "Triton's interpreter"


@dataclass(frozen=True, slots=True)
class OtherRun:
    """Another means to run the kernel; `run` returns None where it cannot run such a kernel."""

    name: str
    run: Callable[[], Awaitable[RunResult | None]]


async def disagreements(
    pool: Pool,
    run: PreparedRun,
    result: RunResult,
    name: str,
    others: list[OtherRun],
    reference: Reference | None,
) -> list[Finding]:
    """Return where the `result` of `run`, on what `name` says, is not that of the `others`.

    Elements are compared with the tolerance of `reference`. Raises DeadlinePassed, NotCompared.
    """
    found: list[Finding] = []
    for other in others:
        again = await other.run()
        if again is None:
            why = f"posted IR has no source that {other.name} could run"
            found.append(_incomplete(other.name, why))
        elif again.problem is not None:
            found.append(_incomplete(other.name, again.problem.detail))
        elif _end(result) != _end(again):
            found.append(_ended_otherwise(name, result, other.name, again))
        else:
            found += await _compared(pool, run, result, name, again, other.name, reference)
    return found


def _incomplete(name: str, why: str) -> Finding:
    message = f"{DIFFERENTIAL} does not tell what {name} makes of this kernel: {why}"
    return Finding(kind=CHECK_INCOMPLETE, message=message)


def _end(result: RunResult) -> frozenset[str]:
    """Return what stopped a run, or what it did wrong besides; nothing: it ran to its end."""
    kinds = {finding.kind for finding in result.findings} & OF_FINDINGS - _OF_CHECKS
    ended = {str(result.ending)} if result.ending is not RunEnding.FINISHED else set()
    return frozenset(kinds | ended)


def _ended_otherwise(name: str, result: RunResult, other: str, again: RunResult) -> Finding:
    def words(run: RunResult) -> str:
        return " and ".join(sorted(_end(run))) or "nothing wrong"

    message = f"It ends otherwise. On {name}: {words(result)}; on {other}: {words(again)}."
    faults = [found for found in (*result.findings, *again.findings) if found.kind in OF_FINDINGS]
    first = faults[0] if faults else None
    return Finding(
        kind=DISAGREEMENT,
        argument=first.argument if first else None,
        index=first.index if first else None,
        file=first.file if first else None,
        line=first.line if first else None,
        column=first.column if first else None,
        program=first.program if first else None,
        message=message,
    )


async def _compared(
    pool: Pool,
    run: PreparedRun,
    result: RunResult,
    name: str,
    again: RunResult,
    other: str,
    reference: Reference | None,
) -> list[Finding]:
    if not result.outputs:
        return []
    tolerance = Reference(equal_nan=True)
    if reference is not None:
        tolerance = tolerance.merged(Reference(rtol=reference.rtol, atol=reference.atol))
    actual = Actual(result.outputs, result.unwritten)
    compared = await compare(pool, run, actual, of_kernel(again, run), tolerance, {})
    return [
        _disagreement(argument, output.comparison, name, other)
        for argument, output in compared.outputs.items()
        if output.comparison is not None and not output.comparison.matches
    ]


def _disagreement(argument: str, comparison: Comparison, name: str, other: str) -> Finding:
    first = comparison.first_mismatch
    index = first.index if first is not None else None
    subscript = "" if index is None else f"[{', '.join(map(str, index))}]"
    values = (
        f"{argument}{subscript} is {first.actual} on {name} and {first.expected} on {other}"
        if first is not None
        else f"{argument} is not the same on {name} and on {other}"
    )
    many = f"; {comparison.mismatched} elements differ" if comparison.mismatched > 1 else ""
    bounds = f" (rtol {comparison.rtol:g}, atol {comparison.atol:g})" if comparison.rtol else ""
    message = f"{values}{many}{bounds}."
    return Finding(kind=DISAGREEMENT, argument=argument, index=index, message=message)
