"""The proofs of a sweep's rows: rows with the same TTIR and constexprs share one."""

import asyncio
import hashlib

import orjson

from compiler.compilation import Compilation
from compiler.job import CompileJob
from launch.request.launch_job import LaunchJob
from store.stored import read_stored
from sweeps.row import RowProof, SweepRow, read_proof, with_proof
from sweeps.worker.sweep_run import BUDGET_OVER, SweepRun

_TTIR = "ttir"


class RowProofs:
    """The proofs of one attempt at a sweep."""

    def __init__(self, run: SweepRun) -> None:
        self._run = run
        self._found: dict[str, RowProof] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def proved(
        self, row: SweepRow, kernel: CompileJob | LaunchJob, made: Compilation | None = None
    ) -> SweepRow:
        """Return the row with its kernel's proof, where the sweep has a contract.

        `made` is the kernel's compilation, if it is over. Raises AttemptRevoked, StoreUnavailable.
        """
        if self._run.job.contract is None:
            return row
        try:
            async with asyncio.timeout(self._run.budget_left_s):
                proof = await self._proof(row.index, kernel, made, self._run.job.contract)
        except TimeoutError:
            self._run.budget_ended = True
            proof = RowProof(None, BUDGET_OVER)
        return with_proof(row, proof)

    async def _proof(
        self,
        index: int,
        kernel: CompileJob | LaunchJob,
        made: Compilation | None,
        contract: str,
    ) -> RowProof:
        run = self._run
        if run.stores.prove_kernel is None:
            return RowProof(None, "no worker here proves kernels")
        proof = run.stores.prove_kernel(kernel, contract, run.job.caller)
        if made is None:
            record = (await run.compiled(proof.compile_job, [index])).record
            made = read_stored(Compilation, record)
        if made.state != "succeeded":
            return RowProof(None, None)  # its problem explains why
        if _TTIR not in made.artifacts:
            return RowProof(None, "its kernel has no TTIR")
        key = _key(run.job.id, made)
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key not in self._found:
                self._found[key] = read_proof(
                    orjson.loads(await run.proved(proof.order(key), index))
                )
        return self._found[key]


def _key(sweep_id: str, made: Compilation) -> str:
    """Return the id of a proof, the same for every attempt at the sweep."""
    compiled = [
        (parameter.name, parameter.value)
        for parameter in made.parameters
        if parameter.role != "runtime"
    ]
    parts = [sweep_id, made.artifacts[_TTIR].digest, compiled]
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]
