"""The context of a launch's cases: where they run, and their source of expected outputs."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol

from jobs.deadline import Deadline
from launch.request.reference_request import Reference
from store.blobs import Blobs
from worker.bytes_in_flight import BytesInFlight
from worker.compile.compile import CompileContext
from worker.compile.lru_cache import LRUCache
from worker.launch.gpu.gpu_run import GpuContext
from worker.launch.kernel_ir import KernelIr
from worker.launch.kernel_source import KernelSource
from worker.launch.launch_children import Children, ChildSlot
from worker.launch.reference import Expected
from worker.launch.run import PreparedRun

CPU_SMS = 1


class ReferenceSource(Protocol):
    """A source of expected outputs."""

    async def expect(
        self,
        reference: Reference,
        run: PreparedRun,
        timeout_s: float,
        deadline: Deadline,
        *,
        keep: bool = True,
    ) -> Expected:
        """Return what the source of `reference` answers. Raises DeadlinePassed."""
        ...


@dataclass(frozen=True, slots=True)
class CaseContext:
    """The place where runs happen: children for user code and comparisons, and perhaps a GPU.

    `references` belong to this launch; their creator closes them.
    """

    compiling: CompileContext
    children: Children
    blobs: Blobs
    references: ReferenceSource
    gpu: GpuContext | None
    known_sources: LRUCache[KernelSource] | None = None
    known_irs: LRUCache[KernelIr] | None = None
    """Facts that earlier launches of this worker found."""
    child_slot: ChildSlot = nullcontext
    in_flight: BytesInFlight | None = None
    """A bound on the memory of all running cases; None: only the slots bound it."""

    @property
    def num_sms(self) -> int:
        """The value of NUM_SMS in a grid."""
        facts = self.gpu.facts if self.gpu else None
        return facts.num_sms if facts else CPU_SMS
