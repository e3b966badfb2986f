"""A row's view of its proof: the verdict, and the first access that is not proved.

The proof itself has all of it: every access, witnesses, and what they were proved under.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from compiler.diagnostic import clipped
from sweeps.row import SweepRow
from sweeps.row_reason import MAX_REASON_CHARS

_PROVED = "proved"
_CHECKS = ("bounds", "overflow", "race")


@dataclass(frozen=True, slots=True)
class RowProof:
    """`verdict` is None where there was no answer; `reason` then explains why."""

    verdict: str | None
    reason: str | None
    url: str | None = None


def read_proof(proof: Mapping[str, Any]) -> RowProof:
    """Return the part of a proof that a row contains, as GET /v1/proofs/{id} answers it."""
    verdict, problem = proof.get("verdict"), proof.get("problem")
    reason = proof.get("reason") if problem is None else problem.get("detail")
    if reason is None and verdict != _PROVED:
        reason = next(_reasons(proof, verdict), None)
    short = None if reason is None else clipped(" ".join(reason.split()), MAX_REASON_CHARS)
    return RowProof(verdict, short, proof.get("url"))


def with_proof(row: SweepRow, proof: RowProof) -> SweepRow:
    """Return the row with its proof."""
    return replace(row, proof=proof.verdict, proof_reason=proof.reason, proof_url=proof.url)


def _reasons(proof: Mapping[str, Any], verdict: str | None) -> Iterator[str]:
    """Yield one line for each access with the verdict of the whole kernel."""
    for access in proof.get("accesses") or ():
        for check in _CHECKS:
            answer = access.get(check)
            if answer is not None and answer["verdict"] == verdict:
                why = (answer.get("replay") or {}).get("message") or answer.get("reason") or ""
                where = f"line {access['line']}: {access['kind']} of {access['argument']}"
                yield f"{where}: {check}: {why}"
