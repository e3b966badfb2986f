"""The variants of a compile base: hits answered at once, all others compiled, a few at a time."""

import asyncio
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from compiler.compilation import Compilation
from compiler.job import CompileJob
from compiler.rejection import RequestRejected
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import resolve
from launch.request.request_part import read
from store.stored import read_stored
from sweeps.built_row import budget_row, compiled_row, refused_row
from sweeps.row import SweepRow
from sweeps.variant import Variant
from sweeps.worker.instruction_mixes import is_wanted, with_mix
from sweeps.worker.row_proofs import RowProofs
from sweeps.worker.sweep_run import BUDGET_OVER, Compiled, SweepRun
from sweeps.worker.under_way import UnderWay

READ_AT_ONCE: Final = 64
COMPILED_AT_ONCE: Final = 64
"""Enough that no slot waits for the next one; the rest is not in the queue before it must be."""


@dataclass(slots=True)
class _Wanted:
    """One compilation, and the variants that are it."""

    job: CompileJob
    variants: list[Variant]

    @property
    def rows(self) -> list[int]:
        """The indices of their rows."""
        return [variant.index for variant in self.variants]


async def compile_variants(run: SweepRun) -> None:
    """Write a row for each variant. Raises AttemptRevoked, StoreUnavailable, CallerBytesFull."""
    todo, proofs = iter(run.todo), RowProofs(run)
    asks_more = is_wanted(run) or run.job.contract is not None
    async with UnderWay(COMPILED_AT_ONCE) as under_way:
        while some := list(itertools.islice(todo, READ_AT_ONCE)):
            if run.is_over_budget:
                await run.write(_over_budget(run, some))
                continue
            # in a thread: a thousand sources take a while to hash
            wanted, refused = await asyncio.to_thread(_resolved, run, some)
            hits = await asyncio.gather(*(run.hit(one.job.key) for one in wanted))
            if not asks_more:
                refused += await asyncio.to_thread(_hit_rows, wanted, hits)
            await run.write(refused)
            for one, hit in zip(wanted, hits, strict=True):
                if hit is None or asks_more:
                    await under_way.begin(partial(_finish, run, proofs, one, hit))


async def _finish(run: SweepRun, proofs: RowProofs, wanted: _Wanted, hit: bytes | None) -> None:
    if run.is_over_budget:
        await run.write(_over_budget(run, wanted.rows))
        return
    try:
        async with asyncio.timeout(run.budget_left_s):
            compiled = Compiled(hit, "hit") if hit else await run.compiled(wanted.job, wanted.rows)
        made = read_stored(Compilation, compiled.record)
        rows = [compiled_row(variant, made, compiled.cache) for variant in wanted.variants]
        rows = [await with_mix(run, row, made) for row in rows]
    except TimeoutError:
        await run.withdraw_from(wanted.job.key, BUDGET_OVER)
        await run.write(_over_budget(run, wanted.rows))
        return
    await run.write([await proofs.proved(row, wanted.job, made) for row in rows])


def _over_budget(run: SweepRun, rows: Iterable[int]) -> list[SweepRow]:
    budget_s = run.job.budget_s or 0
    run.budget_ended = True
    return [budget_row(run.job.plan.variant(index), budget_s) for index in rows]


def _resolved(run: SweepRun, indices: Sequence[int]) -> tuple[list[_Wanted], list[SweepRow]]:
    wanted: dict[str, _Wanted] = {}
    refused = []
    for index in indices:
        variant = run.job.plan.variant(index)
        try:
            job = compile_job_of(run, variant)
        except RequestRejected as rejected:
            refused.append(refused_row(variant, rejected))
            continue
        wanted.setdefault(job.key, _Wanted(job, [])).variants.append(variant)
    return list(wanted.values()), refused


def compile_job_of(run: SweepRun, variant: Variant) -> CompileJob:
    """Return the job of a variant of a compile base. Raises RequestRejected."""
    request = read(CompileRequest, variant.body, "")
    return resolve(request, run.toolchain_of(request.triton), run.job.namespace)


def _hit_rows(wanted: Sequence[_Wanted], hits: Sequence[bytes | None]) -> list[SweepRow]:
    rows = []
    for one, record in zip(wanted, hits, strict=True):
        if record is not None:
            made = read_stored(Compilation, record)
            rows += [compiled_row(variant, made, "hit") for variant in one.variants]
    return rows
