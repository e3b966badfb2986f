"""Completes a kernel that lacks types or values, by an inspection of its source."""

from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request

from service.adapter_host import host_of
from service.http.inner_request import ask_itself

INCOMPLETE = frozenset({"missing_type", "missing_constexpr", "extra_argument"})
"""Problems that hide others, or are hidden by them, until a kernel is completed."""
_HINTS = {"16": " divisible by 16", "1": " of 1"}


async def completed(
    request: Request, asked: Mapping[str, Any]
) -> tuple[dict[str, Any], str] | None:
    """Return `asked` completed by the assumptions of an inspection, and these in a line.

    None if the inspection does not choose a kernel, or assumes nothing more.
    """
    kernel = await chosen_kernel(request, asked)
    return None if kernel is None else completed_of(kernel, asked)


def completed_of(
    kernel: Mapping[str, Any],
    asked: Mapping[str, Any],
    *,
    with_hints: bool = True,
    swept: Collection[str] = (),
) -> tuple[dict[str, Any], str] | None:
    """Return `asked` completed by the assumptions of an inspected kernel, and these in a line.

    Without `with_hints`, nothing is assumed of sizes and strides, as for a proof. Parameters in
    `swept` get their values elsewhere.
    """
    specified = {*(asked.get("signature") or {}), *(asked.get("constexprs") or {}), *swept}
    assumed = [item for item in kernel.get("assumed") or () if item["parameter"] not in specified]
    if not assumed:
        return None
    proposals = {item["name"]: item["proposal"] or {} for item in kernel["parameters"]}
    added: dict[str, dict[str, Any]] = {"signature": {}, "constexprs": {}, "options": {}}
    for item in assumed:
        name, value, proposal = item["parameter"], item["value"], proposals[item["parameter"]]
        is_value = proposal.get("type") == "constexpr"
        if not is_value and not with_hints and proposal.get("assumed_hints"):
            value = proposal["type"]
        other_type = str((asked.get("signature") or {}).get(proposal.get("dtype_of")))
        if other_type.startswith("*"):  # its elements, with the hint of the proposal
            element = other_type.partition(":")[0].removeprefix("*").removeprefix("k")
            value = "".join([f"*{element}", *value.partition(":")[1:]])
        added["constexprs" if is_value else "signature"][name] = value
    own = asked.get("options") or {}
    options = _options(kernel, added["constexprs"])
    added["options"] = {name: value for name, value in options.items() if name not in own}
    merged = {name: {**members, **(asked.get(name) or {})} for name, members in added.items()}
    warnings = "".join(f"; warning: {warning}" for warning in kernel.get("warnings") or ())
    return {**asked, **merged}, _sentence(added) + warnings


def _options(kernel: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the file's own launch, else of the configuration with `values`."""
    if kernel.get("launch"):
        return dict(kernel["launch"]["options"])
    config: dict[str, Any] = next(iter(kernel["configs"]), {})
    if not values.keys() & (config.get("constexprs") or {}).keys():
        return {}
    known = {n: v.get("literal") for n, v in (config.get("options") or {}).items() if v}
    return {name: value for name, value in known.items() if value is not None}


async def chosen_kernel(request: Request, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the inspected kernel that `asked` means; None if several, or the source is broken."""
    query = {"wait": host_of(request).max_wait_s}
    body = {name: asked[name] for name in ("source", "files", "module", "absent") if name in asked}
    answered = await ask_itself(request, "POST", "/v1/inspect", body, query)
    if answered.is_problem or answered.status == HTTPStatus.ACCEPTED:
        return None
    kernels, name = answered.json["kernels"], asked.get("kernel")
    return _chosen(kernels + answered.json["written"] if name is not None else kernels, name)


def _chosen(kernels: list[dict[str, Any]], name: str | None) -> dict[str, Any] | None:
    """Return the kernel that a compilation of the source chooses."""
    called = {other for kernel in kernels for other in kernel["calls"]}
    entries = [kernel for kernel in kernels if kernel["name"] not in called]
    if name is not None:
        entries = [kernel for kernel in kernels if kernel["name"] == name]
    elif len(entries) > 1:
        entries = [kernel for kernel in entries if kernel.get("launched")]
    return entries[0] if len(entries) == 1 else None


def _sentence(added: Mapping[str, Mapping[str, Any]]) -> str:
    by_type: dict[str, list[str]] = {}
    for name, written in added["signature"].items():
        kind, _, hint = written.partition(":")
        shown = "" if kind.startswith("*") else _HINTS.get(hint, "")
        by_type.setdefault(f"{kind} {{}}{shown}", []).append(name)
    parts = [form.format(", ".join(names)) for form, names in by_type.items()]
    values = {**added["constexprs"], **added["options"]}
    parts += [f"{name}={value}" for name, value in values.items()]
    return (
        f"assumes {'; '.join(parts)}: these types and values are guesses; to change them, give "
        "`signature` and `constexprs`"
    )
