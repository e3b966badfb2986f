"""A variant of a sweep: the base with one value of each axis, as a separate request.

Pure: the request depends on the base and the values alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from launch.request.case import merge_arguments, named_arguments

Kind = Literal["compilations", "launches"]
OF_COMPILATION: Final = ("constexprs", "options", "target", "triton", "source")
"""The members of a launch's `compilation`, by the first part of an axis's name."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One row to be: `values` by axis as the table shows them, `body` the whole request."""

    index: int
    values: Mapping[str, Any]
    body: Mapping[str, Any]


def merged_body(base: Mapping[str, Any], kind: Kind, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `changes`, by the names of axes. What does not change is shared."""
    body = dict(base)
    inner = body
    if kind == "launches" and "compilation" in body:
        inner = body["compilation"] = dict(body["compilation"])
    # labelled arguments come first
    for name, content in sorted(changes.items(), key=lambda change: "." in change[0]):
        group, _, member = name.partition(".")
        part = inner if group in OF_COMPILATION else body
        if group == "arguments":
            changed = {member: content} if member else content
            body["arguments"] = _arguments(body.get("arguments"), changed)
        elif member:
            part[group] = {**(part.get(group) or {}), member: content}
        else:
            part[group] = content
    return body


def _arguments(base: Any, changes: Any) -> Any:
    if isinstance(changes, list):
        return changes
    return merge_arguments(named_arguments(base or {}, "/arguments"), changes)
