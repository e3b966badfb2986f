"""The JSON of a sweep, from Python values, and the arrays to upload before it.

The service checks the request and reports errors.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tritonc.compile_body import constexpr_json, string_list
from tritonc.launch_body import LaunchRequest, arguments_json
from tritonc.packages.package import Package
from tritonc.upload import Upload

Space = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""`{"constexprs.BLOCK_SIZE": [64, 128], "target": [...]}`, or a list of variants' changes."""

_VALUES = ("constexprs", "options")


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """The JSON of a sweep and the arrays that it names."""

    body: Mapping[str, Any]
    uploads: Mapping[str, Upload] = field(default_factory=dict)
    package: Package | None = None
    """The package of the kernel's file, for the modules that the service asks for."""


def sweep_request(
    base: Mapping[str, Any] | LaunchRequest,
    space: Space,
    *,
    where: Iterable[str] = (),
    search: Mapping[str, Any] | None = None,
    budget_s: float | None = None,
    contract: str | None = None,
    include: Iterable[str] = (),
    package: Package | None = None,
) -> SweepRequest:
    """Return a sweep to post; `base` comes from `compile_request` or `launch_request`.

    Raises TypeError for values that JSON cannot represent.
    """
    uploads = dict(base.uploads) if isinstance(base, LaunchRequest) else {}
    body = {
        "base": base.body if isinstance(base, LaunchRequest) else _compilation(base),
        "space": _space(space, uploads),
        "where": string_list(where) or None,
        "search": search,
        "budget_s": budget_s,
        "contract": contract,
        "include": string_list(include) or None,
    }
    if package is None and isinstance(base, LaunchRequest):
        package = base.package
    written = {n: member for n, member in body.items() if member is not None}
    return SweepRequest(written, uploads, package)


def _compilation(base: Mapping[str, Any]) -> dict[str, Any]:
    """Return a compile request without the members that ask for artifacts; a table has none."""
    return {name: member for name, member in base.items() if name != "include"}


def _space(space: Any, uploads: dict[str, Upload]) -> Any:
    if not isinstance(space, Mapping):
        return [_changes(variant, uploads) for variant in space]
    written = {name: _axis(name, values, uploads) for name, values in space.items()}
    if "product" in space:
        written["product"] = _space(space["product"], uploads)
    if "variants" in space:
        written["variants"] = [_changes(variant, uploads) for variant in space["variants"]]
    return written


def _axis(name: str, values: Any, uploads: dict[str, Upload]) -> Any:
    """Return the values of an axis, or of the axes of a group such as `constexprs`."""
    group = name.partition(".")[0]
    if name == "like" and isinstance(values, Mapping):
        return {argument: constexpr_json(value) for argument, value in values.items()}
    if group in _VALUES and isinstance(values, Mapping):
        return {member: [constexpr_json(v) for v in listed] for member, listed in values.items()}
    if group in _VALUES:
        return [constexpr_json(value) for value in values]
    if name == "arguments" and isinstance(values, Mapping):
        return {label: arguments_json(arguments, uploads) for label, arguments in values.items()}
    if name == "arguments":
        return [arguments_json(arguments, uploads) for arguments in values]
    if group == "arguments":
        return [arguments_json({name: value}, uploads)[name] for value in values]
    return dict(values) if isinstance(values, Mapping) else values


def _changes(variant: Mapping[str, Any], uploads: dict[str, Upload]) -> dict[str, Any]:
    """Return the changes of one variant, one value for each member."""
    changes = dict(variant)
    for name, content in variant.items():
        group = name.partition(".")[0]
        if group in _VALUES and isinstance(content, Mapping):
            changes[name] = {member: constexpr_json(value) for member, value in content.items()}
        elif group in _VALUES:
            changes[name] = constexpr_json(content)
        elif name == "arguments":
            changes[name] = arguments_json(content, uploads)
    return changes
