"""Initial bytes of buffers, and the written and unwritten elements of outputs after a run.

An unwritten element holds the poison after each of two runs with different poisons. One run cannot
distinguish a value that equals the poison from an unwritten element, so a second run follows only
if an element holds the poison. Runs in launchers, on NumPy, without CUDA.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from launch.buffers.allocation import Leaf, content_key, leaves, logical_bytes, memory_of
from launch.buffers.element_types import poison_of, stored, unwritten
from launch.checks.finding import index_of
from launch.messages import Finding
from worker.gpu.inputs.uniform_draw import UniformDraw
from worker.gpu.launcher.fault import GpuFault, JobFailed
from worker.gpu.launcher.launcher_order import LauncherOrder

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Outputs = Mapping[str, bytes | Bytes]
"""The elements of outputs by name, in C order."""


class Contents:
    """The allocations of one job: their initial contents, and how to read the outputs."""

    def __init__(self, job: LauncherOrder) -> None:
        """Parse the description. Raises JobFailed for allocations that cannot be made."""
        try:
            self._kinds = [stored(allocation["dtype"]) for allocation in job.allocations]
            self.sizes_bytes = [
                int(allocation["elements"]) * kind.itemsize
                for allocation, kind in zip(job.allocations, self._kinds, strict=True)
            ]
            self.poisons = [poison_of(kind) for kind in self._kinds]
            self.other_poisons = [poison_of(kind, other=True) for kind in self._kinds]
            self._leaves = list(leaves(dict(job.arguments)))
            self.outputs = [leaf for leaf in self._leaves if leaf.output]
            named = {(leaf.allocation, leaf.name): leaf for leaf in self._leaves}
            self._layouts = [
                named.get((index, allocation["name"]))
                for index, allocation in enumerate(job.allocations)
            ]
            self.keys = [
                content_key(allocation, layout)
                for allocation, layout in zip(job.allocations, self._layouts, strict=True)
            ]
            """Cache keys of the initial contents; None for contents that must not be cached."""
        except (ValueError, KeyError, TypeError) as error:
            raise _cannot_be_made(error) from error
        self._allocations = job.allocations
        self._uploads = job.uploads

    def is_poisoned(self, allocation: int) -> bool:
        """Return True if an allocation starts with the poison."""
        return self._allocations[allocation]["init"] is None

    def initial(self, allocation: int, *, seed: int | None = None) -> Bytes | None:
        """Return the initial bytes of an allocation; None for the poison. Raises JobFailed.

        `seed` replaces the seed of random values.
        """
        if self.is_poisoned(allocation):
            return None
        described = self._described(allocation, seed)
        try:
            made = memory_of(described, self._layouts[allocation], self._uploads)
        except (ValueError, KeyError, TypeError) as error:
            raise _cannot_be_made(error) from error
        return made.reshape(-1).view(np.uint8)

    def drawn(self, allocation: int, *, seed: int | None = None) -> UniformDraw | None:
        """Return the draw by which a GPU makes the same bytes; None if the host must make them."""
        try:
            return UniformDraw.of(self._described(allocation, seed), self._layouts[allocation])
        except (ValueError, KeyError, TypeError) as error:
            raise _cannot_be_made(error) from error

    def _described(self, allocation: int, seed: int | None) -> dict[str, Any]:
        described = dict(self._allocations[allocation])
        if seed is not None:
            described["init"] = described["init"] | {"seed": seed}
        return described

    def item_bytes(self, allocation: int) -> int:
        """Return the size of an element of an allocation."""
        return self._kinds[allocation].itemsize

    def is_whole(self, leaf: Leaf) -> bool:
        """Return True if an output covers its whole allocation, contiguously."""
        return leaf.covers(int(self._allocations[leaf.allocation]["elements"]))

    @property
    def written(self) -> set[int]:
        """The allocations that the kernel may write to."""
        declared = {
            index for index, allocation in enumerate(self._allocations) if allocation["output"]
        }
        return declared | {leaf.allocation for leaf in self.outputs}

    def elements(self, leaf: Leaf, memory: Bytes) -> bytes:
        """Return the elements of an output in C order, from the bytes of its allocation.

        Raises JobFailed for a buffer that reaches beyond its allocation.
        """
        try:
            return logical_bytes(memory.view(self._kinds[leaf.allocation]), leaf)
        except ValueError as error:
            raise JobFailed("malformed_job", str(error)) from error

    def unwritten(self, outputs: Outputs, *, other: bool = False) -> dict[str, Flags]:
        """Return masks of the elements that still hold the poison, for poisoned `outputs`.

        The result omits outputs without such elements.
        """
        flags_by_name = {}
        for leaf in self.outputs:
            if self.is_poisoned(leaf.allocation):
                elements = np.frombuffer(outputs[leaf.name], self._kinds[leaf.allocation])
                flags = unwritten(elements, other=other)
                if flags.any():
                    flags_by_name[leaf.name] = flags
        return flags_by_name

    def surely_unwritten(self, outputs: Outputs) -> dict[str, Flags]:
        """Return the same from one run, for outputs whose poison no computation produces.

        That poison is a NaN with all bits set. Integers and fp8 may equal their poison by chance.
        """
        kinds = {leaf.name: self._kinds[leaf.allocation] for leaf in self.outputs}
        sure = {
            name for name, dtype in kinds.items() if dtype.kind not in "iub" and dtype.itemsize > 1
        }
        return {name: flags for name, flags in self.unwritten(outputs).items() if name in sure}

    def is_plain_byte(self, name: str) -> bool:
        """Return True if an output has 1-byte integers, which often equal the poison."""
        [leaf] = (leaf for leaf in self.outputs if leaf.name == name)
        kind = self._kinds[leaf.allocation]
        return kind.itemsize == 1 and kind.kind in "iu"

    def places(self, addresses: Sequence[int]) -> list[dict[str, Any]]:
        """Return the layout of each buffer as JSON; the allocations start at `addresses`."""
        return [
            {
                "name": leaf.name,
                "start": addresses[leaf.allocation],
                "elements": int(self._allocations[leaf.allocation]["elements"]),
                "dtype": self._allocations[leaf.allocation]["dtype"],
                "shape": list(leaf.shape),
                "strides": list(leaf.strides),
                "offset": leaf.offset,
            }
            for leaf in self._leaves
        ]

    def damaged(self, allocation: int, at_byte: int) -> Finding:
        """Return the finding of a write to the red zones of an allocation."""
        name = self._allocations[allocation]["name"]
        element = at_byte // self._kinds[allocation].itemsize
        leaves = [leaf for leaf in self._leaves if leaf.allocation == allocation]
        named = [leaf for leaf in leaves if leaf.name == name] or leaves
        held = int(self._allocations[allocation]["elements"])
        where = "past its end" if element >= held else "before its start"
        count = element - held + 1 if element >= held else -element
        return Finding(
            kind=GpuFault.OUT_OF_BOUNDS.value,
            access="write",
            argument=name,
            index=index_of(element, named[0]) if named else [element],
            message=f"The kernel wrote to {name}, {_elements(count)} {where}: "
            f"it has {_elements(held)}. Give tl.store a mask that leaves out offsets outside of "
            "the buffer.",
        )


def wrote_to_copies() -> Finding:
    """Return the finding of a write to the copies, at secret addresses, that check timed runs."""
    return Finding(
        kind=GpuFault.OUT_OF_BOUNDS.value,
        access="write",
        message="A timed run of the kernel wrote outside its arguments: it changed the copies of "
        "the first run's outputs, which check the timed runs. Check masks and offsets.",
    )


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"


def _cannot_be_made(error: Exception) -> JobFailed:
    return JobFailed("malformed_job", f"the arguments cannot be made: {error}")


MAX_FIRST_RUN_MS = 1000.0
"""No second run follows a longer first run, since it could exceed the time limit."""


def missing_of(
    contents: Contents, outputs: Outputs, run_again: Callable[[], Outputs] | None
) -> dict[str, Flags]:
    """Return masks of the unwritten elements, by name, for `outputs` that have some.

    `run_again` runs the kernel over the other poison and returns its outputs. Without it, elements
    that hold the poison count as unwritten, except 1-byte integers, which often equal it.
    """
    suspects = contents.unwritten(outputs)
    if not suspects:
        return {}
    if run_again is None:
        return {name: flags for name, flags in suspects.items() if not contents.is_plain_byte(name)}
    again = contents.unwritten(run_again(), other=True)
    both = {name: suspects[name] & again[name] for name in suspects.keys() & again.keys()}
    return {name: flags for name, flags in both.items() if flags.any()}


def missing_later(
    contents: Contents, first: Outputs, missing: Mapping[str, Flags], later: Outputs
) -> dict[str, Flags]:
    """Return the same masks for a later run; `missing` are those of the `first` run.

    An element that the first run wrote with the value of the poison counts as written again.
    """
    before, unwritten_later = contents.unwritten(first), {}
    for name, flags in contents.unwritten(later).items():
        known = before.get(name, np.False_) & ~missing.get(name, np.zeros_like(flags))
        if (flags & ~known).any():
            unwritten_later[name] = flags & ~known
    return unwritten_later
