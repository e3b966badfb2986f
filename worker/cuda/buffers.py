"""The buffers of one job on the GPU, guarded, with the kernel parameters that point into them.

A job has one set of them; fresh inputs mean several. Imported in launchers only.
"""

from collections.abc import Collection, Iterator
from typing import Any

from worker.cuda.arguments import Packer
from worker.cuda.bench import Bench
from worker.cuda.contents import Bytes, Contents
from worker.cuda.job import LaunchJob
from worker.cuda.memory import Block
from worker.cuda.parameters import ParameterBlock
from worker.cuda.scratch import scratch_of


class Buffers:
    """One set: a block for each allocation, content undefined until `fill` or `copy`.

    Raises CudaError, and JobFailed when arguments and ABI do not fit together.
    """

    def __init__(self, bench: Bench, job: LaunchJob, contents: Contents) -> None:
        self._memory = bench.memory
        self._job = job
        self._contents = contents
        self.blocks = [
            self._memory.take(size, int(one["align_bytes"]))
            for one, size in zip(job.allocations, contents.sizes_bytes, strict=True)
        ]
        scratch = scratch_of(job, self._take_scratch, self._memory.fill)
        packer = Packer([block.address for block in self.blocks], scratch, bench.maps.encode)
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

    def damages(self) -> Iterator[dict[str, Any]]:
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

    def __init__(self, bench: Bench, contents: Contents, restored: Collection[int]) -> None:
        self._memory = bench.memory
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
