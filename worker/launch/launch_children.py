"""The children that launches run in: for kernels and NumPy, and for torch where it is installed.

Also what their zygotes need in their environment before they import anything.
"""

import importlib.util
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from launch.messages import MAX_BATCH_ELEMENTS
from store.jobs.types import torch_lane
from worker.pool.pool import Pool

ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
}
"""One BLAS thread: a zygote may have no second one."""

TORCH_ENVIRONMENT = {
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""The same for a zygote of references in torch."""


TORCH = "torch"

ChildSlot = Callable[[], AbstractAsyncContextManager[None]]
"""A slot for one of a launch's own children; a worker has a limited number."""


@dataclass(frozen=True, slots=True)
class Children:
    """`kernels` run kernels, references in NumPy, and comparisons; `torch` None: not installed."""

    kernels: Pool
    torch: Pool | None = None
    batch_elements: int = MAX_BATCH_ELEMENTS
    """The limit for the largest tensor of a batch of programs on the CPU device."""

    @property
    def languages(self) -> list[str]:
        """The languages in which references may be written."""
        return ["numpy", *([TORCH] if self.torch is not None else [])]

    def lanes(self, lane: str) -> list[str]:
        """Return what the launches of `lane` queue in that can be done with these children."""
        return [lane, *([torch_lane(lane)] if self.torch is not None else [])]

    def of_reference(self, language: str) -> Pool | None:
        """Return the pool that runs references in `language`, None if this worker has none."""
        return self.torch if language == TORCH else self.kernels

    @property
    def pools(self) -> list[Pool]:
        """All of them."""
        return [pool for pool in (self.kernels, self.torch) if pool is not None]


def is_torch_here() -> bool:
    """Return True if torch is installed in this environment, without importing it."""
    return importlib.util.find_spec(TORCH) is not None
