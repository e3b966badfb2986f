"""Timed repeats of a program that a launcher sent, held against the reference.

Which ones is chosen when all have run, so a program that does its work only while somebody looks
cannot know when that is.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from launch.messages import Finding
from launch.request.launch_record import ComparedRepeat
from launch.request.verdict import Verdict
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.program_comparison import ComparedProgram, compare
from programs.worker.replayed import Replayed, ReplayedCall, TimedCall, is_input_path
from worker.pool.pool import Pool


@dataclass(slots=True)
class ComparedRepeats:
    """What came of comparing repeats: `matches` has an entry for each compared output."""

    compared: list[ComparedRepeat] = field(default_factory=list)
    matches: list[bool] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


async def compare_iterations(
    pool: Pool,
    sent: Sequence[TimedCall],
    reference: Replayed,
    tolerances: OutputTolerances,
) -> ComparedRepeats:
    """Compare what was sent, all at once; tell of the first that does not match.

    Raises NotCompared.
    """

    async def compared_with(one: TimedCall) -> ComparedProgram:
        expected = Replayed(calls=[_outputs(reference.calls[one.call])])
        returned = Replayed(calls=[_outputs(one.returned)])
        return await compare(pool, returned, expected, tolerances, devices=False)  # calls told

    found = ComparedRepeats()
    tasks = [asyncio.create_task(compared_with(one)) for one in sent]
    try:
        results = await asyncio.gather(*tasks)
    finally:  # the first that raises ends the others
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
    return {path: item for path, item in call.items() if not is_input_path(path)}


def _mismatch(one: TimedCall, paths: Sequence[str]) -> Finding:
    which = f"Timed run {one.repeat}" if one.repeat >= 0 else "A run to warm up"
    message = (
        f"{which} does not match the reference, though the {('first', 'second')[one.call]} call, "
        f"whose inputs it had, does: output {', '.join(paths)} is another. The program keeps "
        "something from call to call, or its kernels race."
    )
    path = paths[0] if paths else None
    return Finding(kind=str(Verdict.MISMATCH), argument=path, message=message)
