"""The rows of a search: each as its variant stands now, written anew where that has changed."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from compiler.compilation import Compilation
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import Launch
from sweeps.built_row import compiled_row, launched_row
from sweeps.row import SweepRow
from sweeps.search.variant_search import VariantSearch
from sweeps.variant import Variant
from sweeps.worker.instruction_mixes import with_mix
from sweeps.worker.row_proofs import RowProofs
from sweeps.worker.sweep_run import SweepRun

NOT_RUN: Final = "pruned"


class SearchRows:
    """The rows of one search. Indices are those of the sweep's plan."""

    def __init__(self, run: SweepRun, search: VariantSearch) -> None:
        self._run = run
        self._search = search
        self._bare: dict[int, SweepRow] = {}
        self._further: dict[int, SweepRow] = {}
        self._proofs = RowProofs(run)
        self._launched: dict[str, SweepRow] = {}
        self._written: dict[int, SweepRow] = {}

    def built(self, variant: Variant, made: Compilation, cache: str) -> None:
        """Take note of what a variant compiles to, in whatever state that is."""
        self._bare[variant.index] = compiled_row(variant, made, cache)

    async def complete(self, index: int, made: Compilation, launch: LaunchJob) -> None:
        """Find out the instruction mix and the proof of a variant, where the sweep wants them.

        Raises AttemptRevoked, StoreUnavailable.
        """
        row = await with_mix(self._run, self._bare[index], made)
        self._further[index] = await self._proofs.proved(row, launch)

    def launched(self, index: int, launch: Launch) -> None:
        """Take note of a launch of a variant that was built."""
        self._launched[launch.id] = launched_row(self._bare[index], launch)

    async def refuse(self, row: SweepRow) -> None:
        """Write the row of a variant that cannot be compiled at all."""
        self._bare[row.index] = row
        await self.write([row.index])

    async def write(self, indices: Iterable[int]) -> None:
        """Write the rows that changed. Raises AttemptRevoked, StoreUnavailable."""
        rows = (self._row(index) for index in indices)
        changed = [row for row in rows if row != self._written.get(row.index)]
        if changed:
            await self._run.write(changed)
        self._written.update({row.index: row for row in changed})

    def _row(self, index: int) -> SweepRow:
        row, known = self._as_it_stands(index), self._further.get(index)
        if known is None:
            return row
        return replace(
            row,
            instruction_mix=known.instruction_mix,
            code_bytes=known.code_bytes,
            proof=known.proof,
            proof_reason=known.proof_reason,
            proof_url=known.proof_url,
        )

    def _as_it_stands(self, index: int) -> SweepRow:
        status = self._search.status(index)
        if status.launch is not None:
            row = self._launched[status.launch.launch_id]
        else:
            row = self._bare.get(index) or SweepRow(
                index, self._run.job.plan.values(index), NOT_RUN
            )
        if status.pruned is None:
            return row
        state = row.state if status.launch is not None else NOT_RUN
        pruned = status.pruned.model_dump(mode="json", exclude_none=True)
        return replace(row, state=state, pruned=pruned)
