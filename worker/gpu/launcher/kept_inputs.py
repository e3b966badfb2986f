"""First contents of buffers, made once and kept for the launches that follow.

A launcher serves one caller, so the cache never mixes callers. On the GPU each content has separate
memory, which is read-only once complete: no kernel can change the inputs of the next launch.
Imported in launchers only.
"""

from collections import OrderedDict
from dataclasses import dataclass

from worker.gpu.inputs.uniform_draw import UniformDraw
from worker.gpu.inputs.uniform_values import UniformValues
from worker.gpu.launcher.contents import Bytes, Contents
from worker.gpu.launcher.device import CudaError, GpuDevice
from worker.gpu.launcher.fault import GpuFault, fault_of
from worker.gpu.launcher.guarded_memory import GuardedMemory, Mapping, protect, unmap
from worker.gpu.launcher.memory_checks import MemoryChecks

_MAX_GPU_BYTES = 4 << 30
_PART_OF_GPU = 16
_HOST_BYTES = 1 << 30
_MAX_PREPARED_BYTES = 128 << 20
"""The limit for one allocation of a job that waits for its turn."""


@dataclass(frozen=True, slots=True)
class KeptBudget:
    """Limits for a launcher's kept contents on the GPU and on the host, in bytes."""

    gpu_bytes: int
    host_bytes: int = _HOST_BYTES
    """The host's budget, for contents that are too large for the GPU's."""

    @classmethod
    def of(
        cls, device: GpuDevice, gpu_bytes: int = -1, host_bytes: int = _HOST_BYTES
    ) -> "KeptBudget":
        """Return this budget; -1 for the GPU means a sixteenth of its memory, 4 GiB at most.

        There are several launchers to a GPU.
        """
        if gpu_bytes < 0:
            gpu_bytes = min(_MAX_GPU_BYTES, device.memory_bytes // _PART_OF_GPU)
        return cls(gpu_bytes, host_bytes)


@dataclass(frozen=True, slots=True)
class FirstContent:
    """The initial content of one allocation: on the GPU at `address`, or the host's `content`.

    Or `numbers`, which the GPU draws faster than it copies kept ones.
    """

    size_bytes: int
    address: int | None = None
    digest: int | None = None
    """The digest of the bytes at `address`."""
    content: Bytes | None = None
    numbers: UniformDraw | None = None


class KeptInputs:
    """The kept contents by key; the least recently used go first."""

    def __init__(
        self,
        device: GpuDevice,
        memory: GuardedMemory,
        checks: MemoryChecks,
        uniform: UniformValues,
        budget: KeptBudget,
    ) -> None:
        self._device = device
        self._memory = memory
        self._checks = checks
        self._uniform = uniform
        self._budget = budget
        self._on_gpu: OrderedDict[str, tuple[Mapping, FirstContent]] = OrderedDict()
        self._on_host: OrderedDict[str, Bytes] = OrderedDict()
        self._used: set[str] = set()
        self._prepared: dict[str, Bytes] = {}
        memory.relieve = self._give_up

    def contents_of(self, contents: Contents) -> list[FirstContent | None]:
        """Return what each allocation of a job starts with; None for the poison.

        Valid until the next call. Raises CudaError, JobFailed.
        """
        self._used = {key for key in contents.keys if key is not None}
        try:
            kept = [self._content_of(contents, index) for index in range(len(contents.keys))]
        finally:
            for key in self._used:  # what was prepared may have come to be kept by another job
                self._prepared.pop(key, None)
        self._shrink(self._budget.gpu_bytes)
        return kept

    def prepare(self, contents: Contents) -> None:
        """Make missing contents for the next job; safe on another thread.

        Raises JobFailed.
        """
        for index, key in enumerate(contents.keys):
            is_small = contents.sizes_bytes[index] <= _MAX_PREPARED_BYTES
            if key is None or not is_small or key in self._on_gpu or key in self._on_host:
                continue
            if self._drawn(contents, index) is not None:
                continue
            if key not in self._prepared and (made := contents.initial(index)) is not None:
                self._prepared[key] = made

    def hold(self, first: FirstContent) -> tuple[Mapping, FirstContent]:
        """Copy contents to read-only memory of the GPU; `unmap` frees it.

        Raises CudaError.
        """
        size_bytes = first.size_bytes
        mapping = self._memory.map(size_bytes)
        try:
            if first.numbers is not None:
                self._uniform.draw(first.numbers, mapping.start)
            elif first.content is not None:
                self._memory.write(mapping.start, first.content)
            (digest,) = self._checks.ask([self._checks.digest_of(mapping.start, size_bytes)])
            protect(self._device, mapping)
        except BaseException:
            unmap(mapping)
            raise
        return mapping, FirstContent(size_bytes, mapping.start, digest)

    def _content_of(self, contents: Contents, index: int) -> FirstContent | None:
        key, size_bytes = contents.keys[index], contents.sizes_bytes[index]
        if contents.is_poisoned(index):
            return None
        if key is not None and key in self._on_gpu:
            self._on_gpu.move_to_end(key)
            return self._on_gpu[key][1]
        if (numbers := self._drawn(contents, index)) is not None:
            return FirstContent(size_bytes, numbers=numbers)
        made = FirstContent(size_bytes, content=self._made(contents, index, key))
        page = self._device.granularity_bytes
        mapped_bytes = -(-size_bytes // page) * page
        if key is None or not 0 < mapped_bytes <= self._budget.gpu_bytes - self._used_bytes:
            return made
        self._shrink(self._budget.gpu_bytes - mapped_bytes)
        try:
            self._on_gpu[key] = self.hold(made)
        except CudaError as error:
            if fault_of(error.name) is not GpuFault.OUT_OF_MEMORY:
                raise
            return made  # then there may be room for it once
        return self._on_gpu[key][1]

    def _drawn(self, contents: Contents, index: int) -> UniformDraw | None:
        return contents.drawn(index) if self._uniform.is_exact else None

    @property
    def _used_bytes(self) -> int:
        """The size of this job's contents, which must stay until it ends."""
        kept = self._on_gpu
        return sum(kept[key][0].size_bytes for key in self._used if key in kept)

    def _made(self, contents: Contents, index: int, key: str | None) -> Bytes:
        """Make the bytes, or take the host's."""
        if key is not None and key in self._on_host:
            self._on_host.move_to_end(key)
            return self._on_host[key]
        prepared = self._prepared.pop(key, None) if key is not None else None
        made = prepared if prepared is not None else contents.initial(index)
        assert made is not None
        if key is not None and self._budget.gpu_bytes < made.nbytes <= self._budget.host_bytes:
            self._on_host[key] = made
            while (
                sum(content.nbytes for content in self._on_host.values()) > self._budget.host_bytes
            ):
                self._on_host.popitem(last=False)
        return made

    def _shrink(self, most_bytes: int) -> None:
        """Drop contents that this job does not use, until at most `most_bytes` are kept."""
        kept = sum(mapping.size_bytes for mapping, _ in self._on_gpu.values())
        for key in [unused for unused in self._on_gpu if unused not in self._used]:
            if kept <= most_bytes:
                return
            mapping, _ = self._on_gpu.pop(key)
            kept -= mapping.size_bytes
            self._memory.wait()  # for copies of it that may be running
            unmap(mapping)

    def _give_up(self) -> None:
        self._shrink(0)
