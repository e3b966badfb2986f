"""Syntax of values on the command line: `num_warps=4`, `x=fp32[98432]:uniform(seed=1)`."""

import json
import re
from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tritonc.compile_body import named_dtype
from tritonc.local_file import bounded_bytes
from tritonc.upload import Upload, array

OUTPUT = "output"
MAX_ARRAY_BYTES = 1 << 30
FILL_PARAMETERS = {
    "zeros": (),
    "ones": (),
    "full": ("value",),
    "arange": ("start", "step"),
    "uniform": ("low", "high"),
    "normal": ("mean", "std"),
    "randint": ("low", "high"),
}
_SHOWN_CHARS = 40
_BUFFER = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[\d, ]*)\](?::(?P<filled>.+))?")
_INIT = re.compile(r"(?P<kind>\w+)(?:\((?P<members>.*)\))?")


def assignment(word: str) -> tuple[str, str]:
    """Split NAME=TEXT. Raises ArgumentTypeError if the name or the `=` is missing."""
    name, equals, text = word.partition("=")
    if not name or not equals:
        raise ArgumentTypeError(f"{word!r} is not NAME=VALUE")
    return name, text


def value(text: str) -> Any:
    """Parse a JSON value, True, False or None; other text stays a string, such as `fp16` or `ieee`.

    So 16 is an int, 0.5 a float, "16" a string, [1, 2] a tuple, and a dtype is tl.bfloat16 or
    {"dtype": "bf16"}.
    Raises ArgumentTypeError for numbers or nesting beyond the limits of Python's JSON parser.
    """
    python = {"True": True, "False": False, "None": None}
    if text in python:
        return python[text]
    if (dtype := named_dtype(text)) is not None:
        return dtype
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
    except (ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"{text[:_SHOWN_CHARS]}… is not a valid value: {error}") from error


def signature(words: Sequence[str]) -> dict[str, str] | str | None:
    """Return a signature: types by position for one word without `=`, otherwise types by name.

    Raises ArgumentTypeError for a word without a name.
    """
    if len(words) == 1 and "=" not in words[0]:
        return words[0]
    try:
        return dict(map(assignment, words)) or None
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"--signature: {error}") from None


def launch_argument(text: str) -> Any:
    """Return the argument that `text` describes.

    Raises ArgumentTypeError for a buffer that does not follow `tritonc launch --help` and for a
    file that is not in .npy format, and OSError for a file that cannot be read.
    """
    if text.startswith("@"):
        return _file(text[1:])
    buffer = _BUFFER.fullmatch(text)
    if buffer is None:
        return value(text)
    words = filter(str.strip, buffer["shape"].split(","))
    try:
        extents = [int(extent) for extent in words]
    except ValueError as error:
        raise ArgumentTypeError(f"{text[:_SHOWN_CHARS]}… has an invalid shape: {error}") from error
    described: dict[str, Any] = {"shape": extents, "dtype": buffer["dtype"]}
    filled = buffer["filled"] or ""
    if filled == OUTPUT:
        return described | {"output": True}
    if filled.endswith(f":{OUTPUT}"):
        described["output"] = True
        filled = filled.removesuffix(f":{OUTPUT}")
    return described | ({"init": _init(filled)} if filled else {})


def _file(named: str) -> Upload:
    path = named.removesuffix(f":{OUTPUT}")
    try:
        return array(bounded_bytes(Path(path), MAX_ARRAY_BYTES), output=path != named)
    except ValueError as error:
        raise ArgumentTypeError(f"{path}: {error}") from error


def _init(text: str) -> dict[str, Any]:
    init = _INIT.fullmatch(text)
    if init is None:
        message = f"{text!r} is not a way to fill a buffer; write, for example, normal(std=2)"
        raise ArgumentTypeError(message)
    members: dict[str, Any] = {}
    names = iter(FILL_PARAMETERS.get(init["kind"], ()))
    for word in filter(None, (part.strip() for part in (init["members"] or "").split(","))):
        name, equals, text = word.partition("=")
        if not equals:
            name, text = next(names, ""), word
        if not name:
            raise ArgumentTypeError(f"{word!r}: {init['kind']} has too many positional values")
        members[name.strip()] = value(text.strip())
    return {"kind": init["kind"], **members}
