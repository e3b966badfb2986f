"""Short forms that language models write for arguments, as on the command line. Runs in: service.

`fp32[8,1000]:normal(std=2)` is a buffer, `"8"` a grid of one axis, `BLOCK` the axis
`constexprs.BLOCK` of a sweep.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from compiler.request.options import BACK_OPTIONS
from launch.request.initializer import BY_POSITION

_BUFFER = re.compile(
    r"(?P<dtype>[a-z]\w{1,15})\[(?P<shape>[\d, ]{0,100})\](?P<words>(?::[^:]{1,200}){0,2})",
    re.ASCII,
)
_INIT = re.compile(r"(?P<kind>[a-z]{1,16})(?:\((?P<members>[^()]*)\))?", re.ASCII)
_OUTPUT = "output"
_WHOLE_AXES = frozenset({"target", "triton", "source"})


def argument(written: Any) -> Any:
    """Return a launch's argument; everything but the text of a buffer stays as it is.

    A buffer with neither contents nor `output` is an output.
    """
    buffer = _BUFFER.fullmatch(written) if isinstance(written, str) else None
    if buffer is None:
        return written
    words = buffer["words"].split(":")[1:]
    extents = [int(word) for word in buffer["shape"].split(",") if word.strip()]
    made: dict[str, Any] = {"shape": extents, "dtype": buffer["dtype"]}
    if not words or words[-1] == _OUTPUT:
        made["output"] = True
    for word in words:
        init = _INIT.fullmatch(word)
        if word == _OUTPUT:
            continue
        if init is None or "init" in made:
            return written  # refused by the API, with the long form
        members = _members(init["kind"], init["members"] or "")
        if members is None:
            return written
        made["init"] = {"kind": init["kind"], **members}
    return made


def _members(kind: str, text: str) -> dict[str, Any] | None:
    """Return the members of `0, std=2`; None for anything else."""
    made: dict[str, Any] = {}
    names = iter(BY_POSITION.get(kind, ()))
    for word in filter(str.strip, text.split(",")):
        name, equals, number = word.partition("=")
        if not equals:
            name, number = next(names, ""), word
        if not name:
            return None
        try:
            made[name.strip()] = json.loads(number)
        except ValueError:
            return None
    return made


def grid(written: Any) -> Any:
    """Return the axes of a grid. A number in quotes is that number; the API refuses other types."""
    if isinstance(written, dict):
        return written
    axes = written if isinstance(written, list) else [written]
    return [int(axis) if isinstance(axis, str) and axis.isdecimal() else axis for axis in axes]


def axes(space: Mapping[str, Any]) -> dict[str, Any]:
    """Return the axes of a sweep, a bare name as that of an option of launches or a constexpr."""
    return {_axis(name): values for name, values in space.items()}


def _axis(name: str) -> str:
    if "." in name or name in _WHOLE_AXES:
        return name
    return f"{'options' if name in BACK_OPTIONS else 'constexprs'}.{name}"
