"""The finding `not_proved`: a launch asked for a proof, and there is none. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from launch.messages import Finding

KIND = "not_proved"
_RANKS = ("refuted", "possible", "unknown")


def of_proof(proof: Mapping[str, Any]) -> Finding | None:
    """Return the finding of a `proof`, as the launch answers it, at its worst access.

    None if the proof holds.
    """
    verdict = proof.get("verdict")
    if verdict == "proved":
        return None
    message = f"The proof that `checks` asks for is {verdict or 'missing'}, not proved"
    worst = min(_unproved(proof), key=lambda found: _RANKS.index(found[0]), default=None)
    if worst is None:
        reason = proof.get("reason") or (proof.get("problem") or {}).get("detail")
        return Finding(kind=KIND, message=f"{message}: {reason}" if reason else f"{message}.")
    _, question, answer, access = worst
    why = f": {answer['reason']}" if answer.get("reason") else "."
    return Finding(
        kind=KIND,
        argument=access.get("argument"),
        file=access.get("file"),
        line=access.get("line"),
        column=access.get("column"),
        message=f"{message}. The {question} of this {access.get('kind')}: {answer['verdict']}{why}",
    )


def _unproved(
    proof: Mapping[str, Any],
) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield verdict, question, answer and access where the verdict is not `proved`."""
    for access in proof.get("accesses") or ():
        for question in ("bounds", "overflow", "race"):
            answer = access.get(question)
            if answer is not None and answer["verdict"] in _RANKS:
                yield answer["verdict"], question, answer, access
