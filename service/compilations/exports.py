"""Exports of many compilations for Triton's cache, for bundles.

Each is a derivation like any other: made once and kept. A bundle asks for many at once.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from compiler.compilation import Compilation
from compiler.derivation import Derivation
from service.compilations.derivations import DerivationRequest, Found, derived
from service.gather_limited import gather_limited
from service.http.problems import ProblemRaised

AT_ONCE = 16
TRITON_CACHE = "exports/triton-cache"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something cannot be derived."""

    slug: str
    detail: str


async def exports(
    asked: DerivationRequest, compilations: Sequence[Compilation]
) -> list[Derivation | Refusal | None]:
    """Return the export for Triton's cache of each; None for one that is not there in time."""

    async def one(compilation: Compilation) -> Derivation | Refusal | None:
        return await outcome_of(asked, lambda again: derived(again, compilation, TRITON_CACHE))

    return await gather_limited(AT_ONCE, compilations, one)


async def outcome_of(
    asked: DerivationRequest, find: Callable[[DerivationRequest], Awaitable[Found]]
) -> Derivation | Refusal | None:
    """Return what `find` derives, made again once if it was evicted; None: not there in time."""
    for refresh in (False, True):
        try:
            outcome = (await find(replace(asked, refresh=refresh))).outcome
        except ProblemRaised as raised:  # 404: the compilation lacks what is needed; 410: is gone
            return Refusal(raised.slug, str(raised))
        if outcome is None or outcome.problem is None:
            there = outcome is None or await asked.state.blobs.exists(outcome.digest or "")
            if there:
                return outcome
        elif outcome.problem.slug != "evicted":
            return Refusal(outcome.problem.slug, outcome.problem.detail)
    return Refusal("evicted", "An artifact of the compilation has left the cache; compile it again")
