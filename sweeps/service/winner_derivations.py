"""Derivations for the winners of a sweep: exports of their compilations, files of autotuners.

Each is a derivation like any other, made once and kept; here many are asked for at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from compiler.autotune import TunedResults
from compiler.compilation import Compilation
from compiler.derivation import Derivation
from service.compilations.bundle import AT_ONCE, Refusal, outcome_of
from service.compilations.derivations import DerivationRequest, read_finished, tuned
from service.gather_limited import gather_limited
from service.http.problems import ProblemRaised
from service.state import ServiceState
from store.stored import read_stored
from sweeps.search.winning import Winner
from sweeps.service.find_sweep import FoundSweep
from sweeps.winners.tuned_results import tuned_results
from sweeps.winners.winner import UsableWinner, usable_winner


@dataclass(frozen=True, slots=True)
class CompiledWinner:
    """A winner with the record of its compilation."""

    winner: UsableWinner
    compilation: Compilation

    @property
    def name(self) -> str:
        """The difference from the other winners, for messages."""
        size = self.winner.problem_size
        return f"{'the one size' if size is None else size} on {self.winner.target}"


@dataclass(frozen=True, slots=True)
class CacheFile:
    """A file of Triton's autotuner, and the folder of Triton's cache that it is looked for in."""

    folder: str
    file: str
    text: str

    @property
    def path(self) -> str:
        """Where it belongs in the cache."""
        return f"{self.folder}/{self.file}"

    @property
    def chosen(self) -> Any:
        """The configuration that Triton chooses: the first has the least time."""
        return orjson.loads(self.text)["configs_timings"][0][0]


async def compiled_winners(asked: DerivationRequest, sweep: FoundSweep) -> list[CompiledWinner]:
    """Return the winners of a finished sweep.

    Raises ProblemRaised: 404 (`no_winner`) saying why there is none, 410 for an evicted one.
    """
    winners = [item for item in sweep.end.winners if item.variant is not None]
    if not winners:
        raise ProblemRaised("no_winner", _why_none(sweep))

    async def read(stored: Winner) -> CompiledWinner:
        assert stored.compilation_key is not None
        compilation = await read_finished(asked.state, asked.caller, stored.compilation_key)
        winner = usable_winner(stored.model_dump(mode="json"), compilation.key, compilation.options)
        return CompiledWinner(winner, compilation)

    return await gather_limited(AT_ONCE, winners, read)


def _why_none(sweep: FoundSweep) -> str:
    if sweep.plan.kind == "compilations":
        return (
            "A sweep over compilations measures no times, so nothing can win; sweep over launches "
            "on a GPU. All that was compiled is in winners/bundle?of=all"
        )
    notes = [item.note for item in sweep.end.winners if item.note]
    why = "; ".join(dict.fromkeys(notes)) or sweep.end.note
    if not why and sweep.job.search is None:
        why = "it was asked for without a `search`"
    elif not why and sweep.end.state != "completed":
        why = f"it was {sweep.end.state} before one was known"
    return f"The sweep has no winner: {why or 'no variant was timed'}"


async def cache_files(
    asked: DerivationRequest, sweep: FoundSweep, winners: Sequence[CompiledWinner]
) -> list[CacheFile | Refusal | None]:
    """Return the file of Triton's autotuner for each winner; None for one not there in time."""

    async def cache_file(item: CompiledWinner) -> CacheFile | Refusal | None:
        results: TunedResults = await asked.state.threads.run(
            tuned_results, sweep.plan, sweep.rows, item.winner
        )
        outcome = await outcome_of(asked, lambda again: tuned(again, item.compilation, results))
        if not isinstance(outcome, Derivation):
            return outcome
        return read_stored(CacheFile, await blob(asked.state, outcome))

    return await gather_limited(AT_ONCE, winners, cache_file)


def sorted_out(
    winners: Sequence[CompiledWinner], files: Sequence[CacheFile | Refusal]
) -> tuple[dict[str, CacheFile], list[tuple[CompiledWinner, Refusal]]]:
    """Return the files by path, and the winners that have none, or have one with another winner."""
    kept: dict[str, tuple[CompiledWinner, CacheFile]] = {}
    without = []
    for item, file in zip(winners, files, strict=True):
        if isinstance(file, Refusal):
            without.append((item, file))
            continue
        other, first = kept.setdefault(file.path, (item, file))
        if first.chosen != file.chosen:
            detail = (
                f"{item.name} and {other.name} have one tuning key, for which Triton keeps one "
                "configuration, and different winners. Add what tells them apart to the `key` of "
                "@triton.autotune"
            )
            without.append((item, Refusal("not_derivable", detail)))
    return {path: file for path, (_, file) in kept.items()}, without


async def blob(state: ServiceState, made: Derivation) -> bytes:
    """Return what was derived. Raises ProblemRaised (410) when it has left the cache."""
    data = await state.blobs.get(made.digest or "")
    if data is None:
        detail = f"What was derived ({made.what}) has left the cache; ask again"
        raise ProblemRaised("evicted", detail)
    return data
