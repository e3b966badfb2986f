"""Launch requests in JSON or TOML files. Only the shape is checked here.

The service checks the meaning of the members.
"""

import json
import math
import tomllib
from argparse import ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tritonc.cli.argument_syntax import launch_argument
from tritonc.cli.streams import read, read_python
from tritonc.reference_text import from_file, path_in

OBJECT, LIST, TEXT = "an object", "a list", "a text"
SHAPES = {
    "compilation": (OBJECT,),
    "constexprs": (OBJECT,),
    "hints": (OBJECT,),
    "options": (OBJECT,),
    "files": (OBJECT,),
    "arguments": (OBJECT, LIST),
    "grid": (LIST,),
    "reference": (OBJECT, TEXT),
    "return": (OBJECT,),
    "cases": (LIST,),
}
NOT_MEMBERS = frozenset({"source", "wait_s", "check", "returns", "idempotency_key"})
VALUES = frozenset({"arguments", "constexprs", "options", "space"})
"""Members whose values may be any float, including nan and inf; written so that JSON has them."""
_TYPES: dict[str, type] = {OBJECT: dict, LIST: list, TEXT: str}


def read_request(path: str | None) -> dict[str, Any]:
    """Return the launch request of a file with arguments in full; an empty one without a file.

    Raises OSError if it cannot be read, ArgumentTypeError if it is not a launch request.
    """
    if path is None:
        return {}
    text = read(path)
    try:
        request = json.loads(text) if Path(path).suffix == ".json" else tomllib.loads(text)
        json.dumps(request)  # fails for TOML dates, which are not valid arguments
        _check_finite(request)
        return _request(request)
    except (ValueError, TypeError, RecursionError, ArgumentTypeError) as error:
        raise ArgumentTypeError(f"{path}: {error}") from error


def _request(request: Any) -> dict[str, Any]:
    if not isinstance(request, dict):
        raise ArgumentTypeError("a launch request must be an object with `arguments`, `grid`")
    for name in NOT_MEMBERS & request.keys():
        raise ArgumentTypeError(f"`{name}` is not a member of a launch request")
    _check(request, "")
    _check(request.get("compilation", {}), "compilation.")
    cases = request.get("cases", [])
    for index, case in enumerate(cases):
        if not isinstance(case, dict):
            raise ArgumentTypeError(f"`cases[{index}]` must be {OBJECT}")
        _check(case, f"cases[{index}].")
    request = _with_reference(request)
    written = [_with_arguments(_with_reference(case)) for case in cases]
    return _with_arguments(request) | ({"cases": written} if cases else {})


def _with_reference(members: dict[str, Any]) -> dict[str, Any]:
    """Return the members with a reference as an object, to which flags add, and its text.

    Raises ArgumentTypeError for a file that cannot be read; as with `@data.npy`, a path is from the
    working directory.
    """
    reference = members.get("reference")
    if (path := path_in(reference)) is not None:
        try:
            return members | {"reference": from_file(reference, read_python(path))}
        except OSError as error:
            reason = error.strerror or str(error)
            raise ArgumentTypeError(
                f"`reference`: {path}: {reason} (a path is from the working directory)"
            ) from error
    return members | {"reference": {"source": reference}} if isinstance(reference, str) else members


def _check(members: Mapping[str, Any], place: str) -> None:
    """Raise ArgumentTypeError for a member of the wrong JSON type."""
    for name, shapes in SHAPES.items():
        if name in members and not isinstance(members[name], tuple(_TYPES[s] for s in shapes)):
            raise ArgumentTypeError(f"`{place}{name}` must be {' or '.join(shapes)}")
    for name, hints in members.get("hints", {}).items():
        if not isinstance(hints, list) or not all(isinstance(hint, str) for hint in hints):
            raise ArgumentTypeError(f"`{place}hints.{name}` must be a list of strings")


def _check_finite(member: Any, place: str = "") -> None:
    """Raise ArgumentTypeError for a nan or inf outside of the kernel's values."""
    if isinstance(member, float) and not math.isfinite(member):
        raise ArgumentTypeError(f"`{place}` is {member}, which JSON cannot represent")
    named = member.items() if isinstance(member, dict) else ()
    for name, part in named:
        if name not in VALUES:
            _check_finite(part, f"{place}.{name}" if place else name)
    for index, part in enumerate(member if isinstance(member, list) else ()):
        _check_finite(part, f"{place}[{index}]")


def _with_arguments(members: dict[str, Any]) -> dict[str, Any]:
    """Return the members; texts among the arguments are parsed as on the command line."""
    arguments = members.get("arguments")
    if isinstance(arguments, list):
        return members | {"arguments": [_argument(item) for item in arguments]}
    if isinstance(arguments, dict):
        return members | {"arguments": {n: _argument(item) for n, item in arguments.items()}}
    return members


def _argument(item: Any) -> Any:
    return launch_argument(item) if isinstance(item, str) else item
