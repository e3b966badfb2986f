"""Where the cases of a launch are run, and who says what is expected of them."""

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
from worker.launch.launch_children import ChildPlace, Children
from worker.launch.reference import Expected
from worker.launch.run import PreparedRun

CPU_SMS = 1


class Answers(Protocol):
    """What says what the outputs of a run should be."""

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
    """Where runs happen: children for user code and comparisons, and a GPU if it is one.

    `references` are those of this launch, and are closed by whoever made them.
    """

    compiling: CompileContext
    children: Children
    blobs: Blobs
    references: Answers
    gpu: GpuContext | None
    known_sources: LRUCache[KernelSource] | None = None
    known_irs: LRUCache[KernelIr] | None = None
    """What this worker's launches before it found out."""
    place: ChildPlace = nullcontext
    in_flight: BytesInFlight | None = None
    """What bounds the memory of all cases that are under way; None: nothing more than slots do."""

    @property
    def num_sms(self) -> int:
        """What NUM_SMS means in a grid."""
        facts = self.gpu.facts if self.gpu else None
        return facts.num_sms if facts else CPU_SMS
