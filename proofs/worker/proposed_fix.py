"""A proposal of a prover's child, tried: compiled, proved, and its cost in registers."""

import difflib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from compiler.compilation import Compilation, amended
from compiler.job import SOURCE_PATH, CompileJob
from compiler.request.resolution import specialized_job
from launch.proof.proof_messages import AccessReport, ProofReport
from proofs.proof_record import ProofFix

Compile = Callable[[CompileJob], Awaitable[Compilation | None]]
Prove = Callable[[Compilation], Awaitable[ProofReport]]
Count = Callable[[Compilation], Awaitable[dict[str, int] | None]]
"""Returns the instructions of a kernel by class."""
MOST_TRIED = 4
CHECKS = ("bounds", "overflow")
"""The answers that a change may prove, the first refuted one alone."""


@dataclass(frozen=True)
class SourceChange:
    """A changed source, and the access that it is to prove."""

    access: int
    check: str
    source: str


def proposals_of(report: ProofReport) -> Iterator[SourceChange]:
    """Yield the proposals for the first access that leaves its buffer, or whose integers wrap."""
    for number, access in enumerate(report.accesses):
        for check in CHECKS:
            answer = access.answers.get(check)
            if answer is not None and answer.proposals:
                for source in answer.proposals[:MOST_TRIED]:
                    yield SourceChange(number, check, source)
                return


async def tried(
    job: CompileJob, report: ProofReport, compile_: Compile, prove: Prove, count: Count
) -> tuple[SourceChange, ProofFix] | None:
    """Return the first proposal that proves its access, with its patch and cost; None for none."""
    for proposal in proposals_of(report):
        changed = _with(job, source=proposal.source)
        compilation = await compile_(changed)
        if compilation is None:
            continue
        proved = await prove(compilation)
        if proved.refused or not _proves(report.accesses[proposal.access], proved):
            continue
        last = job.target.stages[-1]
        costs = [await compile_(_with(one, stop_after=last)) for one in (job, changed)]
        return proposal, ProofFix(
            patch=_patch(job.source or "", proposal.source),
            verdict="proved",
            target=job.target_name,
            registers=[_registers(one) for one in costs],
            instructions=[None if one is None else await count(one) for one in costs],
        )
    return None


def _with(job: CompileJob, **changes: object) -> CompileJob:
    return specialized_job(amended(job, **changes), job.specialization)


def _proves(access: AccessReport, report: ProofReport) -> bool:
    """Return whether the same access is exact, and in bounds, in the changed kernel."""
    for one in report.accesses:
        if (one.line, one.kind, one.argument) == (access.line, access.kind, access.argument):
            verdicts = {answer.verdict for answer in one.answers.values()}
            return verdicts == {"proved"}
    return False


def _registers(compilation: Compilation | None) -> int | None:
    resources = None if compilation is None else compilation.resources
    return None if resources is None else resources.registers


def _patch(before: str, after: str) -> str:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(old, new, f"a/{SOURCE_PATH}", f"b/{SOURCE_PATH}"))
