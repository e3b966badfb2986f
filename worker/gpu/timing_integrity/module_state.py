"""Watches the global variables of a kernel's module: whether runs left something in them.

Names are the user's to choose, contents are not: what a variable holds before the first run is kept
on the GPU and compared after the last one. Imported in launchers only.
"""

from dataclasses import dataclass
from typing import Any

from cuda.bindings import driver as cu

from worker.gpu.launcher.guarded_memory import GuardedMemory
from worker.gpu.timing_integrity.module_globals import (
    BadModule,
    ModuleGlobal,
    ModuleGlobals,
    read_globals,
)
from worker.gpu.timing_integrity.run_comparison import Piece, RunComparison, Tallies

_MAX_KEPT_BYTES = 256 << 20
"""The limit for all variables kept for comparison; larger ones are reported, but not compared."""
_ALIGN_BYTES = 16


@dataclass(frozen=True, slots=True)
class _Watched:
    variable: ModuleGlobal
    piece: Piece


class ModuleState:
    """The variables of a loaded module, as they were when it was made. Raises CudaError."""

    def __init__(
        self, module: Any, cubin: bytes, memory: GuardedMemory, comparison: RunComparison
    ) -> None:
        self._memory = memory
        self._comparison = comparison
        self._problem: str | None = None
        self._globals = ModuleGlobals((), 0, uses_heap=False)
        self._watched: list[_Watched] = []
        try:
            self._globals = read_globals(cubin)
        except BadModule as bad:
            self._problem = str(bad)
        self._keep(module)

    def _keep(self, module: Any) -> None:
        places = {
            variable.name: _place(module, variable.name) for variable in self._globals.variables
        }
        known = {name: place for name, place in places.items() if place is not None}
        sizes = {name: -(-size // _ALIGN_BYTES) * _ALIGN_BYTES for name, (_, size) in known.items()}
        if not known or sum(sizes.values()) > _MAX_KEPT_BYTES:
            return
        at = self._memory.take(sum(sizes.values()), _ALIGN_BYTES).address
        for variable in self._globals.variables:
            if variable.name not in known:
                continue
            address, size_bytes = known.pop(variable.name)
            self._memory.copy(at, address, size_bytes)
            self._watched.append(_Watched(variable, Piece(address, at, size_bytes)))
            at += sizes[variable.name]

    def report(self) -> dict[str, Any]:
        """Return what could keep something between runs, after all runs queued so far.

        As JSON: `problem` (why nothing is known), `variables` (name, size_bytes, and whether they
        `changed`; null: unknown), `unnamed_bytes`, `uses_heap`. Constants of compilers that
        did not change are left out. Raises CudaError.
        """
        changed = self._changed()
        return {
            "problem": self._problem,
            "variables": [
                {
                    "name": variable.plain_name,
                    "size_bytes": variable.size_bytes,
                    "changed": changed.get(variable.name),
                }
                for variable in self._globals.variables
                if changed.get(variable.name) is not False or not variable.is_of_compiler
            ],
            "unnamed_bytes": self._globals.unnamed_bytes,
            "uses_heap": self._globals.uses_heap,
        }

    def _changed(self) -> dict[str, bool]:
        if not self._watched:
            return {}
        tables = self._comparison.tables([[piece.piece] for piece in self._watched])
        tallies = Tallies(self._memory, len(tables))
        for index, table in enumerate(tables):
            self._comparison.compare(table, tallies.address(index))
        counts = tallies.read(len(tables))
        return {
            watched.variable.name: count.differing_bytes > 0
            for watched, count in zip(self._watched, counts, strict=True)
        }


def _place(module: Any, name: str) -> tuple[int, int] | None:
    """Return address and size of a variable; None where the driver does not report it."""
    status, address, size_bytes = cu.cuModuleGetGlobal(module, name.encode())
    if status != cu.CUresult.CUDA_SUCCESS:
        return None
    return int(address), int(size_bytes)
