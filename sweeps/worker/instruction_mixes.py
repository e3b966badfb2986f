"""The instruction mixes of rows: derived from their compilations as for any caller."""

from dataclasses import replace
from typing import Any

import orjson

from compiler.compilation import Compilation
from compiler.derivation import KINDS, Derivation, DeriveJob, key_of
from store.stored import read_stored
from sweeps.row import SweepRow
from sweeps.worker.sweep_run import SweepRun

WHAT = "instructions"
INCLUDED = "instruction_mix"


def is_wanted(run: SweepRun) -> bool:
    """Return True if the rows of this sweep have a mix."""
    return INCLUDED in run.job.include


async def with_mix(run: SweepRun, row: SweepRow, made: Compilation) -> SweepRow:
    """Return the row with the mix of its kernel, where the sweep wants it and there is one.

    By class and opcode; by line it is with the compilation. Raises AttemptRevoked,
    StoreUnavailable.
    """
    if not is_wanted(run) or not any(stage in made.artifacts for stage in KINDS[WHAT].needs):
        return row
    job = DeriveJob(key=key_of(made, WHAT), what=WHAT, compilation=made, compile_job=None)
    mix = await _kept(run, job) or await _content(run, await run.derived(job, row.index))
    if mix is None:
        return row
    counted = {name: count for name, count in mix["by_class"].items() if count}
    shown = {"total": mix["total"], "by_class": counted, "by_opcode": mix["by_opcode"]}
    return replace(row, instruction_mix=shown, code_bytes=mix.get("code_bytes", row.code_bytes))


async def _kept(run: SweepRun, job: DeriveJob) -> dict[str, Any] | None:
    record = await run.stores.derivations.read(job.key)
    return None if record is None else await _content(run, record)


async def _content(run: SweepRun, record: bytes) -> dict[str, Any] | None:
    derived = read_stored(Derivation, record)
    content = await run.stores.blobs.get(derived.digest) if derived.digest else None
    return None if content is None else dict(orjson.loads(content))
