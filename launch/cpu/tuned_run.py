"""Runs a launch once more on the memory that it left, as Triton's autotuner does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from compiler.ttir_to_numpy.batched_codegen import RunForm
from launch.buffers.allocation import Allocation, Leaf, leaves, view
from launch.buffers.element_types import Array
from launch.checks.kernel_run import KernelRun, RunOptions
from launch.checks.tuning import (
    TunedKernel,
    finding_of,
    joined,
    tuning_side_effect,
    what_to_write,
)
from launch.cpu.argument_arena import LaunchMemory
from launch.cpu.grid_run import run_grid
from launch.messages import Finding, RunOrder, TuningOrder

_MORE = 4
"""The accesses and rounds that a second run may have, relative to the first run's."""


def tuning_findings(
    form: RunForm, order: RunOrder, memory: LaunchMemory, first: KernelRun
) -> list[Finding]:
    """Return a finding if a run after `first` leaves something else."""
    assert order.tuning is not None
    outputs = frozenset(leaf.allocation for leaf in leaves(order.arguments) if leaf.output)
    left = _LeftMemory(memory, first, outputs)
    before, once, filled = left.before(), left.contents(), left.filled()
    rewritten = frozenset(
        number
        for number in outputs
        if filled[number].any() and not np.array_equal(before[number], once[number])
    )
    if not rewritten:
        return []
    tuned = _TunedLaunch(order, order.tuning, first, rewritten, has_atomics=form.has_atomics)
    accesses, rounds = (
        _MORE * (count + 1) for count in (first.access_checker.accesses, first.rounds)
    )

    def run_again() -> Finding | None:
        how = RunOptions(max_accesses=accesses, max_rounds=rounds)
        return run_grid(form, order, left, how).stopped

    found = tuning_side_effect(tuned, left, run_again)
    return [] if found is None else [found]


class _LeftMemory:
    """The allocations that a launch may change, by number; each run begins as the last one ended.

    What a run leaves is read from the memory that it got last, as it may start again.
    """

    def __init__(self, memory: LaunchMemory, first: KernelRun, changed: Collection[int]) -> None:
        self._memory, self._changed = memory, changed
        self._begin: Mapping[int, Array] = {}
        self._last = first.allocations

    def fresh(self) -> list[Allocation]:
        """Return memory with the contents that runs begin with."""
        self._last = self._memory.fresh()
        for number, octets in self._begin.items():
            _octets(self._last[number])[:] = octets
        return self._last

    def filled(self) -> list[Array]:
        """Return flags of the elements with contents."""
        return self._memory.filled()

    def before(self) -> Mapping[int, Array]:
        """Return the bytes before the launch."""
        allocations = self._memory.fresh()
        return {number: _octets(allocations[number]) for number in self._changed}

    def contents(self) -> dict[int, Array]:
        """Return copies of the bytes now."""
        return {number: _octets(self._last[number]).copy() for number in self._changed}

    def begin_with(self, contents: Mapping[int, Array]) -> None:
        """Begin further runs with these bytes."""
        self._begin = dict(contents)

    def dtypes(self) -> Mapping[int, str]:
        """Return the dtype of each allocation."""
        return {number: self._last[number].dtype for number in self._changed}


class _TunedLaunch:
    """A launch of an autotuned kernel; parts of memory are allocations."""

    def __init__(
        self,
        order: RunOrder,
        tuning: TuningOrder,
        first: KernelRun,
        rewritten: frozenset[int],
        *,
        has_atomics: bool,
    ) -> None:
        """`rewritten` are allocations with contents that the first run changed."""
        self._order, self._tuning, self._has_atomics = order, tuning, has_atomics
        self.rewritten = rewritten
        self._outputs = [leaf for leaf in leaves(order.arguments) if leaf.output]
        self._dtypes = [allocation.memory.dtype for allocation in first.allocations]

    def unused(self) -> Collection[int]:
        """Return nothing: each output is compared."""
        return ()

    def prepare(self, contents: dict[int, Array], before: Mapping[int, Array]) -> None:
        """Zero and restore what the autotuner does."""
        for leaf in self._prepared(self._tuning.restore_value):
            self._view(contents, leaf)[...] = self._view(before, leaf)
        for leaf in self._prepared(self._tuning.reset_to_zero):
            self._view(contents, leaf)[...] = 0

    def finding(
        self, causes: frozenset[int], before: Mapping[int, Array], difference: str
    ) -> Finding:
        """Return the finding that runs change each other through these allocations."""
        found = [leaf for leaf in self._outputs if leaf.allocation in causes]
        described = self._tuning
        kernel = TunedKernel(
            described.kernel, described.file, described.line, described.configurations
        )
        names = [leaf.name for leaf in found]
        return finding_of(kernel, names, difference, self._advice(found, before))

    def _advice(self, found: list[Leaf], before: Mapping[int, Array]) -> str:
        zeroed: list[str] = []
        restored: list[str] = []
        for leaf in found:
            if self._order.arguments.get(leaf.name, {}).get("kind") != "buffer":
                return (
                    f"Set {joined([each.name for each in found])} in a pre_hook of each "
                    "triton.Config."
                )
            is_zero = not self._view(before, leaf).astype(np.bool_).any()
            (zeroed if self._has_atomics and is_zero else restored).append(leaf.name)
        return what_to_write(zeroed, restored)

    def _prepared(self, names: Collection[str]) -> Iterator[Leaf]:
        return (leaf for leaf in self._outputs if leaf.name in names)

    def _view(self, contents: Mapping[int, Array], leaf: Leaf) -> Array:
        return view(contents[leaf.allocation].view(self._dtypes[leaf.allocation]), leaf)


def _octets(allocation: Allocation) -> Array:
    return allocation.memory.view(np.uint8)
