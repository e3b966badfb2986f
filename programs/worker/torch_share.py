"""Measures how much of a program's work torch does, by experiment.

A part of the program is torch's if outputs follow noise in its results. It is weighed by its CPU
time, compared with that of the reference's ops. A kernel that copies could be replaced by a copy.
"""

from asyncio import to_thread
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from programs.program_record import ProgramFlag
from programs.replay.replay_order import Experiment
from programs.tape.launch_copies import launch_copies
from programs.tape.noisable_ops import noisable_ops
from programs.tape.overload_effects import name_of
from programs.tape.schema import AtenOp, ProgramLine, Tape, TapeLaunch
from programs.worker.program_trials import ProgramTrials, is_finished
from programs.worker.replayed import Replayed
from programs.worker.value_trial import ValueTrial
from worker.launch.comparison import NotCompared

MOST_BY_TORCH = 0.25
"""The share of the reference's CPU time that torch may take without a flag."""
_NEGLIGIBLE = 0.02
"""The share of an op that counts without an experiment of its own."""
_WORTH_A_LINE = 0.1
"""The least share of the work of a line that is named, unless it is the largest."""
_MOST_TRIED = 16
"""Limit of ops that are tried one by one."""
_FEW = 1e-4
"""The share of elements that get noise, so that a kernel which looks at some sees none."""
_REPEATS = 3
_ENTRY_BYTES = 256
"""The size of a known time, with its key."""
_LEAST_US = 12.0
"""The least CPU time that shares are measured by; less is within the error of the measurement."""


@dataclass(frozen=True, slots=True)
class TorchShare:
    """The share of torch in a program's work, from 0 to 1, and the flags about it."""

    share: float
    flags: Sequence[ProgramFlag] = ()


async def torch_share(trials: ProgramTrials, others: ValueTrial) -> TorchShare:
    """Return the share of torch. Raises DeadlinePassed, ZygoteError, NotCompared.

    Where torch computes nothing, kernels are needed unless an output is insensitive.
    """
    tape = trials.passed.kernels.tape
    launches = [op for op in tape.ops if isinstance(op, TapeLaunch) and op.phase == "run"]
    ops = noisable_ops(tape)
    if not launches:
        times = await _times(trials.candidate, tape, [])
        found = {op: times[op] for op in ops}
        return TorchShare(1.0, list(_flags(tape, found, sum(times.values()), 1.0)))
    if not ops and not others.is_insensitive:
        return TorchShare(0.0)
    replacing, needless = await _replacing(trials, others)
    if needless is not None:
        message = (
            f"the outputs still match the reference if the kernels {needless}, so no kernel is "
            "needed for them: compute the result in a kernel"
        )
        return TorchShare(1.0, [_flag(message, launches[0].place)])
    return await _measured(trials, ops, replacing)


async def _replacing(
    trials: ProgramTrials, others: ValueTrial
) -> tuple[Sequence[Replayed], str | None]:
    """Return replays without kernels, the most natural first, and a reason to need none.

    All of them measure the time of ops. A kernel is needed if outputs of other values follow it:
    with its weights, a fresh batch norm is no copy.
    """
    kernels, found = trials.passed.kernels, list[Replayed]()
    choices = [*launch_copies(kernels.tape, kernels.effects()), ()]
    for copies in choices:
        experiment = Experiment(launches="replaced", copies=copies, timed=_REPEATS)
        found.append(await trials.candidate(experiment))
        if await trials.matches(found[-1]) and not await others.follow(experiment):
            return found, "are replaced by copies of what they read" if copies else "are left out"
    return found, None


async def _measured(
    trials: ProgramTrials, ops: Sequence[int], replacing: Sequence[Replayed]
) -> TorchShare:
    tape = trials.passed.kernels.tape
    measured = await _times(trials.candidate, tape, replacing)
    times = {op: measured[op] for op in ops}
    total = sum(times.values())
    if not total:
        return TorchShare(0.0)
    needed = max(_LEAST_US, await _reference_us(trials))
    if total <= MOST_BY_TORCH * needed:
        return TorchShare(total / needed)
    if not await _follows(trials, ops):
        return TorchShare(0.0)
    live = await _live(trials, times, needed)
    found = {op: times[op] for op in live}
    share = min(1.0, sum(found.values()) / needed)
    if share <= MOST_BY_TORCH:
        return TorchShare(share)
    return TorchShare(share, list(_flags(tape, found, needed, share)))


async def _reference_us(trials: ProgramTrials) -> float:
    """Return the CPU time of the reference's ops, measured once for many candidates."""
    attempt, program = trials.attempt, trials.passed.reference
    known = attempt.context.reference_us
    # in a thread: the tape may be long
    digest = await to_thread(lambda: sha256(program.text).hexdigest())
    key = f"{attempt.job.namespace}/{digest}"
    found = known.get(key)
    if found is None:
        times = await _times(trials.reference, program.tape, [])
        found = sum(times.values())
        known.put(key, found, _ENTRY_BYTES)
    return found


async def _times(
    replay: Callable[[Experiment], Awaitable[Replayed]], tape: Tape, made: Sequence[Replayed]
) -> Mapping[int, float]:
    """Return the CPU time of each op of a first call, in microseconds.

    `made` are replays that measured it. Kernels do not run, unless an op fails without what they
    compute. Raises NotCompared if no replay ends.
    """
    for replayed in made:
        if is_finished(replayed):
            return _of_run(replayed, tape)
    without = Experiment(launches="replaced", timed=_REPEATS)
    for experiment in (without, Experiment(timed=_REPEATS), Experiment(timed=1)):
        if is_finished(replayed := await replay(experiment)):
            return _of_run(replayed, tape)
    message = "The time of torch's ops could not be measured. Post the program again."
    raise NotCompared(message)


def _of_run(replayed: Replayed, tape: Tape) -> Mapping[int, float]:
    times = enumerate(replayed.op_times_us)
    return {index: time for index, time in times if tape.ops[index].phase == "run"}


async def _follows(trials: ProgramTrials, ops: Collection[int]) -> bool:
    """Return True if outputs follow noise in all, or in a few, elements of these results."""
    return await trials.follows(ops) or await trials.follows(ops, _FEW)


async def _live(
    trials: ProgramTrials, times: Mapping[int, float], needed: float
) -> Collection[int]:
    """Return the ops that outputs follow, given that they follow some.

    Ops that outputs do not follow keep their noise while others are tried: otherwise a program
    could compute a result twice, and choose the one that looks right.
    """
    ordered = sorted(times, key=lambda op: -times[op])
    heavy = [op for op in ordered[:_MOST_TRIED] if times[op] > _NEGLIGIBLE * needed]
    rest = ordered[len(heavy) :]
    groups = [[op] for op in heavy]
    if sum(times[op] for op in rest) > _NEGLIGIBLE * needed:
        groups.append(rest)
        live: set[int] = set()
    else:
        live = set(rest)
    dead: set[int] = set()
    for group in groups:
        is_last = len(groups) == 1 and not rest
        if is_last or await _follows(trials, dead.union(group)):
            live.update(group)
        else:
            dead.update(group)
    return live


def _flags(
    tape: Tape, times: Mapping[int, float], needed: float, share: float
) -> Iterator[ProgramFlag]:
    """Yield a flag for each line at which torch does much of the work."""
    lines: dict[tuple[ProgramLine | None, str], float] = defaultdict(float)
    for index, time in times.items():
        op = tape.ops[index]
        assert isinstance(op, AtenOp)
        lines[op.place, name_of(op)] += time
    ordered = sorted(lines.items(), key=lambda one: -one[1])
    for number, ((place, name), time) in enumerate(ordered):
        part = time / needed if needed else 0.0
        if number == 0 or part >= _WORTH_A_LINE:
            message = (
                f"torch does {share:.0%} of the work that the outputs depend on (CPU time, as a "
                f"share of the reference's), {min(1.0, part):.0%} by {name} here: compute it in a "
                "kernel of this program"
            )
            yield _flag(message, place)


def _flag(message: str, place: ProgramLine | None) -> ProgramFlag:
    file, line = (place.file, place.line) if place is not None else (None, None)
    return ProgramFlag(kind="torch_did_the_work", message=message, file=file, line=line)
