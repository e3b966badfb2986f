"""The buffers of one job on the GPU, guarded, with the kernel parameters that point into them.

A job has one set of them; runs that are timed on fresh inputs take turns on several. Imported in
launchers only.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from cuda.bindings import driver as cu

from launch.messages import Finding
from worker.gpu.launcher.contents import Bytes, Contents
from worker.gpu.launcher.device import check
from worker.gpu.launcher.fault import GpuFault, KernelFault
from worker.gpu.launcher.guarded_memory import Block
from worker.gpu.launcher.kernel_parameters import Packer, ParameterBlock, scratch_of
from worker.gpu.launcher.launcher_context import LauncherContext
from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.launcher.loaded_kernel import LoadedKernel
from worker.gpu.launcher.timing import Work


class Buffers:
    """One set: a block for each allocation, content undefined until `fill` or `copy`.

    Raises CudaError, and JobFailed when arguments and ABI do not fit together.
    """

    def __init__(self, context: LauncherContext, job: LauncherOrder, contents: Contents) -> None:
        self._memory = context.memory
        self._job = job
        self._contents = contents
        self.blocks = [
            self._memory.take(size, int(one["align_bytes"]))
            for one, size in zip(job.allocations, contents.sizes_bytes, strict=True)
        ]
        scratch = scratch_of(job, self._take_scratch, self._memory.fill)
        packer = Packer([block.address for block in self.blocks], scratch, context.maps.encode)
        self._parameters = ParameterBlock(packer.pack(job.abi, job.arguments))

    @property
    def parameters(self) -> int:
        """What a kernel is launched with: the address of the pointers to its parameters."""
        return self._parameters.address

    def _take_scratch(self, size_bytes: int, align_bytes: int) -> int:
        return self._memory.take(size_bytes, align_bytes).address

    def fill(self) -> None:
        """Write what the allocations start with, or the poison. Raises CudaError."""
        contents = self._contents
        for block, content, poison in zip(
            self.blocks, contents.initial, contents.poisons, strict=True
        ):
            if content is None:
                self._memory.fill(block.address, block.size_bytes, poison)
            else:
                self._memory.write(block.address, content)

    def copy(self, other: "Buffers") -> None:
        """Queue copies of all blocks of `other`. Raises CudaError."""
        for block, source in zip(self.blocks, other.blocks, strict=True):
            self._memory.copy(block.address, source.address, block.size_bytes)

    def modified(self, allowed: Collection[int]) -> list[int]:
        """Return the allocations that do not hold any more what they started with.

        Those of `allowed`, and poisoned ones, may change. Raises CudaError.
        """
        return [
            index
            for index, (block, content) in enumerate(
                zip(self.blocks, self._contents.initial, strict=True)
            )
            if index not in allowed
            and content is not None
            and (self._memory.read(block.address, block.size_bytes) != content).any()
        ]

    def damages(self) -> Iterator[Finding]:
        """Yield a finding for every block whose red zones were written to. Raises CudaError."""
        for index, block in enumerate(self.blocks):
            at_byte = self._memory.damage(block)
            if at_byte is not None:
                yield self._contents.damaged(index, at_byte)

    def outputs(self) -> Iterator[tuple[str, bytes]]:
        """Yield the outputs by name, their elements in C order. Raises CudaError."""
        memories: dict[int, Bytes] = {}
        for leaf in self._contents.outputs:
            if leaf.allocation not in memories:
                block = self.blocks[leaf.allocation]
                memories[leaf.allocation] = self._memory.read(block.address, block.size_bytes)
            yield leaf.name, self._contents.elements(leaf, memories[leaf.allocation])


class Pristine:
    """What further runs must find again in the allocations `restored`, kept on the GPU.

    Raises CudaError.
    """

    def __init__(
        self, context: LauncherContext, contents: Contents, restored: Collection[int]
    ) -> None:
        self._memory = context.memory
        self._contents = contents
        self._kept: dict[int, Block | None] = {}
        for index in restored:
            content = contents.initial[index]
            self._kept[index] = None
            if content is not None and content.nbytes:
                block = self._memory.take(content.nbytes, 16)
                self._memory.write(block.address, content)
                self._kept[index] = block

    @property
    def operations(self) -> int:
        """How many operations a `restore` queues."""
        return len(self._kept)

    def restore(self, buffers: Buffers, *, other_poison: bool = False) -> None:
        """Queue what makes `buffers` as they were before the first run. Raises CudaError.

        With `other_poison` but for the poison, which is then another one.
        """
        contents = self._contents
        poisons = contents.other_poisons if other_poison else contents.poisons
        for index, kept in self._kept.items():
            block = buffers.blocks[index]
            if kept is None:
                self._memory.fill(block.address, block.size_bytes, poisons[index])
            else:
                self._memory.copy(block.address, kept.address, block.size_bytes)


MOST_SETS = 64
_PART_OF_FREE_MEMORY = 0.5


class Rotation:
    """Runs of one kernel on several sets of buffers, one after the other, round and round.

    With one set, every run has the same addresses. With many, a run finds inputs at addresses that
    no run has touched since the last round: nothing that a kernel, a cache or an address
    translation could keep of them. All sets hold equal values, so outputs stay comparable.
    """

    def __init__(self, kernel: LoadedKernel, pristine: Pristine, sets: Sequence[Buffers]) -> None:
        self._kernel = kernel
        self._pristine = pristine
        self._sets = sets
        self._turn = 0

    @property
    def current(self) -> Buffers:
        """The buffers of the run that was queued last."""
        return self._sets[self._turn % len(self._sets)]

    @property
    def work(self) -> Work:
        """What a stopwatch times."""
        return Work(self._launch, self._restore, self._pristine.operations)

    def _restore(self) -> None:
        self._turn += 1
        self._pristine.restore(self.current)

    def _launch(self) -> None:
        self._kernel.launch(self.current.parameters)


def fresh_sets(
    context: LauncherContext, job: LauncherOrder, contents: Contents, first: Buffers, wanted: int
) -> list[Buffers]:
    """Return `wanted` sets equal to `first`, or as many as fit into half of the free memory.

    At most 64, and `first` is one of them. Raises KernelFault where there is no room for a second
    one, CudaError, JobFailed.
    """
    page = context.device.granularity_bytes
    set_bytes = sum((size // page + 1) * page for size in contents.sizes_bytes)
    free: Any = check(cu.cuMemGetInfo(), "asking for free memory")
    room = int(free[0] * _PART_OF_FREE_MEMORY) // max(1, set_bytes)
    if room < 1:
        message = (
            f"timing.fresh_inputs needs the arguments twice; one more set takes {set_bytes} bytes, "
            f"and {free[0]} are free. Leave it out, or launch with smaller arguments."
        )
        raise KernelFault(GpuFault.OUT_OF_MEMORY, message)
    sets = [first]
    for _ in range(max(1, min(wanted, MOST_SETS, room + 1) - 1)):
        sets.append(Buffers(context, job, contents))
        sets[-1].copy(first)
    return sets
