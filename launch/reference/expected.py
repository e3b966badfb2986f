"""Parses a reference function's result: one array for each compared output, or a failure.

A failure points at the line of the function's `return`.
"""

import ast
import linecache
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.ma import MaskedArray

from compiler.diagnostic import Failure, Span, diagnostic, excerpt
from compiler.json_number import MAX_EXACT
from compiler.posted_text import python_text
from launch.buffers.allocation import Leaf
from launch.buffers.element_types import Array, is_float
from launch.messages import MARK_OUTPUT


def at_return(failure: Failure, text: str, function: str, file: str) -> Failure:
    """Return the failure with the line of the function's only `return`, or else of its `def`."""
    defined = [
        node
        for node in ast.parse(python_text(text)).body
        if isinstance(node, ast.FunctionDef) and node.name == function
    ]
    if not defined:
        return failure
    returns = list(_returns(defined[-1]))
    line = returns[0].lineno if len(returns) == 1 else defined[-1].lineno
    shown = excerpt(linecache.getlines(file), Span(file, line))
    span = Span(file.rpartition("/")[2], line)
    error = diagnostic("error", "frontend", failure.message, span=span, excerpt=shown)
    return Failure(failure.slug, failure.stage, f"line {line}: {failure.message}", [error])


def _returns(node: ast.AST) -> Iterator[ast.Return]:
    """Yield the `return` statements of a function, except those of nested functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _returns(child)


SLUG = "invalid_reference"
_NO_OUTPUT = (
    "Nothing can be compared with the reference: the launch has no output. Mark each argument that "
    f"the kernel writes as an output. {MARK_OUTPUT}"
)


class NoOutputs(Failure):
    """A reference returned results, and the launch has no outputs to compare with them."""


def by_output(returned: Any, outputs: Sequence[Leaf]) -> dict[str, Array]:
    """Return the expected elements of every output to compare, by name.

    `returned` is a dict by output name, or the array of the only output. `None` in a dict skips an
    output. An array must have its output's shape and, for an output of integers, whole numbers. It
    keeps its own dtype. Raises `Failure`; `NoOutputs` for a launch without
    outputs, for which the reference is not at fault.
    """
    if not outputs and not (isinstance(returned, dict) and not returned):
        raise NoOutputs(SLUG, "reference", _NO_OUTPUT)
    named = _by_name(returned, outputs)
    known = {output.name: output for output in outputs}
    for name in named:
        if name not in known:
            raise _refused(
                f"returned {name!r}, which is not an output; outputs: {_names(outputs)}. To "
                "compare an argument, mark it as an output"
            )
    expected = {
        name: _check(value, known[name]) for name, value in named.items() if value is not None
    }
    missing = [name for name in known if name not in named]
    if missing:
        raise _refused(
            f"returned a dict without the output {missing[0]!r}: add its array, or None to skip "
            "its comparison"
        )
    return expected


def _by_name(returned: Any, outputs: Sequence[Leaf]) -> Mapping[Any, Any]:
    if returned is None:
        raise _refused(f"returned None: end it with `return` and {_wanted(outputs)}")
    if isinstance(returned, dict):
        return returned
    if len(outputs) != 1:
        raise _refused(
            f"must return a dict of the outputs, {_wanted(outputs)}, but returned {_kind(returned)}"
        )
    return {outputs[0].name: returned}


def _check(value: Any, output: Leaf) -> Array:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise _refused(f"returned no array for {output.name!r}: {error}") from error
    masked = int(np.asarray(value.mask).sum()) if isinstance(value, MaskedArray) else 0
    if masked:
        raise _refused(
            f"returned a masked array for {output.name!r} with {masked} masked elements, but every "
            "element is compared; fill them, for example with .filled(number)"
        )
    shape = list(output.shape)
    description = f"returned {array.dtype.name} of shape {list(array.shape)} for {output.name!r}"
    if array.dtype.name.startswith(("bfloat16", "float8")):
        array = array.astype(np.float32)
    if array.dtype.kind == "O":
        raise _refused(_of_objects(array, value, output.name))
    if array.dtype.kind not in "biuf":
        raise _refused(f"{description}: return booleans, integers or floats")
    if array.shape != output.shape:
        advice = f": return an array, such as numpy.full({shape}, number)"
        raise _refused(
            f"{description}, whose shape is {shape}{advice if array.shape == () else ''}"
        )
    if array.dtype.kind == "f" and not is_float(output.dtype):
        if not _is_whole(array):
            raise _refused(
                f"{description}, which is {output.dtype}: return integers, as with .astype(int), "
                "or give the output a dtype of floats"
            )
        return array.astype(np.int64)
    if array.dtype.itemsize > 8:
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)  # sent as raw bytes


def _is_whole(array: Array) -> bool:
    """Return True if all floats are exact integers."""
    return bool(np.all((np.abs(array) <= MAX_EXACT) & (np.trunc(array) == array)))


def _of_objects(array: Array, value: Any, name: str) -> str:
    if array.shape == ():
        return f"returned {_kind(value)} for {name!r}: return booleans, integers or floats"
    strange = next((item for item in array.flat if not isinstance(item, (bool, int, float))), None)
    description = f"returned an array of Python objects for {name!r}"
    if strange is None:
        return f"{description}: convert it, for example with .astype(numpy.float64)"
    return f"{description}, including {_kind(strange)}: return booleans, integers or floats"


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"


def _names(outputs: Sequence[Leaf]) -> str:
    return ", ".join(output.name for output in outputs)


def _wanted(outputs: Sequence[Leaf]) -> str:
    if len(outputs) == 1:
        return f"the expected array of {outputs[0].name}"
    return "{" + ", ".join(f"{output.name!r}: ..." for output in outputs) + "}"


def _refused(words: str) -> Failure:
    return Failure(SLUG, "reference", f"the reference {words}")
