"""The guarded buffers of one job on the GPU, with the kernel parameters that point into them.

A job has one set of buffers; timed runs on fresh inputs rotate over several sets. Imported in
launchers only.
"""

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cuda.bindings import driver as cu

from launch.buffers.allocation import Leaf
from launch.messages import Finding
from worker.gpu.launcher.contents import Contents
from worker.gpu.launcher.device import check
from worker.gpu.launcher.fault import GpuFault, KernelFault
from worker.gpu.launcher.guarded_memory import CANARY, GuardedBlock, GuardedMemory, Mapping, unmap
from worker.gpu.launcher.kept_inputs import FirstContent
from worker.gpu.launcher.kernel_parameters import Packer, ParameterBlock, scratch_of
from worker.gpu.launcher.launcher_context import LauncherContext
from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.launcher.loaded_kernel import LoadedKernel
from worker.gpu.launcher.memory_checks import MemoryCheck, filled, holding
from worker.gpu.launcher.output_memory import SharedOutput, is_shared
from worker.gpu.launcher.timing import TimedWork

FirstContents = Sequence[FirstContent | None]
"""The initial content of each allocation; None for the poison."""


class Buffers:
    """One set: a block per allocation, with undefined content until `fill` or `copy`.

    Raises CudaError, and JobFailed if the arguments do not match the ABI.
    """

    def __init__(self, context: LauncherContext, job: LauncherOrder, contents: Contents) -> None:
        self._memory = context.memory
        self._checks = context.checks
        self._uniform = context.uniform
        self._contents = contents
        self.blocks = [
            self._memory.take(size, int(allocation["align_bytes"]), is_argument=True)
            for allocation, size in zip(job.allocations, contents.sizes_bytes, strict=True)
        ]
        self._scratch: list[GuardedBlock] = []
        scratch = scratch_of(job, self._take_scratch, self._memory.fill)
        packer = Packer([block.address for block in self.blocks], scratch, context.maps.encode)
        self._parameters = ParameterBlock(packer.pack(job.abi, job.arguments))

    @property
    def parameters(self) -> int:
        """The address of the pointers to the kernel's parameters, for its launch."""
        return self._parameters.address

    def _take_scratch(self, size_bytes: int, align_bytes: int) -> int:
        block = self._memory.take(size_bytes, align_bytes, is_argument=True)
        self._scratch.append(block)
        return self._scratch[-1].address

    @property
    def scratch_operations(self) -> int:
        """The number of operations that `clear_scratch` queues."""
        return len(self._scratch)

    def clear_scratch(self) -> None:
        """Queue zeroing of the scratch, so that no run sees an earlier one's. Raises CudaError."""
        for block in self._scratch:
            self._memory.fill(block.address, block.size_bytes, 0)

    def fill(self, firsts: FirstContents) -> None:
        """Write the initial contents, or the poison, to all blocks. Raises CudaError."""
        for block, first, poison in zip(self.blocks, firsts, self._contents.poisons, strict=True):
            if first is None:
                self._memory.fill(block.address, block.size_bytes, poison)
            elif first.address is not None:
                self._memory.copy(block.address, first.address, block.size_bytes)
            elif first.numbers is not None:
                self._uniform.draw(first.numbers, block.address)
            elif first.content is not None:
                self._memory.write(block.address, first.content)

    def copy(self, other: "Buffers") -> None:
        """Queue copies of all blocks of `other`. Raises CudaError."""
        for block, source in zip(self.blocks, other.blocks, strict=True):
            self._memory.copy(block.address, source.address, block.size_bytes)

    def inspect(self, inputs: Sequence[int], further: Sequence[MemoryCheck] = ()) -> "BufferReport":
        """Check the buffers after the runs so far, with digests of the allocations `inputs`.

        The same launch answers the `further` checks. Raises CudaError.
        """
        zones = [
            filled(start, size, CANARY) for block in self.blocks for start, size in block.zones
        ]
        poisons = [self._poison_of(leaf) for leaf in self._contents.outputs]
        whole = [leaf for leaf in self._contents.outputs if self._contents.is_whole(leaf)]
        digests = [
            self._digest_of(index) for index in (*inputs, *(leaf.allocation for leaf in whole))
        ]
        marked = len(zones) + len(poisons)
        answers = self._checks.ask([*zones, *poisons, *digests, *further])
        marks, digests_of_memory = answers[:marked], answers[marked : marked + len(digests)]
        return BufferReport(
            is_damaged=any(marks[: len(zones)]),
            may_be_unwritten=any(marks[len(zones) :]),
            inputs=dict(zip(inputs, digests_of_memory, strict=False)),
            outputs={
                leaf.name: f"{digest:016x}"
                for leaf, digest in zip(whole, digests_of_memory[len(inputs) :], strict=True)
            },
            further=answers[marked + len(digests) :],
        )

    def _digest_of(self, allocation: int) -> MemoryCheck:
        block = self.blocks[allocation]
        return self._checks.digest_of(block.address, block.size_bytes)

    def _poison_of(self, leaf: Leaf) -> MemoryCheck:
        contents, block = self._contents, self.blocks[leaf.allocation]
        size_bytes = block.size_bytes if contents.is_poisoned(leaf.allocation) else 0
        poison, item_bytes = contents.poisons[leaf.allocation], contents.item_bytes(leaf.allocation)
        return holding(block.address, size_bytes, poison, item_bytes)

    def damages(self) -> Iterator[Finding]:
        """Yield a finding for every block with overwritten red zones. Raises CudaError."""
        for index, block in enumerate(self.blocks):
            at_byte = self._memory.damage(block)
            if at_byte is not None:
                yield self._contents.damaged(index, at_byte)

    def read(self, leaf: Leaf) -> bytes | SharedOutput:
        """Return the elements of an output in C order; many of them as sealed shared memory.

        Raises CudaError, JobFailed.
        """
        return read_output(self._memory, self._contents, self.blocks[leaf.allocation], leaf)


def read_output(
    memory: GuardedMemory, contents: Contents, block: GuardedBlock, leaf: Leaf
) -> bytes | SharedOutput:
    """Return the elements, in C order, of an output in `block`: its allocation, or a copy of it.

    Many elements are returned as sealed shared memory. Raises CudaError, JobFailed.
    """
    address, size_bytes = block.address, block.size_bytes
    if not contents.is_whole(leaf):
        return contents.elements(leaf, memory.read(address, size_bytes))
    with contextlib.suppress(OSError):  # without shared memory, the channel carries the bytes
        if is_shared(size_bytes) and memory.is_staged(size_bytes):
            return memory.outputs.write(memory.read(address, size_bytes))
        if is_shared(size_bytes):
            return memory.outputs.fill(
                size_bytes, lambda target: memory.read_to(target, address, size_bytes)
            )
    return memory.read(address, size_bytes).tobytes()


@dataclass(frozen=True, slots=True)
class BufferReport:
    """The GPU's checks of a job's buffers, computed without reading them back."""

    is_damaged: bool
    """True if a run wrote to red zones."""
    may_be_unwritten: bool
    """True if an output, or a gap between its elements, still contains the poison."""
    inputs: dict[int, int]
    """Digests by allocation."""
    outputs: dict[str, str]
    """Digests by name, of the outputs that cover their whole allocation."""
    further: list[int]
    """The answers to the further checks."""


class InitialContents:
    """Read-only copies, on the GPU, of the initial contents of the allocations `restored`.

    Raises CudaError.
    """

    def __init__(
        self,
        context: LauncherContext,
        contents: Contents,
        firsts: FirstContents,
        restored: Collection[int],
    ) -> None:
        self._memory = context.memory
        self._contents = contents
        self._sources: dict[int, int | None] = {}
        self._held: list[Mapping] = []
        for index in restored:
            first = firsts[index]
            if first is not None and first.address is None and first.size_bytes:
                mapping, first = context.inputs.hold(first)
                self._held.append(mapping)
            self._sources[index] = None if first is None else first.address

    def operations_on(self, buffers: Buffers) -> int:
        """Return the number of operations that `restore` queues."""
        return len(self._sources) + buffers.scratch_operations

    def restore(self, buffers: Buffers, *, other_poison: bool = False) -> None:
        """Queue the restoration of `buffers` to their initial contents. Raises CudaError.

        `other_poison` uses the other poison instead of the first one.
        """
        contents = self._contents
        poisons = contents.other_poisons if other_poison else contents.poisons
        buffers.clear_scratch()
        for index, source in self._sources.items():
            block = buffers.blocks[index]
            if source is None:
                self._memory.fill(block.address, block.size_bytes, poisons[index])
            else:
                self._memory.copy(block.address, source, block.size_bytes)

    def close(self) -> None:
        """Release the copies made for this job, after all pending copies from them."""
        self._memory.wait()
        while self._held:
            unmap(self._held.pop())


MAX_SETS = 64
_PART_OF_FREE_MEMORY = 0.5


class Rotation:
    """Runs of one kernel on several sets of buffers in rotation.

    With one set, every run has the same addresses. With several, no run has accessed a run's inputs
    since the last round, so neither the kernel nor a cache nor the TLB can benefit from earlier
    runs. All sets hold equal values, so outputs stay comparable.
    """

    def __init__(
        self, kernel: LoadedKernel, initial: InitialContents, sets: Sequence[Buffers]
    ) -> None:
        self._kernel = kernel
        self._initial = initial
        self._sets = sets
        self._turn = 0

    @property
    def turn(self) -> int:
        """The number of rotations so far; modulo the number of sets, it is the current set."""
        return self._turn

    @property
    def current(self) -> Buffers:
        """The buffers of the run that was queued last."""
        return self._sets[self._turn % len(self._sets)]

    @property
    def work(self) -> TimedWork:
        """The work for a stopwatch."""
        operations = self._initial.operations_on(self._sets[0])
        return TimedWork(self._launch, self._restore, operations)

    def _restore(self) -> None:
        self._turn += 1
        self._initial.restore(self.current)

    def _launch(self) -> None:
        self._kernel.launch(self.current.parameters)


def fresh_sets(
    context: LauncherContext, job: LauncherOrder, contents: Contents, first: Buffers, wanted: int
) -> list[Buffers]:
    """Return `wanted` sets equal to `first`, or as many as fit into half of the free memory.

    The result has at most 64 sets, including `first`. Raises KernelFault if a second set does not
    fit, CudaError, JobFailed.
    """
    page = context.device.granularity_bytes
    set_bytes = sum((size // page + 1) * page for size in contents.sizes_bytes)
    free: Any = check(cu.cuMemGetInfo(), "asking for free memory")
    room = int(free[0] * _PART_OF_FREE_MEMORY) // max(1, set_bytes)
    if room < 1:
        message = (
            f"timing.fresh_inputs needs a second copy of the arguments of {set_bytes} bytes, which "
            f"must fit into half of the {free[0]} free bytes of the GPU. Omit it, or launch with "
            "smaller arguments."
        )
        raise KernelFault(GpuFault.OUT_OF_MEMORY, message)
    sets = [first]
    for _ in range(max(1, min(wanted, MAX_SETS, room + 1) - 1)):
        sets.append(Buffers(context, job, contents))
        sets[-1].copy(first)
    return sets
