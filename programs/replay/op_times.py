"""Measures the CPU time of ATen ops, without the fixed cost of a call.

The fixed cost of a short op is that of the same op on tensors of one element, where it takes such.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from programs.replay.operators import GeneratorOf, TensorOf, changes_geometry, flat, prepared
from programs.tape.overload_effects import draws, makes_views, written_tensors
from programs.tape.schema import AtenOp, TensorRef
from programs.tape.tensor_extents import may_overlap

_SHORT_S = 50e-6
_MORE_OF_SHORT = 7
"""Times as many calls of an op that takes less than `_SHORT_S`, in a tape of `_FEW_OPS`."""
_FEW_OPS = 1_000
_SMALL_CALLS = 9
_MOST_FIXED = 3
"""Limit of an op's fixed cost, as a multiple of an addition's: some ops also do much for one
element."""


class OpTimes:
    """The times of a tape's ops, by index."""

    def __init__(self, ops: int, repeats: int) -> None:
        """Measure nothing if `repeats` is 0."""
        self._repeats, self._is_short = repeats, ops <= _FEW_OPS
        self._us = [0.0] * ops if repeats else []
        self._now = 0
        self._addition_s = _cost_of_addition_s() if repeats else 0.0

    @property
    def us(self) -> Sequence[float]:
        """The time of each op in microseconds; empty if nothing is measured."""
        return self._us

    def note(self, index: int) -> None:
        """Take the index of the next op."""
        self._now = index

    def call(
        self, op: AtenOp, tensor: TensorOf, device: torch.device, generator: GeneratorOf
    ) -> list[Any]:
        """Call an op several times, and leave what one call leaves.

        What draws, changes a shape, or writes one place several times, is called once.
        """
        changed = [tensor(id_) for id_ in written_tensors(op)]
        overlaps = any(may_overlap(one.shape, one.stride()) for one in changed)
        is_single = changes_geometry(op.op) or draws(op) or overlaps
        least = 1 if is_single else self._repeats
        is_repeated = self._is_short and least > 1
        call = prepared(op, tensor, device, generator)
        before = [one.clone() for one in changed] if least > 1 else []
        times: list[float] = []
        while len(times) < least or (
            is_repeated and len(times) < least * _MORE_OF_SHORT and min(times) < _SHORT_S
        ):
            for one, content in zip(changed if times else (), before, strict=False):
                one.copy_(content)
            began = time.thread_time()
            results = call()
            times.append(time.thread_time() - began)
        fixed_s = self._addition_s
        if is_repeated and min(times) < _SHORT_S and not makes_views(op):
            fixed_s = self._fixed_s(op, tensor, device, generator)
        self._us[self._now] = max(0.0, min(times) - fixed_s) * 1e6
        return list(flat(results))

    def _fixed_s(
        self, op: AtenOp, tensor: TensorOf, device: torch.device, generator: GeneratorOf
    ) -> float:
        """Return the time of the same op on single elements, within limits."""
        try:
            call = prepared(op, lambda id_: _single(tensor(id_)), device, generator)
            small_s = _least_s(call, _SMALL_CALLS)
        except (RuntimeError, LookupError, ValueError, TypeError):  # it takes no such tensors
            return self._addition_s
        return min(max(small_s, self._addition_s), _MOST_FIXED * self._addition_s)


def _single(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy of the first element, in as many axes. It is 0 if it may be an index."""
    one = tensor[(slice(0, 1),) * tensor.dim()]
    is_number = one.is_floating_point() or one.is_complex()
    return one.clone() if is_number else torch.zeros_like(one)


def _cost_of_addition_s() -> float:
    """Return the CPU time of a call that computes next to nothing."""
    one = torch.ones(1)
    args = (TensorRef(0), TensorRef(0))
    add = AtenOp("aten.add.Tensor", args, {}, (1,), "run", None)
    return _least_s(prepared(add, lambda _: one, one.device), _MORE_OF_SHORT * _SMALL_CALLS)


def _least_s(call: Callable[[], Any], calls: int) -> float:
    times = []
    for _ in range(calls):
        began = time.thread_time()
        call()
        times.append(time.thread_time() - began)
    return min(times)
