"""The languages of references: conversions of inputs and results.

Torch has a separate module, because most children must not import torch.
"""

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
def preserved_numpy_state() -> Iterator[None]:
    """Restore the state of NumPy's global generator and its error handling afterwards.

    Python's own generator needs no restoring: its seed differs in every process anyway.
    """
    before = np.random.get_state()
    try:
        with np.errstate():
            yield
    finally:
        np.random.set_state(before)


@dataclass(frozen=True)
class Language:
    """The conversions of one language of references.

    `argument` converts stored elements of a Triton type to an argument of the function. `returned`
    converts results that `by_output` cannot read. `modified_in_place` describes a forbidden change
    to an input, or returns None. `preserved_state` restores global state, so that a later case sees
    what it would see in a new process.
    """

    name: str
    argument: Callable[[Array, str], Any]
    returned: Callable[[Any], Any] = _same
    modified_in_place: Callable[[Mapping[str, Any]], str | None] = _nothing
    preserved_state: Callable[[], AbstractContextManager[Any]] = preserved_numpy_state
    of_numbers: Callable[[Array], Any] = _same
    """Converts an array of numbers to an argument of the function."""


def _read_only(numbers: Array) -> Array:
    array = np.array(numbers, order="C")
    array.flags.writeable = False
    return array


NUMPY = Language(
    "numpy",
    argument=lambda elements, dtype: _read_only(readable(elements, dtype)),
    of_numbers=_read_only,
)
