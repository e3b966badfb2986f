"""Measures what a program computes in `__init__`, beyond what its reference computes there.

Folding layers or inverting a weight beforehand may be a fine idea, or a way around the task: the
flag informs.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterator

from programs.program_record import ProgramFlag
from programs.replay.replay_order import Experiment
from programs.tape.flow import flow_of
from programs.tape.overload_effects import draws, kind_of, makes_views, name_of
from programs.tape.schema import AtenOp, Tape
from programs.worker.program_trials import ProgramTrials, is_finished

_LEAST_SHARE = 0.05
"""The least share of the reference's call that is reported."""
_LEAST_US = 8.0
_REPEATS = 3
_TIMED = Experiment(launches="replaced", timed=_REPEATS)


async def prepared_work(trials: ProgramTrials) -> list[ProgramFlag]:
    """Return the flag of a program that prepares much. Raises DeadlinePassed, ZygoteError."""
    tape, reference = trials.passed.recorded.candidate.tape, trials.passed.reference.tape
    known = Counter(name_of(op) for _, op in _prepared(reference))
    # in a thread: the tape may be long
    flow = await asyncio.to_thread(flow_of, tape, trials.passed.kernels.effects())
    more = list(_beyond(tape, known, flow.live))
    if not more:
        return []
    ours, theirs = await trials.candidate(_TIMED), await trials.reference(_TIMED)
    if not (is_finished(ours) and is_finished(theirs)):
        return []
    times = {index: ours.op_times_us[index] for index in more}
    calls = zip(reference.ops, theirs.op_times_us, strict=True)
    needed = max(_LEAST_US, sum(time for op, time in calls if op.phase == "run"))
    share = sum(times.values()) / needed
    if share < _LEAST_SHARE or not await trials.follows(more):
        return []
    most = tape.ops[max(times, key=lambda index: times[index])]
    assert isinstance(most, AtenOp)
    message = (
        f"outputs depend on what torch computes before the call, beyond what the reference does "
        f"there: {share:.0%} of the CPU time of the reference's call, most of it by "
        f"{name_of(most)} here"
    )
    file, line = (most.place.file, most.place.line) if most.place is not None else (None, None)
    return [ProgramFlag(kind="prepared_work", message=message, file=file, line=line)]


def _prepared(tape: Tape) -> Iterator[tuple[int, AtenOp]]:
    """Yield the ops of `init` that compute or copy."""
    for index, op in enumerate(tape.ops):
        if op.phase != "init":
            return
        if not isinstance(op, AtenOp) or makes_views(op) or draws(op):
            continue
        if kind_of(op) not in ("uninitialized", "constant"):
            yield index, op


def _beyond(tape: Tape, known: Counter[str], live: Collection[int]) -> Iterator[int]:
    """Yield the live ops of `init` that are more than `known`, the last ones of each name."""
    left = known.copy()
    for index, op in _prepared(tape):
        if index not in live:
            continue
        if left[name_of(op)]:
            left[name_of(op)] -= 1
        else:
            yield index
