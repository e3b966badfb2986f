"""The initial contents of a buffer for each kind of initialiser, the same on every machine.

Random kinds call `uniform`, `normal` or `integers` of
`numpy.random.Generator(numpy.random.Philox(seed))` in float64 or 64-bit integers, then cast. Anyone
can reproduce these numbers with NumPy.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.json_number import read_number
from launch.buffers import npy
from launch.buffers.element_types import Array, cast, is_float, stored
from launch.buffers.random_values import PIECE, random_elements

_MAX_SIGNED = 2**63


class BadInitialiser(ValueError):
    """An initialiser does not fit its buffer; the message explains why."""


def elements(init: dict[str, Any], count: int, dtype: str, uploaded: bytes) -> Array:
    """Return `count` stored elements of `dtype` in logical order, as `init` describes them.

    `uploaded` is the `.npy` file of a `tensor`. The array is new, except that elements of a
    `tensor` may share `uploaded` and be read-only. Raises `BadInitialiser`, and `ValueError` for
    an unknown dtype or a malformed number.
    """
    match init["kind"]:
        case "zeros":
            return np.zeros(count, stored(dtype))
        case "ones":
            return _repeated(np.ones(1, np.int64), count, dtype)
        case "full":
            return _repeated(np.atleast_1d(_exact(read_number(init["value"]))), count, dtype)
        case "arange":
            return _arange(init, count, dtype)
        case "uniform" | "normal" | "randint":
            return random_elements(init, count, dtype)
        case "values":
            return _values(init["values"], count, dtype)
        case "tensor":
            return _tensor(uploaded, count, dtype)
    message = f"unknown kind of initialiser: {init['kind']!r}"
    raise BadInitialiser(message)


def _repeated(value: Array, count: int, dtype: str) -> Array:
    """Return an array of `count` elements, all equal to the only one of `value`."""
    made = np.empty(count, stored(dtype))
    made[...] = cast(value, dtype)
    return made


def _exact(number: float) -> Any:
    """Return a NumPy scalar that holds `number` exactly. Raises `BadInitialiser` beyond 64 bits."""
    if isinstance(number, float):
        return np.float64(number)
    if -_MAX_SIGNED <= number < _MAX_SIGNED:
        return np.int64(number)
    if 0 <= number < 2 * _MAX_SIGNED:
        return np.uint64(number)
    message = f"the integer {number} does not fit in 64 bits"
    raise BadInitialiser(message)


def _arange(init: dict[str, Any], count: int, dtype: str) -> Array:
    made = np.empty(count, stored(dtype))
    start, step = read_number(init.get("start", 0)), read_number(init.get("step", 1))
    is_float = isinstance(start, float) or isinstance(step, float)
    first, distance = (
        (float(start), float(step))
        if is_float
        else (_exact(start).astype(np.int64), _exact(step).astype(np.int64))
    )
    for begin in range(0, count, PIECE):
        piece = made[begin : begin + PIECE]
        positions = np.arange(begin, begin + piece.size, dtype=np.float64 if is_float else np.int64)
        with np.errstate(over="ignore"):
            piece[...] = cast(first + distance * positions, dtype)
    return made


def _values(values: Any, count: int, dtype: str) -> Array:
    numbers = list(_flat(values))
    if len(numbers) != count:
        message = f"needs {count} values, one for each element, but lists {len(numbers)}"
        raise BadInitialiser(message)
    if is_float(dtype):
        return cast(np.array([float(number) for number in numbers], np.float64), dtype)
    if not numbers:
        return np.empty(0, stored(dtype))
    return np.concatenate([cast(np.atleast_1d(_exact(number)), dtype) for number in numbers])


def _flat(values: Any) -> Iterator[float]:
    if not isinstance(values, list):
        yield read_number(values)
        return
    for value in values:
        yield from _flat(value)


def _tensor(uploaded: bytes, count: int, dtype: str) -> Array:
    array = npy.elements(npy.read(uploaded), dtype)
    if array.size != count:
        message = f"the tensor has shape {list(array.shape)}, but the argument has {count} elements"
        raise BadInitialiser(message)
    return np.ascontiguousarray(array).reshape(-1)
