"""Runs each configuration of autotuned kernels once, as a GPU may choose any of them.

The CPU device runs the first one in the first call and the last one in the second. The others run
here, in replays of the first call of a program that passed. Those with equal TTIR run once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from launch.messages import Finding
from launch.request.verdict import Verdict
from programs.program_job import CANDIDATE
from programs.program_record import ProgramProblem
from programs.replay.replay_order import Experiment
from programs.tape.schema import TapeLaunch, variants_on_cpu
from programs.worker.program_comparison import compare, judged
from programs.worker.program_kernels import ProgramKernels
from programs.worker.program_trials import ProgramTrials
from programs.worker.replayed import Replayed
from programs.worker.tuned_kernels import variant_text

MOST_REPLAYS = 8
_SHARE = 0.5
"""The part of the remaining time that these replays may take."""


@dataclass(slots=True)
class TriedConfigurations:
    """The result: a verdict other than None, or a problem, if a configuration is wrong."""

    verdict: Verdict | None = None
    findings: list[Finding] = field(default_factory=list)
    problem: ProgramProblem | None = None
    ran: dict[int, set[int]] = field(default_factory=dict)
    """The variants that ran here, or are like one that ran, by the index of their launch."""


def has_further(kernels: ProgramKernels) -> bool:
    """Return True if an autotuned launch has configurations that neither call runs."""
    return any(len(op.variants) > 2 for _, op in _tuned(kernels))


async def try_configurations(trials: ProgramTrials, every: ProgramKernels) -> TriedConfigurations:
    """Replay the program with further configurations; `every` has all of them, compiled.

    Raises DeadlinePassed, ZygoteError, NotCompared.
    """
    found = TriedConfigurations(problem=every.problem(CANDIDATE))
    if found.problem is not None:
        return found
    deadline = trials.attempt.deadline
    enough_s = (1 - _SHARE) * deadline.left_s
    ran, replays = _texts(every, every.numbers), 0
    for numbers in _rounds(every):
        if new := _texts(every, numbers) - ran:
            if replays == MOST_REPLAYS or deadline.left_s < enough_s:
                break
            ran, replays = ran | new, replays + 1
            if await _is_wrong(trials, every, numbers, found):
                break
        for index, number in numbers.items():
            found.ran.setdefault(index, set()).add(number)
    return found


async def _is_wrong(
    trials: ProgramTrials,
    every: ProgramKernels,
    numbers: Mapping[int, int],
    found: TriedConfigurations,
) -> bool:
    """Replay with these variants, and add what is wrong with them."""
    passed = replace(trials.passed, kernels=every.with_variants(numbers))
    replayed = await replace(trials, passed=passed).candidate(Experiment())
    pool = trials.attempt.context.comparing
    compared = await compare(pool, replayed, trials.passed.expected, trials.tolerances)
    verdict = judged(replayed, trials.passed.expected, compared)
    if replayed.problem is None and verdict is Verdict.PASSED:
        return False
    found.problem, found.verdict = replayed.problem, verdict
    found.findings = list(_findings(every, numbers, replayed))
    return True


def _findings(
    kernels: ProgramKernels, numbers: Mapping[int, int], replayed: Replayed
) -> Iterator[Finding]:
    """Yield the findings of a replay, or one about its outputs, with the configurations."""
    texts = list(dict.fromkeys(_words(kernels, numbers)))
    words = "; ".join(texts[:4])
    for one in replayed.findings:
        yield replace(one, message=f"With {words}: {one.message}")
    if not replayed.findings:
        index = next(iter(numbers))
        op = kernels.tape.ops[index]
        assert isinstance(op, TapeLaunch)
        kernel = kernels.tape.kernels[op.kernel]
        message = (
            f"With {words}, the outputs do not match the reference, and with other configurations "
            "they do. On a GPU, the autotuner may choose any of them. Correct the kernel for this "
            "one, or remove it."
        )
        yield Finding(
            kind="wrong_configuration", file=kernel.file, line=kernel.line, message=message
        )


def _words(kernels: ProgramKernels, numbers: Mapping[int, int]) -> Iterator[str]:
    for index, number in numbers.items():
        op = kernels.tape.ops[index]
        assert isinstance(op, TapeLaunch)
        yield f"{variant_text(op.variants[number])} of {kernels.tape.kernels[op.kernel].name}"


def _rounds(kernels: ProgramKernels) -> Iterator[dict[int, int]]:
    """Yield numbers of variants, by launch of the first call, until each had its turn."""
    ready = {
        index: variants_on_cpu(op, kernels.numbers_left_out(index))
        for index, op in _tuned(kernels)
        if op.phase != "run2"
    }
    ready = {index: numbers for index, numbers in ready.items() if len(numbers) > 1}
    for place in range(1, max(map(len, ready.values()), default=0)):
        yield {index: numbers[min(place, len(numbers) - 1)] for index, numbers in ready.items()}


def _tuned(kernels: ProgramKernels) -> Iterator[tuple[int, TapeLaunch]]:
    for index, op in enumerate(kernels.tape.ops):
        if isinstance(op, TapeLaunch) and len(op.variants) > 1:
            yield index, op


def _texts(kernels: ProgramKernels, numbers: Mapping[int, int]) -> set[tuple[str, str]]:
    """Return the kernels and their TTIR that run with these variants."""
    found = set[tuple[str, str]]()
    for index, number in numbers.items():
        uses = kernels.variants.get(index, ())
        built = kernels.built(uses[number]) if number < len(uses) else None
        if built is not None:
            found.add((uses[number].kernel, built.ttir))
    return found
