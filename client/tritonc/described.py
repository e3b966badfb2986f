"""How the command line describes an argument of a launch: `fp32[98432]:uniform(seed=1)`."""

import re
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from tritonc.arguments import value
from tritonc.upload import Upload, array

OUTPUT = "output"
POSITIONS = {
    "zeros": (),
    "ones": (),
    "full": ("value",),
    "arange": ("start", "step"),
    "uniform": ("low", "high"),
    "normal": ("mean", "std"),
    "randint": ("low", "high"),
}
_BUFFER = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[\d, ]*)\](?::(?P<filled>.+))?")
_INIT = re.compile(r"(?P<kind>\w+)(?:\((?P<members>.*)\))?")


def argument(text: str) -> Any:
    """Return the argument that `text` describes.

    Raises ArgumentTypeError for a buffer that is not written as `tritonc launch --help` says and a
    file that is no .npy file, OSError for one that cannot be read.
    """
    if text.startswith("@"):
        return _file(text[1:])
    buffer = _BUFFER.fullmatch(text)
    if buffer is None:
        return value(text)
    extents = [int(extent) for extent in buffer["shape"].split(",") if extent.strip()]
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
        return array(Path(path).read_bytes(), output=path != named)
    except ValueError as error:
        raise ArgumentTypeError(f"{path}: {error}") from error


def _init(text: str) -> dict[str, Any]:
    init = _INIT.fullmatch(text)
    if init is None:
        message = f"{text!r} is no way to fill a buffer; write one as uniform or normal(std=2)"
        raise ArgumentTypeError(message)
    members: dict[str, Any] = {}
    names = iter(POSITIONS.get(init["kind"], ()))
    for word in filter(None, (part.strip() for part in (init["members"] or "").split(","))):
        name, equals, text = word.partition("=")
        if not equals:
            name, text = next(names, ""), word
        if not name:
            raise ArgumentTypeError(f"{word!r}: {init['kind']} takes no more values by position")
        members[name.strip()] = value(text.strip())
    return {"kind": init["kind"], **members}
