"""Values that a request writes out as nested lists."""

import math
from collections.abc import Iterator
from typing import Any

from compiler.launch.element import read_element, written_element
from compiler.rejection import Fault, RequestRejected, pointer

MAX_VALUES = 65_536


def bind_values(values: Any, shape: list[int], dtype: str, at: str) -> list[Any]:
    """Return the values in C order, flat.

    Raises RequestRejected for a list that does not match the shape, and values of another dtype.
    """
    if math.prod(shape) > MAX_VALUES:
        message = f"more than {MAX_VALUES} values; upload them with PUT /v1/tensors/{{digest}}"
        raise RequestRejected(Fault(at, message))
    leaves = _leaves(values, shape, at)
    return [written_element(read_element(item, dtype, where)) for where, item in leaves]


def _leaves(values: Any, shape: list[int], at: str) -> Iterator[tuple[str, Any]]:
    if not shape:
        yield at, values
        return
    if not isinstance(values, list) or len(values) != shape[0]:
        raise RequestRejected(Fault(at, f"must be a list of {shape[0]}, as the shape says"))
    for index, item in enumerate(values):
        yield from _leaves(item, shape[1:], at + pointer(index))
