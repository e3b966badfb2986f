"""Checks if runs changed the global variables of a program's kernels.

Their contents at load time are kept on the host, and compared with those at the end. Only program
launchers import this.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from cuda.bindings import driver as cu

from worker.gpu.launcher.device import check
from worker.gpu.timing_integrity.module_globals import BadModule, ModuleGlobals, read_globals

_MAX_KEPT_BYTES = 16 << 20
"""Limit of all variables of a module; larger ones are reported, but not compared."""


@dataclass(frozen=True, slots=True)
class _DeviceRange:
    address: int
    size_bytes: int

    def content(self) -> bytes:
        """Return the current contents, after all finished work. Raises CudaError."""
        found = np.empty(self.size_bytes, np.uint8)
        copied = cu.cuMemcpyDtoH(found.ctypes.data, self.address, self.size_bytes)
        check(copied, "reading a variable of a module")
        return found.tobytes()


class ModuleVariables:
    """The variables of one module, with their contents at load time. Raises CudaError."""

    def __init__(self, module: Any, cubin: bytes) -> None:
        self._problem: str | None = None
        self._globals = ModuleGlobals((), 0, uses_heap=False)
        try:
            self._globals = read_globals(cubin)
        except BadModule as bad:
            self._problem = str(bad)
        places = {one.name: _place(module, one.name) for one in self._globals.variables}
        found = {name: place for name, place in places.items() if place is not None}
        is_small = sum(place.size_bytes for place in found.values()) <= _MAX_KEPT_BYTES
        self._places = found if is_small else {}
        self._before = {name: place.content() for name, place in self._places.items()}

    def report(self) -> dict[str, Any] | None:
        """Return the state that could last between runs; None if there is none.

        See `worker.gpu.timing_integrity.module_state.ModuleState.report`.
        """
        changed = {name: self._places[name].content() != was for name, was in self._before.items()}
        variables = [
            {
                "name": one.plain_name,
                "size_bytes": one.size_bytes,
                "changed": changed.get(one.name),
            }
            for one in self._globals.variables
            if changed.get(one.name) is not False or not one.is_of_compiler
        ]
        known = self._globals
        if not (self._problem or variables or known.unnamed_bytes or known.uses_heap):
            return None
        return {
            "problem": self._problem,
            "variables": variables,
            "unnamed_bytes": known.unnamed_bytes,
            "uses_heap": known.uses_heap,
        }


def _place(module: Any, name: str) -> _DeviceRange | None:
    """Return the place of a variable; None if the driver does not know it."""
    status, address, size_bytes = cu.cuModuleGetGlobal(module, name.encode())
    if status != cu.CUresult.CUDA_SUCCESS:
        return None
    return _DeviceRange(int(address), int(size_bytes))
