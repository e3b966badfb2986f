"""A worker's cache of the kernels it launches: parsed records and cubins.

A purge or a refresh makes it forget: it keeps nothing while invalidations may be missed, by the
same rule as the services' memory of answers. Nothing that failed is kept.
"""

from dataclasses import dataclass

from cachetools import LRUCache

from compiler.compilation import Compilation
from store.blobs import Blobs
from store.compilations import Compilations
from store.connection import StoreClient
from store.stored import read_stored
from store.subscription import Invalidations
from worker.launch.precision_causes import questionable

STAGE, IR = "cubin", "ttir"
MAX_BYTES = 256 << 20
RECORD_BYTES = 64 << 10
"""The size that a parsed record counts for, in addition to its cubin."""


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A finished compilation, and its cubin: None where it failed, or its cubin was evicted.

    `ir` is its TTIR where the precision of that may be in question, b"" otherwise.
    """

    compilation: Compilation
    cubin: bytes | None = None
    ir: bytes = b""


class CompiledKernels:
    """The kernels of one worker by compile key. `run()` must be running for any to be kept."""

    def __init__(
        self,
        compilations: Compilations,
        blobs: Blobs,
        blocking: StoreClient,
        most_bytes: int = MAX_BYTES,
    ) -> None:
        self._compilations = compilations
        self._blobs = blobs
        self._kept: LRUCache[str, CompiledKernel] = LRUCache(most_bytes, getsizeof=_size_bytes)
        self._invalidations = Invalidations(blocking, on_key=self._forget, on_loss=self._kept.clear)

    async def run(self) -> None:
        """Listen for what must be forgotten, until cancelled."""
        await self._invalidations.run()

    async def find(self, key: str) -> CompiledKernel | None:
        """Return the kernel of a finished compilation, None where the cache has none.

        Raises StoreUnavailable.
        """
        if (kept := self._kept.get(key)) is not None:
            self._compilations.note_use(key)
            return kept
        generation = self._invalidations.generation
        hit = await self._compilations.hit(key, [STAGE, IR])
        if hit is None:
            return None
        compilation = read_stored(Compilation, hit.record)
        ir = questionable(hit.included.get(IR, b""))
        kernel = CompiledKernel(compilation, hit.included.get(STAGE), ir)
        if self._invalidations.is_unchanged_since(generation):
            self._keep(key, kernel)
        return kernel

    async def of_record(self, record: bytes) -> CompiledKernel:
        """Return the kernel that a job's record names. Raises StoreUnavailable."""
        compilation = read_stored(Compilation, record)
        contents: dict[str, bytes | None] = {}
        for stage in (STAGE, IR):
            artifact = compilation.artifacts.get(stage)
            contents[stage] = (
                await self._blobs.get(artifact.digest) if artifact is not None else None
            )
        return CompiledKernel(compilation, contents[STAGE], questionable(contents[IR] or b""))

    def _forget(self, key: str) -> None:
        self._kept.pop(key, None)

    def _keep(self, key: str, kernel: CompiledKernel) -> None:
        if kernel.cubin is not None and _size_bytes(kernel) <= self._kept.maxsize:
            self._kept[key] = kernel


def _size_bytes(kernel: CompiledKernel) -> int:
    return RECORD_BYTES + len(kernel.cubin or b"") + len(kernel.ir)
