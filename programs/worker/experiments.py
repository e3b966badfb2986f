"""Makes experiments on a program that passed on the CPU device: how much of its work torch does.

Each is a replay of a tape with a change that no tape can foresee. Only programs that otherwise pass
pay for them. A part of a program is torch's if outputs follow noise in its results. It is weighed
by its CPU time, compared with that of the reference's ops.
"""

from asyncio import to_thread
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from math import prod

from jobs.deadline import DeadlinePassed
from programs.flag_kinds import FlagKind
from programs.program_record import EntryTime, ProgramFlag
from programs.replay.replay_order import Experiment
from programs.tape.flow import flow_of
from programs.tape.kernel_effects import KernelEffects
from programs.tape.overload_effects import draws, kind_of, makes_views, name_of
from programs.tape.schema import AtenOp, Op, ProgramLine, Tape, TapeLaunch, TensorMeta, tensors_of
from programs.worker.program_outcome import ExperimentResults
from programs.worker.program_trials import ProgramTrials, is_finished
from programs.worker.replayed import Replayed
from programs.worker.value_trial import ValueTrial
from worker.launch.comparison import NotCompared

MAX_BY_TORCH = 0.25
"""The share of the reference's CPU time that torch may take without a flag."""
_NEGLIGIBLE = 0.02
"""The share of an op that counts without its own experiment."""
_WORTH_A_LINE = 0.1
"""The least share of the work of a line that is named, unless it is the largest."""
_MAX_TRIED = 16
"""Limit of ops that are tried one by one."""
_FEW = 1e-4
"""The share of elements that get noise, so that a kernel which looks at some sees none."""
_REPEATS = 3
_SHORT_US = 60.0
"""The CPU time of ops that are measured in two replays, as other work on the machine disturbs one.
"""
_ENTRY_BYTES = 256
"""The size of a known time, with its key."""
_MIN_US = 12.0
"""The least CPU time that shares are measured by; less is within the error of the measurement."""
_FREE_KINDS = frozenset({"uninitialized", "constant"})
Copy = tuple[int, int, int]
"""A launch, a tensor that it writes, and one of as many elements that it reads."""
_Made = tuple[Experiment, Replayed]
"""An experiment, and its replay."""
_Replay = Callable[[Experiment], Awaitable[Replayed]]
MAX_CHOICES = 3
_MIN_PREPARED_SHARE = 0.05
"""The least share of the reference's call that is reported."""
_MIN_PREPARED_US = 8.0
_TIMED = Experiment(launches="replaced", timed=_REPEATS)


async def make_experiments(trials: ProgramTrials) -> ExperimentResults:
    """Return what those experiments show that end in time. Raises ZygoteError, NotCompared."""
    flags: list[ProgramFlag] = []
    coverage: float | None = None
    try:
        others = await ValueTrial.of(trials)
        torch = await torch_share(trials, others)
        flags, coverage = [*torch.flags], 1 - torch.share
        flags += await others.flags()
        flags += await prepared_work(trials)
    except DeadlinePassed:
        return ExperimentResults(flags, coverage, is_complete=False)
    return ExperimentResults(flags, coverage)


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
        by_op = {op: times[op] for op in ops}
        return TorchShare(1.0, list(_flags(tape, by_op, sum(times.values()), 1.0)))
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
) -> tuple[Sequence[_Made], str | None]:
    """Return replays without kernels, the most natural first, and a reason to need none.

    All of them measure the time of ops. A kernel is needed if outputs of other values follow it:
    with its weights, a fresh batch norm is not a copy.
    """
    kernels, replays = trials.passed.kernels, list[_Made]()
    choices = [*launch_copies(kernels.tape, kernels.effects()), ()]
    for copies in choices:
        experiment = Experiment(launches="replaced", copies=copies, timed=_REPEATS)
        replayed = await trials.candidate(experiment)
        replays.append((experiment, replayed))
        if await trials.matches(replayed) and not await others.follow(experiment):
            return replays, "are replaced by copies of their inputs" if copies else "are left out"
    return replays, None


async def _measured(
    trials: ProgramTrials, ops: Sequence[int], replacing: Sequence[_Made]
) -> TorchShare:
    tape = trials.passed.kernels.tape
    measured = await _times(trials.candidate, tape, replacing)
    times = {op: measured[op] for op in ops}
    total = sum(times.values())
    if not total:
        return TorchShare(0.0)
    needed = max(_MIN_US, await _reference_us(trials))
    if total <= MAX_BY_TORCH * needed:
        return TorchShare(total / needed)
    if not await _follows(trials, ops):
        return TorchShare(0.0)
    live = await _live(trials, times, needed)
    live_times = {op: times[op] for op in live}
    share = min(1.0, sum(live_times.values()) / needed)
    if share <= MAX_BY_TORCH:
        return TorchShare(share)
    return TorchShare(share, list(_flags(tape, live_times, needed, share)))


async def _reference_us(trials: ProgramTrials) -> float:
    """Return the CPU time of the reference's ops, measured once for many candidates."""
    attempt, program = trials.attempt, trials.passed.reference
    known = attempt.context.reference_us
    # in a thread: the tape may be long
    digest = await to_thread(lambda: sha256(program.text).hexdigest())
    key = f"{attempt.job.namespace}/{digest}"
    total_us = known.get(key)
    if total_us is None:
        times = await _times(trials.reference, program.tape, [])
        total_us = sum(times.values())
        known.put(key, total_us, _ENTRY_BYTES)
    return total_us


async def _times(replay: _Replay, tape: Tape, made: Sequence[_Made]) -> Mapping[int, float]:
    """Return the CPU time of each op of a first call, in microseconds.

    `made` are replays that measured it. Kernels do not run, unless an op fails without what they
    compute. Raises NotCompared if no replay ends.
    """
    for done in made:
        if is_finished(done[1]):
            return await _least(replay, tape, done)
    without = Experiment(launches="replaced", timed=_REPEATS)
    for experiment in (without, Experiment(timed=_REPEATS), Experiment(timed=1)):
        if is_finished(replayed := await replay(experiment)):
            return await _least(replay, tape, (experiment, replayed))
    message = "The time of torch's ops could not be measured. Post the program again."
    raise NotCompared(message)


async def _least(replay: _Replay, tape: Tape, made: _Made) -> Mapping[int, float]:
    """Return the times of a replay; short ones are the least of two replays, op by op."""
    experiment, replayed = made
    times = _of_run(replayed, tape)
    if not 0 < sum(times.values()) < _SHORT_US:
        return times
    again = await replay(experiment)
    if not is_finished(again):
        return times
    other = _of_run(again, tape)
    return {index: min(us, other[index]) for index, us in times.items()}


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
    heavy = [op for op in ordered[:_MAX_TRIED] if times[op] > _NEGLIGIBLE * needed]
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
    ordered = sorted(lines.items(), key=lambda line: -line[1])
    for number, ((place, name), time) in enumerate(ordered):
        part = time / needed if needed else 0.0
        if number == 0 or part >= _WORTH_A_LINE:
            message = (
                f"torch does {share:.0%} of the work that the outputs depend on (CPU time, as a "
                f"share of the reference's), {min(1.0, part):.0%} by {name} here: compute it in a "
                "kernel of this program"
            )
            yield _flag(message, place)


def _flag(
    message: str, place: ProgramLine | None, kind: FlagKind = "torch_did_the_work"
) -> ProgramFlag:
    file, line = (place.file, place.line) if place is not None else (None, None)
    return ProgramFlag(kind=kind, message=message, file=file, line=line)


def flags_by_time(
    tape: Tape, entries: Sequence[EntryTime], reference_us: float
) -> list[ProgramFlag]:
    """Return a flag for torch's share of the time on a GPU, where no experiment could be made.

    Nothing shows then that outputs do not depend on what torch computes. It names the op that
    takes longest; `entries` have the longest first.
    """
    computing = [entry for entry in entries if _computes(tape.ops[entry.op])]
    share = sum(entry.us for entry in computing) / reference_us if reference_us > 0 else 0.0
    if share <= MAX_BY_TORCH:
        return []
    message = (
        f"torch's ops take {share:.0%} of the reference's time on the GPU, and no experiment shows "
        f"that outputs do not depend on them: compute {computing[0].name} in a kernel of this "
        "program"
    )
    return [_flag(message, tape.ops[computing[0].op].place)]


def _computes(op: Op) -> bool:
    return isinstance(op, AtenOp) and not makes_views(op) and kind_of(op) not in _FREE_KINDS


def noisable_ops(tape: Tape) -> Sequence[int]:
    """Return the indices of the first call's ops that compute, copy or draw.

    Views make nothing, and fresh memory and constants hold nothing that torch worked for.
    """
    return [index for index, op in enumerate(tape.ops) if op.phase == "run" and _computes(op)]


def launch_copies(tape: Tape, effects: dict[str, KernelEffects | None]) -> Sequence[Sequence[Copy]]:
    """Return up to `MAX_CHOICES` ways to replace all launches of the first call by copies.

    Where several tensors could be copied, each choice takes another one. A launch without any is
    left out. No choices: no launch reads a tensor that could be copied.
    """
    copied = [
        (index, target, sources)
        for index, op in enumerate(tape.ops)
        if isinstance(op, TapeLaunch) and op.phase == "run" and 0 not in op.grid
        for target, sources in _sources(op, effects.get(op.kernel), tape)
    ]
    choices = min(MAX_CHOICES, max((len(sources) for _, _, sources in copied), default=0))
    return [
        [(index, target, sources[choice % len(sources)]) for index, target, sources in copied]
        for choice in range(choices)
    ]


def _sources(
    launch: TapeLaunch, effects: KernelEffects | None, tape: Tape
) -> Sequence[tuple[int, Sequence[int]]]:
    """Return the tensors that a launch writes, each with those that could be copied into it."""
    if effects is None:
        return []
    written, read = (
        dict.fromkeys(id_ for name in names for id_ in tensors_of(launch.args.get(name)))
        for names in (sorted(effects.writes), sorted(effects.reads))
    )
    by_target: dict[int, list[int]] = {}
    for target, source in product(written, read):
        written_meta, other = tape.tensors[target], tape.tensors[source]
        if target != source and _likeness(written_meta, other):
            by_target.setdefault(target, []).append(source)
    return [
        (
            target,
            sorted(
                sources, key=lambda source: -_likeness(tape.tensors[target], tape.tensors[source])
            ),
        )
        for target, sources in by_target.items()
    ]


def _likeness(target: TensorMeta, other: TensorMeta) -> int:
    """Return 0 if a copy is impossible, and more for the more alike tensors."""
    if prod(target.shape) != prod(other.shape):
        return 0
    return 1 + (target.shape == other.shape) + 2 * (target.dtype == other.dtype)


async def prepared_work(trials: ProgramTrials) -> list[ProgramFlag]:
    """Return the flag of a program that prepares much. Raises DeadlinePassed, ZygoteError."""
    tape, reference = trials.passed.recorded.candidate.tape, trials.passed.reference.tape
    known = Counter(name_of(op) for _, op in _prepared(reference))
    # in a thread: the tape may be long
    flow = await to_thread(flow_of, tape, trials.passed.kernels.effects())
    more = list(_beyond(tape, known, flow.live))
    if not more:
        return []
    ours, theirs = await trials.candidate(_TIMED), await trials.reference(_TIMED)
    if not (is_finished(ours) and is_finished(theirs)):
        return []
    times = {index: ours.op_times_us[index] for index in more}
    calls = zip(reference.ops, theirs.op_times_us, strict=True)
    needed = max(_MIN_PREPARED_US, sum(time for op, time in calls if op.phase == "run"))
    share = sum(times.values()) / needed
    if share < _MIN_PREPARED_SHARE or not await trials.follows(more):
        return []
    most = tape.ops[max(times, key=lambda index: times[index])]
    assert isinstance(most, AtenOp)
    message = (
        "Outputs depend on what torch computes before the call, beyond what the reference does "
        f"there. This takes {share:.0%} of the CPU time of the reference's call, most of it by "
        f"{name_of(most)} here."
    )
    return [_flag(message, most.place, "prepared_work")]


def _prepared(tape: Tape) -> Iterator[tuple[int, AtenOp]]:
    """Yield the ops of `init` that compute or copy."""
    for index, op in enumerate(tape.ops):
        if op.phase != "init":
            return
        if isinstance(op, AtenOp) and _computes(op) and not draws(op):
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
