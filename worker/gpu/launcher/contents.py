"""The bytes of buffers before a run; after it the elements of outputs, and which are unwritten.

What a kernel did not write shows the poison of each of two runs: one run alone cannot tell a value
that equals the poison from one that was not written, and the second is only made where there is
something to tell. Runs in launchers, on NumPy; knows no CUDA.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from launch.buffers.allocation import Leaf, leaves, logical_bytes, memory_of
from launch.buffers.content_key import content_key
from launch.buffers.element_types import stored
from launch.buffers.poison import poison_of, unwritten
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
    """The allocations of one job: what they start with, and how to read its outputs."""

    def __init__(self, job: LauncherOrder) -> None:
        """Read the description. Raises JobFailed for what cannot be made."""
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
                named.get((index, one["name"])) for index, one in enumerate(job.allocations)
            ]
            self.keys = [
                content_key(one, layout)
                for one, layout in zip(job.allocations, self._layouts, strict=True)
            ]
            """What the first contents can be kept under; None where they are not to be kept."""
        except (ValueError, KeyError, TypeError) as error:
            raise _cannot_be_made(error) from error
        self._allocations = job.allocations
        self._uploads = job.uploads

    def is_poisoned(self, allocation: int) -> bool:
        """Whether an allocation starts with the poison."""
        return self._allocations[allocation]["init"] is None

    def initial(self, allocation: int, *, seed: int | None = None) -> Bytes | None:
        """Make the bytes that an allocation starts with; None for the poison. Raises JobFailed.

        With `seed` those of random values of another seed.
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
        """Return what a GPU can make the same bytes of; None where the host has to."""
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
        """Whether an output is all of its allocation, one element behind the other."""
        return leaf.covers(int(self._allocations[leaf.allocation]["elements"]))

    @property
    def written(self) -> set[int]:
        """The allocations that the kernel may write to."""
        declared = {index for index, one in enumerate(self._allocations) if one["output"]}
        return declared | {leaf.allocation for leaf in self.outputs}

    def elements(self, leaf: Leaf, memory: Bytes) -> bytes:
        """Return the elements of an output in C order, from the bytes of its allocation.

        Raises JobFailed for a buffer that reaches beyond it.
        """
        try:
            return logical_bytes(memory.view(self._kinds[leaf.allocation]), leaf)
        except ValueError as error:
            raise JobFailed("malformed_job", str(error)) from error

    def unwritten(self, outputs: Outputs, *, other: bool = False) -> dict[str, Flags]:
        """Return of `outputs` that were poisoned which elements hold the poison still.

        Those where none does are left out.
        """
        found = {}
        for leaf in self.outputs:
            if self.is_poisoned(leaf.allocation):
                elements = np.frombuffer(outputs[leaf.name], self._kinds[leaf.allocation])
                flags = unwritten(elements, other=other)
                if flags.any():
                    found[leaf.name] = flags
        return found

    def surely_unwritten(self, outputs: Outputs) -> dict[str, Flags]:
        """Return the same by one run alone, of outputs whose poison no calculation makes.

        That is a NaN of all bits; integers may be what the poison is, and fp8 has few values.
        """
        kinds = {leaf.name: self._kinds[leaf.allocation] for leaf in self.outputs}
        sure = {name for name, one in kinds.items() if one.kind not in "iub" and one.itemsize > 1}
        return {name: one for name, one in self.unwritten(outputs).items() if name in sure}

    def is_plain_byte(self, name: str) -> bool:
        """Whether an output is of integers so small that many a one equals the poison."""
        [leaf] = (leaf for leaf in self.outputs if leaf.name == name)
        kind = self._kinds[leaf.allocation]
        return kind.itemsize == 1 and kind.kind in "iu"

    def places(self, addresses: Sequence[int]) -> list[dict[str, Any]]:
        """Return which addresses are whose: every buffer, its memory at `addresses`, as JSON."""
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
        found = [leaf for leaf in self._leaves if leaf.allocation == allocation]
        named = [leaf for leaf in found if leaf.name == name] or found
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
            "the data.",
        )


def wrote_to_copies() -> Finding:
    """Return the finding of a write to what timed runs are compared with, whose place is secret."""
    return Finding(
        kind=GpuFault.OUT_OF_BOUNDS.value,
        access="write",
        message="The kernel wrote to memory that is none of its arguments, while it was timed: to "
        "the copies of its first outputs that the timed runs are compared with.",
    )


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"


def _cannot_be_made(error: Exception) -> JobFailed:
    return JobFailed("malformed_job", f"the arguments cannot be made: {error}")


LONGEST_FIRST_RUN_MS = 1000.0
"""After a longer run there is no second one: a kernel is not to time out because of it."""


def missing_of(
    contents: Contents, outputs: Outputs, run_again: Callable[[], Outputs] | None
) -> dict[str, Flags]:
    """Return which elements of `outputs` nobody wrote, by the names of those with such.

    `run_again` runs the kernel over the other poison and returns its outputs; without it, what
    holds the poison counts as not written, but for small integers, which often equal it.
    """
    suspects = contents.unwritten(outputs)
    if not suspects:
        return {}
    if run_again is None:
        return {name: one for name, one in suspects.items() if not contents.is_plain_byte(name)}
    again = contents.unwritten(run_again(), other=True)
    both = {name: suspects[name] & again[name] for name in suspects.keys() & again.keys()}
    return {name: flags for name, flags in both.items() if flags.any()}


def missing_later(
    contents: Contents, first: Outputs, missing: Mapping[str, Flags], later: Outputs
) -> dict[str, Flags]:
    """Return the same of a later run, where `missing` was not written in the `first` one.

    What was written in the first run, and equals the poison, is taken to be so in this one.
    """
    before, found = contents.unwritten(first), {}
    for name, flags in contents.unwritten(later).items():
        known = before.get(name, np.False_) & ~missing.get(name, np.zeros_like(flags))
        if (flags & ~known).any():
            found[name] = flags & ~known
    return found
