"""A proposal of a prover's child, tried: compiled, proved, run, and its cost in registers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from compiler.compilation import Compilation, Record, amended
from compiler.job import SOURCE_PATH, CompileJob
from compiler.request.resolution import specialized_job
from launch.proof.proof_messages import ProofReport
from proofs.proof_record import ProofFix

Compile = Callable[[CompileJob], Awaitable[Compilation | None]]
Prove = Callable[[Compilation], Awaitable[ProofReport | None]]
"""Returns the report of a kernel, None where there is none."""
Keep = Callable[[Compilation, "SourceChange"], Awaitable[bool]]
"""Returns whether a changed kernel stores what the first one does, wherever that is defined."""
Count = Callable[[Compilation], Awaitable[dict[str, int] | None]]
"""Returns the instructions of a kernel by class."""
MAX_TRIED = 6
_CONTEXT = 3
"""Equal lines around a change."""
_NO_NEWLINE = "\n\\ No newline at end of file\n"
CHECKS = ("bounds", "overflow")
"""The answers that a change may prove, the first refuted one alone."""


class TriedFix(Record):
    """The end of trying: a change that proves the answer to one check of an access, or none."""

    access: int = 0
    check: str = ""
    fix: ProofFix | None = None


@dataclass(frozen=True)
class SourceChange:
    """A changed source, and the access that it is to prove."""

    access: int
    check: str
    source: str


def proposals_of(report: ProofReport) -> list[SourceChange]:
    """Return the proposals for the first access that leaves its buffer, or whose integers wrap."""
    for number, access in enumerate(report.accesses):
        for check in CHECKS:
            answer = access.answers.get(check)
            if answer is not None and answer.proposals:
                sources = answer.proposals[:MAX_TRIED]
                return [SourceChange(number, check, source) for source in sources]
    return []


async def tried(
    job: CompileJob, report: ProofReport, compile_: Compile, prove: Prove, keep: Keep, count: Count
) -> TriedFix:
    """Return the first proposal that proves its access and keeps the meaning, with its cost."""
    for proposal in proposals_of(report):
        changed = _with(job, source=proposal.source)
        compilation = await compile_(changed)
        # runs first: one of them shows at once that a change loses the meaning
        if compilation is None or not await keep(compilation, proposal):
            continue
        proved = await prove(compilation)
        if proved is None or not proves(report, proved, proposal.access):
            continue
        last = job.target.stages[-1]
        costs = [await compile_(_with(version, stop_after=last)) for version in (job, changed)]
        fix = ProofFix(
            patch=patch_of(job.source or "", proposal.source),
            verdict="proved",
            target=job.target_name,
            registers=[_registers(cost) for cost in costs],
            instructions=[None if cost is None else await count(cost) for cost in costs],
        )
        return TriedFix(access=proposal.access, check=proposal.check, fix=fix)
    return TriedFix()


def _with(job: CompileJob, **changes: object) -> CompileJob:
    return specialized_job(amended(job, **changes), job.specialization)


def proves(before: ProofReport, after: ProofReport, number: int) -> bool:
    """Return whether an access is proved in a changed kernel, and no other answer is worse.

    A change adds no access, so its number separates an access from others of its line.
    """
    pairs = list(zip(before.accesses, after.accesses, strict=False))
    if after.refused or len(before.accesses) != len(after.accesses):
        return False
    if any(
        (access.kind, access.argument) != (other.kind, other.argument) for access, other in pairs
    ):
        return False
    if any(answer.verdict != "proved" for answer in pairs[number][1].answers.values()):
        return False
    return all(
        other.answers[check].verdict == "proved"
        for access, other in pairs
        for check, answer in access.answers.items()
        if answer.verdict == "proved"
    )


def _registers(compilation: Compilation | None) -> int | None:
    resources = None if compilation is None else compilation.resources
    return None if resources is None else resources.registers


def patch_of(before: str, after: str) -> str:
    """Return a change as a unified diff, in time that grows with the length only.

    A change of one place, or of lines that keep their number.
    """
    old, new = _lines(before), _lines(after)
    shorter = min(len(old), len(new))
    first = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = range(shorter - first)
    same = next((at for at in rest if old[-1 - at] != new[-1 - at]), len(rest))
    places = [(first, len(old) - same)]
    if len(old) == len(new):
        places = [(at, at + 1) for at in range(first, len(old) - same) if old[at] != new[at]]
    grown = len(new) - len(old)
    hunks = "".join(_hunk(old, new, grown, group) for group in _grouped(places))
    return f"--- a/{SOURCE_PATH}\n+++ b/{SOURCE_PATH}\n{hunks}"


def _grouped(places: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return places with those together whose equal lines around them meet."""
    groups: list[list[tuple[int, int]]] = []
    for place in places:
        if groups and place[0] - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _hunk(old: list[str], new: list[str], grown: int, places: list[tuple[int, int]]) -> str:
    """Return the part of a patch that changes places; the last of them grows by some lines."""
    start, end = max(0, places[0][0] - _CONTEXT), min(len(old), places[-1][1] + _CONTEXT)
    hunk, at = [], start
    for first, last in places:
        hunk += [f" {line}" for line in old[at:first]]
        hunk += [f"-{line}" for line in old[first:last]]
        hunk += [f"+{line}" for line in new[first : last + grown]]
        at = last
    hunk += [f" {line}" for line in old[at:end]]
    sizes = [f"{start + 1},{end - start + more}" for more in (0, grown)]
    text = "".join(line if line.endswith("\n") else f"{line}{_NO_NEWLINE}" for line in hunk)
    return f"@@ -{sizes[0]} +{sizes[1]} @@\n{text}"


def _lines(text: str) -> list[str]:
    """Return the lines with their ends. Only a line feed ends one, as in patches."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]
