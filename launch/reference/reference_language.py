"""The languages of references: how their functions are given inputs, and how answers are read.

Torch's is in a separate module, since most children lack torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from launch.buffers.element_types import Array, readable


def _nothing(_given: Any) -> None:
    return None


def _same(returned: Any) -> Any:
    return returned


@contextmanager
def generators_as_before() -> Iterator[None]:
    """Leave NumPy's random numbers that have no seed, and its treatment of errors, as they were.

    Python's own are others in every process.
    """
    before = np.random.get_state()
    try:
        with np.errstate():
            yield
    finally:
        np.random.set_state(before)


@dataclass(frozen=True)
class Language:
    """`given`: stored elements and their Triton type to what the function receives.

    `returned` is its inverse for what `by_output` cannot read itself; `misused` says what the
    function did to the inputs that it may not, None where that is nothing. `undisturbed` lets a
    function find what it would find in a new process, where one calls it for several cases.
    """

    name: str
    given: Callable[[Array, str], Any]
    returned: Callable[[Any], Any] = _same
    misused: Callable[[Mapping[str, Any]], str | None] = _nothing
    undisturbed: Callable[[], AbstractContextManager[Any]] = generators_as_before
    of_numbers: Callable[[Array], Any] = _same
    """Converts an array that NumPy can calculate with to the function's argument."""


def _read_only(numbers: Array) -> Array:
    array = np.array(numbers, order="C")
    array.flags.writeable = False
    return array


NUMPY = Language(
    "numpy",
    given=lambda elements, dtype: _read_only(readable(elements, dtype)),
    of_numbers=_read_only,
)
