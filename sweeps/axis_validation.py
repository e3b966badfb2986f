"""Checks that axes fit their base: members that the base sets or lacks cannot be axes."""

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.rejection import FieldError, RequestRejected
from compiler.request.limits import RequestLimits, RequestTooLarge
from sweeps.axis import Axis
from sweeps.variant import OF_COMPILATION, Kind

_OBJECTS = ("compilation", "constexprs", "options")


def check_base(base: Mapping[str, Any], kind: Kind) -> None:
    """Refuse a base that no value could be merged into. Raises RequestRejected."""
    kernel = base.get("compilation") if kind == "launches" else base
    if kernel is None and "compilation_key" not in base:
        message = "a launch has a `compilation`, or the `compilation_key` of a finished one"
        raise RequestRejected(FieldError("/base", message))
    inner_at = "/base/compilation" if kind == "launches" else "/base"
    parts = {f"/base/{name}": base.get(name) for name in _OBJECTS}
    if isinstance(kernel, dict):
        parts |= {f"{inner_at}/{name}": kernel.get(name) for name in _OBJECTS}
    errors = [
        FieldError(at, "must be a JSON object")
        for at, part in parts.items()
        if part is not None and not isinstance(part, dict)
    ]
    named = kernel if isinstance(kernel, dict) else {}
    errors += [
        FieldError(f"{inner_at}/{name}", "must be a string")
        for name in ("target", "triton")
        if not isinstance(named.get(name), str | None)
    ]
    if not isinstance(base.get("arguments"), dict | list | None):
        errors.append(
            FieldError("/base/arguments", "must be an object by name, or a list by position")
        )
    if errors:
        raise RequestRejected(*errors)


def check_axes(base: Mapping[str, Any], kind: Kind, axes: Sequence[Axis]) -> None:
    """Refuse axes that contradict the base. Raises RequestRejected at each of them."""
    kernel = base.get("compilation") if kind == "launches" else base
    if "compilation_key" in base:
        message = "the base names a finished compilation (`compilation_key`); post its source"
        _refuse(axes, OF_COMPILATION, message)
    if not isinstance(kernel, dict):
        return
    if kernel.get("ir") is not None:
        message = "the base is posted IR, which already defines this; post its source"
        _refuse(axes, ("constexprs", "source"), message)
    if kernel.get("specialization_data") is not None:
        message = "the base has constexprs in its `specialization_data`; write them as constexprs"
        _refuse(axes, ("constexprs",), message)


def check_sources(axes: Sequence[Axis], limits: RequestLimits) -> None:
    """Measure the sources of an axis, each as that of a base. Raises RequestTooLarge."""
    for axis in axes:
        for index, text in enumerate(axis.contents or ()) if axis.name == "source" else ():
            size_bytes = len(text.encode(errors="surrogatepass"))
            if size_bytes > limits.source_bytes:
                message = f"{size_bytes:,} bytes; the limit of a source is {limits.source_bytes:,}"
                raise RequestTooLarge(FieldError(axis.pointer_of(index), message))


def _refuse(axes: Sequence[Axis], groups: Sequence[str], message: str) -> None:
    errors = [
        FieldError(axis.at, message) for axis in axes if axis.name.partition(".")[0] in groups
    ]
    if errors:
        raise RequestRejected(*errors)
