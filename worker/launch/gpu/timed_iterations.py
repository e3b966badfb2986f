"""Compares timed runs that a launcher sent with the reference, each on its own inputs.

A launcher never sees the expected values. The reference computes them here once more, for inputs
that were unknown before the kernel ran.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.compilation import amended
from launch.messages import Finding
from launch.request.bound_arguments import BoundArguments
from launch.request.launch_record import ComparedRepeat
from worker.launch.comparison import Actual, Compared
from worker.launch.gpu.iteration_findings import NONDETERMINISTIC, of_left_out, of_mismatch
from worker.launch.reference import Expected
from worker.launch.run import RunResult, SentIteration

Seeds = Mapping[str, int]
"""Seeds of random inputs, by argument."""
Expect = Callable[[Seeds], Awaitable[Expected | None]]
"""Asks for what the outputs should be on inputs of other seeds; of none: on the launch's own."""
Compare = Callable[[Actual, Expected], Awaitable[Compared]]


@dataclass(slots=True)
class JudgedRepeats:
    """The result of comparing repeats: `matches` has an entry for each compared output."""

    compared: list[ComparedRepeat] = field(default_factory=list)
    matches: list[bool] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    reference_failed: bool = False


async def judge_iterations(
    sent: Sequence[SentIteration], expect: Expect, compare: Compare, *, is_changed: bool
) -> JudgedRepeats:
    """Compare what was sent, one after the other, until one does not match.

    `is_changed`: whether global variables of the module changed while it ran. Raises DeadlinePassed
    and NotCompared.
    """
    judged = JudgedRepeats()
    for iteration in sent:
        if judged.findings:
            break
        await _judge(iteration, expect, compare, judged, is_changed=is_changed)
    return judged


async def _judge(
    sent: SentIteration,
    expect: Expect,
    compare: Compare,
    judged: JudgedRepeats,
    *,
    is_changed: bool,
) -> None:
    iteration = sent.iteration
    expected = await expect(iteration.seeds)
    if expected is None:
        if iteration.left_bytes and iteration.differing_bytes:  # values may decide what is written
            judged.findings.append(of_left_out(iteration))
        return
    if expected.failure is not None:
        judged.reference_failed = True
        judged.findings.append(replace(expected.failure, seeds=dict(iteration.seeds) or None))
        return
    compared = await compare(Actual(sent.outputs, sent.unwritten), expected)
    matches = all(compared.matches) if compared.matches else None
    judged.compared.append(
        ComparedRepeat(repeat=iteration.repeat, seeds=dict(iteration.seeds), matches=matches)
    )
    judged.matches += compared.matches
    output_bytes = sum(map(len, sent.outputs.values()))
    finding = of_mismatch(iteration, compared.outputs, output_bytes, is_changed=is_changed)
    if finding is not None:
        judged.findings.append(finding)


def add_iterations(result: RunResult, judged: JudgedRepeats) -> None:
    """Add to a result what comparing its repeats showed: more than the finding that they differ."""
    if judged.findings:
        result.findings = [
            finding for finding in result.findings if finding.kind != NONDETERMINISTIC
        ]
        result.findings += judged.findings
    if result.timing is not None and judged.compared:
        result.timing = amended(result.timing, compared_repeats=judged.compared)


def on_seeds(bound: BoundArguments, seeds: Mapping[str, int]) -> BoundArguments:
    """Return the same arguments with random inputs of other seeds."""
    if not seeds:
        return bound
    allocations = [
        amended(allocation, init=allocation.init | {"seed": seeds[allocation.name]})
        if allocation.init is not None and allocation.name in seeds
        else allocation
        for allocation in bound.allocations
    ]
    return amended(bound, allocations=allocations)
