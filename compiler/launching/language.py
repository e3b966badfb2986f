"""What a reference is written with: how it gets its inputs, and how its answers are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.launching.dtypes import Array, readable


def _nothing(_given: Any) -> None:
    return None


def _same(returned: Any) -> Any:
    return returned


@dataclass(frozen=True)
class Language:
    """`given`: stored elements and their Triton type to what the function receives.

    `returned` is its inverse for what `by_output` cannot read itself; `misused` says what the
    function did to the inputs that it may not, None where that is nothing.
    """

    name: str
    given: Callable[[Array, str], Any]
    returned: Callable[[Any], Any] = _same
    misused: Callable[[Mapping[str, Any]], str | None] = _nothing


def _read_only(elements: Array, dtype: str) -> Array:
    array = np.array(readable(elements, dtype), order="C")
    array.flags.writeable = False
    return array


NUMPY = Language("numpy", given=_read_only)
