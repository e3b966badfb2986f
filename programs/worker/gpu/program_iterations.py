"""Compares timed runs whose outputs a launcher sent with the reference.

The launcher chooses them after all runs, so a program cannot know which are checked.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from launch.messages import Finding
from launch.request.launch_record import ComparedRepeat
from launch.request.verdict import Verdict
from programs.tape.schema import Tape, TensorRef, by_path
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.program_comparison import ComparedProgram, compare
from programs.worker.replayed import (
    Replayed,
    ReplayedCall,
    TimedCall,
    WrongTurn,
    is_side_effect,
)
from worker.pool.pool import Pool

_MOST_PATHS = 5


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
            found.findings.append(_not_matching(one, wrong))
    return found


def turn_findings(turns: Sequence[WrongTurn], tape: Tape) -> list[Finding]:
    """Return a finding for the first timed run that did not match the reference's of its turn."""
    if not turns:
        return []
    first = turns[0]
    returned = by_path((tape.outputs, tape.outputs2)[first.call])
    paths = [path for path, value in returned.items() if isinstance(value, TensorRef)]
    message = (
        f"Timed run {first.repeat} does not match the reference in output "
        f"{', '.join(paths[at] for at in first.outputs[:_MOST_PATHS])}. Both had the same new "
        "inputs. The program is right for some inputs only, it keeps state between calls, or its "
        "kernels race."
    )
    return [_mismatch(paths[first.outputs[0]], message)]


def _outputs(call: ReplayedCall) -> ReplayedCall:
    return {path: item for path, item in call.items() if not is_side_effect(path)}


def _not_matching(one: TimedCall, paths: Sequence[str]) -> Finding:
    which = f"Timed run {one.repeat}" if one.repeat >= 0 else "A warm-up run"
    message = (
        f"{which} does not match the reference in output {', '.join(paths)}, but the "
        f"{('first', 'second')[one.call]} call with the same inputs does. The program keeps state "
        "between calls, or its kernels race."
    )
    return _mismatch(paths[0] if paths else None, message)


def _mismatch(path: str | None, message: str) -> Finding:
    return Finding(kind=str(Verdict.MISMATCH), argument=path, message=message)
