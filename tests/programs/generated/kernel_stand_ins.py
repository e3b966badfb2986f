"""The fixed kernels in plain torch over the same memory, for eager programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class TorchKernel:
    """Launched like a kernel, `name[grid](…)`; runs all its programs at once."""

    def __init__(self, run: Callable[..., None]) -> None:
        self._run = run

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        def launch(*args: Any, **constants: Any) -> None:
            sizes = grid(constants) if callable(grid) else grid
            self._run(*[*sizes, 1, 1][:2], *args, **constants)

        return launch


def _at(tensor: torch.Tensor, sizes: tuple[int, ...], steps: tuple[int, ...]) -> torch.Tensor:
    # `data`, because a kernel's writes do not count in `_version`.
    return tensor.data.as_strided(sizes, steps)


def _add(grid: int, _: int, x: Any, y: Any, out: Any, n: int, BLOCK: int) -> None:
    count = (min(n, grid * BLOCK),)
    _at(out, count, (1,)).copy_(_at(x, count, (1,)) + _at(y, count, (1,)))


def _scale(
    grid: int, _: int, x: Any, out: Any, n: int, x_step: int, out_step: int, by: float, BLOCK: int
) -> None:
    count = (min(n, grid * BLOCK),)
    # Triton passes the factor as an fp32 or i32, which affects the product's type.
    factor = torch.tensor([by], dtype=torch.float32 if isinstance(by, float) else torch.int32)
    _at(out, count, (out_step,)).copy_(_at(x, count, (x_step,)) * factor)


def _row_sum(
    grid: int, _: int, x: Any, out: Any, columns: int, row_step: int, column_step: int, BLOCK: int
) -> None:
    rows = _at(x, (grid, columns), (row_step, column_step))
    _at(out, (grid,), (1,)).copy_(rows.sum(1))


def _copy(
    grid: int, grid_n: int, x: Any, out: Any, M: int, N: int, *steps: int, BM: int, BN: int
) -> None:
    sizes = (min(M, grid * BM), min(N, grid_n * BN))
    _at(out, sizes, steps[2:]).copy_(_at(x, sizes, steps[:2]))


STAND_INS = {
    "add_kernel": TorchKernel(_add),
    "scale_kernel": TorchKernel(_scale),
    "row_sum_kernel": TorchKernel(_row_sum),
    "copy_kernel": TorchKernel(_copy),
}
