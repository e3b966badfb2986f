"""The equalities that the inference of a contract assumed, as a proof lists them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from compiler.compilation import amended
from launch.contract.guesses import equalities_of, guesses_of
from proofs.proof_record import ProofAnswer

_MAX_LISTED: Final = 24
_MAX_NAMED: Final = 3


@dataclass(frozen=True)
class Guess:
    """The statements that every answer rests on, and why none is for all sizes, "" if one may."""

    assumed: tuple[str, ...]
    reason: str

    @classmethod
    def of(cls, contract: str, *, is_inferred: bool) -> Guess:
        """Return the guesses of a contract; of one that was inferred, all its equalities."""
        marked = guesses_of(contract)
        named = ", ".join(marked[:_MAX_NAMED])
        more = f" and {len(marked) - _MAX_NAMED} more" if len(marked) > _MAX_NAMED else ""
        reason = f"proved for {named}{more} only; give cases with other sizes" if marked else ""
        assumed = [*marked, *(equalities_of(contract) if is_inferred else ())]
        return cls(tuple(dict.fromkeys(assumed))[:_MAX_LISTED], reason)

    def applied(self, answer: ProofAnswer) -> ProofAnswer:
        """Return an answer with its statements; proved for one size only is unknown."""
        if answer.verdict != "proved":
            return answer
        under = list(dict.fromkeys([*answer.proved_under, *self.assumed]))
        if not self.reason:
            return amended(answer, proved_under=under)
        return amended(
            answer, verdict="unknown", proved_under=under, reason=self.reason, rechecked=None
        )
