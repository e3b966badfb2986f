"""The names in conditions of `where`: scalars of the base and of variants' changes, defaults."""

from collections.abc import Callable, Mapping
from typing import Any

from launch.expression import OpaqueArgument
from sweeps.axis import Axis
from sweeps.variant import Kind

Defaults = Callable[[str | None, str | None], Mapping[str, Any]]
"""The defaults of options for a target and a Triton: `options.num_warps`: 4."""


def no_defaults(_target: str | None, _triton: str | None) -> Mapping[str, Any]:
    """Return nothing, for a space whose toolchains are not known."""
    return {}


def base_values(base: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """Return what conditions may name of the base: constexprs, options, scalar arguments."""
    compilation = base.get("compilation", {}) if kind == "launches" else base
    values: dict[str, Any] = {}
    if isinstance(compilation, dict):
        for group in ("constexprs", "options"):
            values |= _scalars(group, compilation.get(group))
        values |= {name: compilation[name] for name in ("target", "triton") if name in compilation}
    return values | _scalars("arguments", base.get("arguments"))


def shown_to_where(axis: Axis, index: int) -> dict[str, Any]:
    """Return what conditions may name of one value of an axis."""
    content = axis.content(index)
    if axis.name == "arguments":
        return {axis.name: axis.values[index]} | _scalars(axis.name, content)
    if "." in axis.name:
        group, _, member = axis.name.partition(".")
        return _scalars(group, {member: content})
    return {axis.name: _shown(axis.name, axis.values[index])}


def _scalars(group: str, members: Any) -> dict[str, Any]:
    if not isinstance(members, dict):
        return {}
    named = {f"{group}.{name}": value for name, value in members.items()}
    return {name: _shown(name, value) for name, value in named.items()}


def _shown(name: str, value: Any) -> Any:
    """Return a scalar. Any other value is known by name, but cannot be compared."""
    plain = _plain(value)
    if is_scalar(plain):
        return plain
    return OpaqueArgument(f"{name} ({'a list' if isinstance(plain, list) else 'an object'})")


def is_scalar(value: Any) -> bool:
    """Return True for a number, a text, a boolean or null in JSON; large numbers are objects."""
    plain = _plain(value)
    return isinstance(plain, bool | int | float | str) or plain is None


def _plain(value: Any) -> Any:
    """Return the number of a scalar that is written as an object; anything else as it is."""
    if isinstance(value, dict) and "value" in value:
        return _plain(value["value"])
    if isinstance(value, dict) and value.keys() == {"int"}:
        text = str(value["int"])
        return int(text) if len(text) <= 20 and text.lstrip("-").isdigit() else value
    return value
