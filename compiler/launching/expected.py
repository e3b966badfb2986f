"""What a reference returned, brought to one array for every output, or refused in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.launching.buffers import Leaf
from compiler.launching.dtypes import Array, is_float
from compiler.making.failure import Failure

SLUG = "invalid_reference"


def by_output(returned: Any, outputs: Sequence[Leaf]) -> dict[str, Array]:
    """Return the expected elements of every output that the reference speaks of, in C order.

    `returned` is a dict by output name, or the array of the only output. An array must have its
    output's shape, and be of integers or booleans for an output of integers; its own type is kept.
    Raises `Failure`.
    """
    names = ", ".join(output.name for output in outputs)
    if not isinstance(returned, dict):
        if len(outputs) != 1:
            message = f"the reference must return a dict of the outputs: {names}"
            raise Failure(SLUG, "reference", message)
        returned = {outputs[0].name: returned}
    known = {output.name: output for output in outputs}
    for name in returned:
        if name not in known:
            message = f"the reference returned {name!r}, which is no output; there are: {names}"
            raise Failure(SLUG, "reference", message)
    return {name: _checked(value, known[name]) for name, value in returned.items()}


def _checked(value: Any, output: Leaf) -> Array:
    try:
        array = np.array(value, order="C")
    except (ValueError, TypeError) as error:
        message = f"the reference returned no array for {output.name!r}: {error}"
        raise Failure(SLUG, "reference", message) from error
    said = (
        f"the reference returned {array.dtype.name} of shape {list(array.shape)} "
        f"for {output.name!r}"
    )
    if array.dtype.name.startswith(("bfloat16", "float8")):
        array = array.astype(np.float32)
    if array.dtype.kind not in "biuf":
        raise Failure(SLUG, "reference", f"{said}: only booleans, integers and floats are compared")
    if array.shape != output.shape:
        raise Failure(SLUG, "reference", f"{said}, whose shape is {list(output.shape)}")
    if array.dtype.kind == "f" and not is_float(output.dtype):
        raise Failure(SLUG, "reference", f"{said}, which is {output.dtype}: return integers")
    return array.astype(np.float64) if array.dtype.itemsize > 8 else array
