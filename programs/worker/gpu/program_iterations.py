"""Compares timed runs whose outputs a launcher sent with the reference.

The launcher chooses them after all runs, so a program cannot know which are checked.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from launch.messages import Finding
from launch.request.launch_record import ComparedRepeat
from launch.request.verdict import Verdict
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.program_comparison import ComparedProgram, compare
from programs.worker.replayed import Replayed, ReplayedCall, TimedCall, is_side_effect
from worker.pool.pool import Pool


@dataclass(slots=True)
class ComparedRepeats:
    """The result of comparing timed runs; `matches` has an entry for each compared output."""

    compared: list[ComparedRepeat] = field(default_factory=list)
    matches: list[bool] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


async def compare_iterations(
    pool: Pool,
    sent: Sequence[TimedCall],
    reference: Replayed,
    tolerances: OutputTolerances,
) -> ComparedRepeats:
    """Compare all sent runs in parallel; add a finding for the first that does not match.

    Raises NotCompared.
    """

    async def compared_with(one: TimedCall) -> ComparedProgram:
        expected = Replayed(calls=[_outputs(reference.calls[one.call])])
        returned = Replayed(calls=[_outputs(one.returned)])
        # the comparison of the calls has checked devices already
        return await compare(pool, returned, expected, tolerances, devices=False)

    found = ComparedRepeats()
    tasks = [asyncio.create_task(compared_with(one)) for one in sent]
    try:
        results = await asyncio.gather(*tasks)
    finally:  # the first that raises cancels the others
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for one, compared in zip(sent, results, strict=True):
        if found.findings:
            break
        matches = all(compared.matches) if compared.matches else None
        found.compared.append(ComparedRepeat(repeat=one.repeat, matches=matches))
        found.matches += compared.matches
        if matches is False:
            wrong = [
                path
                for path, output in compared.outputs.items()
                if output.comparison is not None and not output.comparison.matches
            ]
            found.findings.append(_mismatch(one, wrong))
    return found


def _outputs(call: ReplayedCall) -> ReplayedCall:
    return {path: item for path, item in call.items() if not is_side_effect(path)}


def _mismatch(one: TimedCall, paths: Sequence[str]) -> Finding:
    which = f"Timed run {one.repeat}" if one.repeat >= 0 else "A warm-up run"
    message = (
        f"{which} does not match the reference in output {', '.join(paths)}, but the "
        f"{('first', 'second')[one.call]} call with the same inputs does. The program keeps state "
        "between calls, or its kernels race."
    )
    path = paths[0] if paths else None
    return Finding(kind=str(Verdict.MISMATCH), argument=path, message=message)
