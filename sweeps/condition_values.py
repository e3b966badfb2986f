"""What conditions of `where` may name: scalars of the base, and of what a variant changes."""

from collections.abc import Mapping
from typing import Any

from sweeps.axis import Axis
from sweeps.variant import Kind


def base_values(base: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """Return what conditions may name of the base: constexprs, options, scalar arguments."""
    compilation = base.get("compilation", {}) if kind == "launches" else base
    found: dict[str, Any] = {}
    if isinstance(compilation, dict):
        for group in ("constexprs", "options"):
            found |= _scalars(group, compilation.get(group))
        found |= {name: compilation[name] for name in ("target", "triton") if name in compilation}
    return found | _scalars("arguments", base.get("arguments"))


def shown_to_where(axis: Axis, index: int) -> dict[str, Any]:
    """Return what conditions may name of one value of an axis."""
    content = axis.content(index)
    if axis.name == "arguments":
        return {axis.name: axis.values[index]} | _scalars(axis.name, content)
    if "." in axis.name:
        group, _, member = axis.name.partition(".")
        return _scalars(group, {member: content})
    return {axis.name: axis.values[index]}


def _scalars(group: str, members: Any) -> dict[str, Any]:
    if not isinstance(members, dict):
        return {}
    plain = {name: _plain(value) for name, value in members.items()}
    return {
        f"{group}.{name}": value
        for name, value in plain.items()
        if isinstance(value, bool | int | float | str) or value is None
    }


def _plain(value: Any) -> Any:
    """Return the number of a scalar that is written as an object; anything else as it is."""
    if isinstance(value, dict) and "value" in value:
        return _plain(value["value"])
    if isinstance(value, dict) and value.keys() == {"int"}:
        text = str(value["int"])
        return int(text) if len(text) <= 20 and text.lstrip("-").isdigit() else value
    return value
