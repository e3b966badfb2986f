"""Arguments that the service creates: buffers by shape, dtype and contents.

Each function returns the JSON of one launch argument; more members (`strides`, `offset`,
`align_bytes`) can be added with `|`. A seed gives the same random numbers on every device;
without a seed the service picks one and returns it in `Launch.seeds`.
"""

from collections.abc import Sequence
from typing import Any

Shape = int | Sequence[int]
Buffer = dict[str, Any]


def output(shape: Shape, dtype: str = "fp32") -> Buffer:
    """Return a buffer for the kernel to fill; it starts with poison, which reveals gaps."""
    return {"shape": _extents(shape), "dtype": dtype, "output": True}


def zeros(shape: Shape, dtype: str = "fp32", *, output: bool = False) -> Buffer:
    """Return a buffer of zeros; with `output` the kernel modifies it in place, here and below."""
    return _filled(shape, dtype, output, kind="zeros")


def ones(shape: Shape, dtype: str = "fp32", *, output: bool = False) -> Buffer:
    """Return a buffer of ones."""
    return _filled(shape, dtype, output, kind="ones")


def full(shape: Shape, value: float, dtype: str = "fp32", *, output: bool = False) -> Buffer:
    """Return a buffer with `value` everywhere."""
    return _filled(shape, dtype, output, kind="full", value=value)


def arange(
    shape: Shape, dtype: str = "fp32", *, start: float = 0, step: float = 1, output: bool = False
) -> Buffer:
    """Return `start`, `start + step`, ... in C order of the shape."""
    return _filled(shape, dtype, output, kind="arange", start=start, step=step)


def uniform(
    shape: Shape,
    dtype: str = "fp32",
    *,
    low: float = 0,
    high: float = 1,
    seed: int | None = None,
    output: bool = False,
) -> Buffer:
    """Return random numbers between `low` and `high`."""
    return _filled(shape, dtype, output, kind="uniform", low=low, high=high, seed=seed)


def normal(
    shape: Shape,
    dtype: str = "fp32",
    *,
    mean: float = 0,
    std: float = 1,
    seed: int | None = None,
    output: bool = False,
) -> Buffer:
    """Return normally distributed random numbers."""
    return _filled(shape, dtype, output, kind="normal", mean=mean, std=std, seed=seed)


def randint(
    shape: Shape,
    dtype: str = "i32",
    *,
    low: int = 0,
    high: int,
    seed: int | None = None,
    output: bool = False,
) -> Buffer:
    """Return random integers from `low` to `high - 1`."""
    return _filled(shape, dtype, output, kind="randint", low=low, high=high, seed=seed)


def values(
    shape: Shape, items: Sequence[Any], dtype: str = "fp32", *, output: bool = False
) -> Buffer:
    """Return a buffer of `items`, nested lists in the buffer's shape, sent with the request."""
    return _filled(shape, dtype, output, kind="values", values=list(items))


def _filled(shape: Shape, dtype: str, output: bool, **init: Any) -> Buffer:
    init = {name: value for name, value in init.items() if value is not None}
    buffer = {"shape": _extents(shape), "dtype": dtype, "init": init}
    return buffer | ({"output": True} if output else {})


def _extents(shape: Shape) -> list[int]:
    return [shape] if isinstance(shape, int) else list(shape)
