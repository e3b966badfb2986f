"""Replays a program that passed on the CPU device, or its reference, with a change.

No tape can foresee the change. The replay then shows what the outputs need. One change is another
configuration of autotuned kernels, as a GPU may choose any: the CPU device runs the first one in
the first call and the last one in the second. The others run here, in replays of the first call.
Those with equal TTIR run once.
"""

import asyncio
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from launch.messages import Finding
from launch.request.verdict import WRONG_CONFIGURATION, RunEnding, Verdict
from programs.program_job import CANDIDATE, REFERENCE
from programs.program_record import ProgramProblem
from programs.replay.replay_order import Experiment
from programs.tape.schema import LaunchVariant, Tape, TapeKernel, TapeLaunch, variants_on_cpu
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.program_attempt import ProgramAttempt
from programs.worker.program_comparison import compare, judged
from programs.worker.program_kernels import ProgramKernels
from programs.worker.program_recordings import ProgramTape, RecordedCase
from programs.worker.replayed import Replayed, ReplayedCall, ReplayedTensor

_SEED_BITS = 48
MAX_REPLAYS = 8
_SHARE = 0.5
"""The part of the remaining time that these replays may take."""
_MAX_WARNINGS = 100
_MAX_SHOWN_CHARS = 200
_NOTHING: Mapping[int, set[int]] = MappingProxyType({})
_UNSAID_OPTIONS = frozenset({"num_ctas"})


@dataclass(frozen=True, slots=True)
class PassedProgram:
    """A program that passed, and its reference, with their kernels and replays."""

    recorded: RecordedCase
    kernels: ProgramKernels
    replayed: Replayed
    reference: ProgramTape
    reference_kernels: ProgramKernels
    expected: Replayed


@dataclass(frozen=True, slots=True)
class ProgramTrials:
    """Replays a program that passed, and its reference, with changes."""

    attempt: ProgramAttempt
    passed: PassedProgram
    tolerances: OutputTolerances

    async def candidate(self, experiment: Experiment) -> Replayed:
        """Replay the program with a change. Raises DeadlinePassed, ZygoteError."""
        passed, program = self.passed, self.passed.recorded.candidate
        inputs = passed.recorded.inputs_of(program)
        return await self.attempt.replay(program, passed.kernels, inputs, CANDIDATE, experiment)

    async def reference(self, experiment: Experiment) -> Replayed:
        """Replay the reference with a change. Raises as `candidate`."""
        passed, program = self.passed, self.passed.reference
        inputs = passed.recorded.inputs_of(program)
        kernels = passed.reference_kernels
        return await self.attempt.replay(program, kernels, inputs, REFERENCE, experiment)

    async def follows(self, noisy: Collection[int], share: float = 1.0) -> bool:
        """Return True if outputs change with noise in these ops' results, or the replay fails."""
        seed = secrets.randbits(_SEED_BITS)
        experiment = Experiment(noise=sorted(noisy), noise_share=share, seed=seed)
        replayed = await self.candidate(experiment)
        if not is_finished(replayed):
            return True
        # in a thread: outputs may be large
        return not await asyncio.to_thread(
            _same_bits, replayed.calls[0], self.passed.replayed.calls[0]
        )

    async def matches(self, replayed: Replayed) -> bool:
        """Return True if the outputs of a changed replay match the reference's."""
        if not is_finished(replayed):
            return False
        pool = self.attempt.context.comparing
        compared = await compare(pool, replayed, self.passed.expected, self.tolerances)
        return bool(compared.matches) and all(compared.matches)


def is_finished(replayed: Replayed) -> bool:
    """Return True if an experiment ran to the end of the first call, without a finding."""
    ended = replayed.ending is RunEnding.FINISHED and replayed.problem is None
    return ended and not replayed.findings and len(replayed.calls) == 1


def _same_bits(first: ReplayedCall, other: ReplayedCall) -> bool:
    return first.keys() == other.keys() and all(
        _octets(item) == _octets(other[path]) for path, item in first.items()
    )


def _octets(item: object) -> bytes | None:
    """Return the elements of a tensor; None for a plain value, which no noise changes."""
    if not isinstance(item, ReplayedTensor) or item.data is None:
        return None
    return bytes(item.data)


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
    tried = TriedConfigurations(problem=every.problem(CANDIDATE))
    if tried.problem is not None:
        return tried
    deadline = trials.attempt.deadline
    enough_s = (1 - _SHARE) * deadline.left_s
    ran, replays = _texts(every, every.numbers), 0
    for numbers in _rounds(every):
        if new := _texts(every, numbers) - ran:
            if replays == MAX_REPLAYS or deadline.left_s < enough_s:
                break
            ran, replays = ran | new, replays + 1
            if await _is_wrong(trials, every, numbers, tried):
                break
        for index, number in numbers.items():
            tried.ran.setdefault(index, set()).add(number)
    return tried


async def _is_wrong(
    trials: ProgramTrials,
    every: ProgramKernels,
    numbers: Mapping[int, int],
    tried: TriedConfigurations,
) -> bool:
    """Replay with these variants, and add what is wrong with them."""
    passed = replace(trials.passed, kernels=every.with_variants(numbers))
    replayed = await replace(trials, passed=passed).candidate(Experiment())
    pool = trials.attempt.context.comparing
    compared = await compare(pool, replayed, trials.passed.expected, trials.tolerances)
    verdict = judged(replayed, trials.passed.expected, compared)
    if replayed.problem is None and verdict is Verdict.PASSED:
        return False
    tried.problem, tried.verdict = replayed.problem, verdict
    tried.findings = list(_findings(every, numbers, replayed))
    return True


def _findings(
    kernels: ProgramKernels, numbers: Mapping[int, int], replayed: Replayed
) -> Iterator[Finding]:
    """Yield the findings of a replay, or one about its outputs, with the configurations."""
    texts = list(dict.fromkeys(_words(kernels, numbers)))
    words = "; ".join(texts[:4])
    for finding in replayed.findings:
        yield replace(finding, message=f"With {words}: {finding.message}")
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
        yield Finding(kind=WRONG_CONFIGURATION, file=kernel.file, line=kernel.line, message=message)


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
    texts = set[tuple[str, str]]()
    for index, number in numbers.items():
        uses = kernels.variants.get(index, ())
        built = kernels.built(uses[number]) if number < len(uses) else None
        if built is not None:
            texts.add((uses[number].kernel, built.ttir))
    return texts


def tuned_warnings(
    tape: Tape, numbers: Mapping[int, int], further: Mapping[int, set[int]] = _NOTHING
) -> list[str]:
    """Return a warning for each autotuned kernel; `numbers` are the variants that ran, by op.

    `further` ones ran in separate replays.
    """
    also: dict[str, set[int]] = {}
    for index, tried in further.items():
        launch = tape.ops[index]
        assert isinstance(launch, TapeLaunch)
        also.setdefault(launch.kernel, set()).update(tried)
    ran: dict[str, dict[int, LaunchVariant]] = {}
    most: dict[str, int] = {}
    for index, number in numbers.items():
        launch = tape.ops[index]
        assert isinstance(launch, TapeLaunch)
        ran.setdefault(launch.kernel, {}).setdefault(number, launch.variants[number])
        most[launch.kernel] = max(len(launch.variants), most.get(launch.kernel, 0))
    names = list(most)[:_MAX_WARNINGS]
    return [
        _tuned_warning(tape.kernels[name], ran[name], also.get(name, set()), most[name])
        for name in names
    ]


def _tuned_warning(
    kernel: TapeKernel, variants: Mapping[int, LaunchVariant], also: set[int], count: int
) -> str:
    message = f"{kernel.name} ({kernel.file}:{kernel.line}) is autotuned: "
    ran = list(variants.values())
    first, last = variant_text(ran[0]), variant_text(ran[-1])
    if len(ran) > 1:
        message += f"the first call ran {first}, the second {last}."
    else:
        message += f"only {first} ran."
    if further := len(also - variants.keys()):
        message += f" Of its other configurations, {further} ran in replays of the first call."
    left = count - len(variants.keys() | also)
    if left <= 0:
        return message
    return (
        f"{message} {left} of its {count} configurations did not run, and a GPU may choose one of "
        "these. To judge one here, list it first in the autotuner's configs."
    )


def variant_text(variant: LaunchVariant) -> str:
    """Return the constants and options of a configuration for a message."""
    members = {**variant.constexprs, **variant.options}
    words = [f"{name}={value}" for name, value in members.items() if name not in _UNSAID_OPTIONS]
    text = ", ".join(words) or "its own"
    return text if len(text) <= _MAX_SHOWN_CHARS else text[: _MAX_SHOWN_CHARS - 3] + "..."
