"""The space of a sweep: from what the request writes to the axes and the variants over them.

Whatever is hostile about a space is refused before anything is expanded: how many combinations
there are is multiplied out, never listed.
"""

import itertools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from compiler.rejection import Fault, RequestRejected, pointer, shown
from launch.formula import FormulaFailed
from sweeps.axis import ARGUMENTS, MAX_AXES, NAMES, Axis, read_axes
from sweeps.condition_values import base_values, shown_to_where
from sweeps.sweep_plan import ABSENT, SweepPlan, SweptAxis
from sweeps.variant import Kind
from sweeps.where import Condition

AT: Final = "/space"
COMBINATIONS_PER_VARIANT: Final = 10
"""How many combinations may be looked at for each variant that a sweep may have."""
MAX_STEPS: Final = 2_000_000
"""Of evaluating `where`: its terms by the combinations it is asked about."""


@dataclass(frozen=True, slots=True)
class Space:
    """Configurations (variants that are listed, or from the source) by a product of axes."""

    configurations: tuple[Mapping[str, Any], ...] | None
    """Each from axis names to contents; None: nothing is listed."""
    configurations_at: str
    product: tuple[Axis, ...]
    is_autotuned: bool = False
    """Whether the configurations are those of the source's own decorator."""


@dataclass(frozen=True, slots=True)
class PlannedSweep:
    """The variants, and where the request has the values of their axes, in the plan's order."""

    plan: SweepPlan
    axes: tuple[Axis, ...]


def read_space(written: Any, kind: Kind) -> Space:
    """Read a request's `space`. Raises RequestRejected at what is wrong with it."""
    variants_at = f"{AT}/variants"
    if isinstance(written, list):
        written, variants_at = {"variants": written}, AT
    if not isinstance(written, dict):
        message = 'must be {"product": {axis: values}}, a list of variants, or {"autotune": true}'
        raise RequestRejected(Fault(AT, message))
    axes = {name: item for name, item in written.items() if name not in _FORMS}
    product = [*read_axes(axes, AT, kind), *_product(written.get("product", {}), kind)]
    listed, is_autotuned = written.get("variants"), _autotune(written)
    if listed is not None and is_autotuned:
        message = "either lists the variants itself, or takes them from the source (`autotune`)"
        raise RequestRejected(Fault(f"{AT}/autotune", message))
    at = f"{AT}/autotune" if is_autotuned else variants_at
    configurations = None if listed is None else tuple(_variants(listed, at, kind))
    space = Space(configurations, at, tuple(product), is_autotuned)
    check_space(space)
    if not (space.product or space.is_autotuned or any(space.configurations or ())):
        message = f"is empty; give values to one of {', '.join(NAMES[kind])}"
        raise RequestRejected(Fault(AT, message))
    return space


_FORMS = ("product", "variants", "autotune")


def _product(written: Any, kind: Kind) -> Iterator[Axis]:
    if not isinstance(written, dict):
        raise RequestRejected(Fault(f"{AT}/product", "must be an object from axes to values"))
    return read_axes(written, f"{AT}/product", kind)


def _autotune(written: Mapping[str, Any]) -> bool:
    wanted = written.get("autotune")
    if wanted not in (True, None) or (wanted == 1 and wanted is not True):
        raise RequestRejected(Fault(f"{AT}/autotune", "must be true, or be left out"))
    return wanted is True


def _variants(listed: Any, at: str, kind: Kind) -> Iterator[Mapping[str, Any]]:
    if not isinstance(listed, list) or not listed:
        raise RequestRejected(Fault(at, "must be a list of variants, with one at least"))
    faults: list[Fault] = []
    for index, variant in enumerate(listed):
        try:
            yield _changes(variant, f"{at}/{index}", kind)
        except RequestRejected as rejected:
            faults += rejected.faults
    if faults:
        raise RequestRejected(*faults)


def _changes(variant: Any, at: str, kind: Kind) -> dict[str, Any]:
    """Return what one listed variant changes, by axis: each of its members is one value."""
    if not isinstance(variant, dict):
        raise RequestRejected(
            Fault(at, f"{shown(variant)} is no object of what the variant changes")
        )
    changes: dict[str, Any] = {}
    for name, content in variant.items():
        group = str(name)
        if group in ("constexprs", "options") and isinstance(content, dict):
            axes = {f"{group}.{member}": [value] for member, value in content.items()}
        else:
            axes = {group: [content]}
        try:
            found = list(read_axes(axes, "", kind))
        except RequestRejected as rejected:
            raise RequestRejected(
                *(Fault(at + pointer(name), f.message) for f in rejected.faults)
            ) from None
        for axis in found:
            if axis.name in changes:
                message = f"{axis.name} is said already; say it once"
                raise RequestRejected(Fault(at + pointer(name), message))
            changes[axis.name] = axis.content(0)
    return changes


def check_space(space: Space) -> None:
    """Refuse axes that are named twice, and too many of them. Raises RequestRejected."""
    listed = {name for changes in space.configurations or () for name in changes}
    named = set(listed)
    if len(space.product) + len(named) > MAX_AXES:
        raise RequestRejected(Fault(AT, f"more than {MAX_AXES} axes"))
    for axis in space.product:
        if axis.name in named:
            message = f"{axis.name} is an axis already; name it once"
            if space.is_autotuned and axis.name in listed:
                message = (
                    f"the configurations of the source say {axis.name}; leave the axis out, or "
                    "list the variants yourself"
                )
            raise RequestRejected(Fault(axis.at, message))
        named.add(axis.name)
    _check_sizes(space, named)


def _check_sizes(space: Space, named: Collection[str]) -> None:
    """Refuse an argument that labelled `arguments` say and an axis does. Raises RequestRejected."""
    labelled = (axis for axis in space.product if axis.name == ARGUMENTS)
    sizes = [axis.content(index) for axis in labelled for index in range(len(axis.values))]
    sizes += [changes.get(ARGUMENTS) for changes in space.configurations or ()]
    said = {f"{ARGUMENTS}.{name}" for size in sizes if isinstance(size, dict) for name in size}
    for name in sorted(said.intersection(named)):
        at = next((axis.at for axis in space.product if axis.name == name), space.configurations_at)
        raise RequestRejected(Fault(at, f"`{ARGUMENTS}` says {name} already; say it once"))


def planned(
    base: Mapping[str, Any],
    kind: Kind,
    space: Space,
    where: Sequence[Condition],
    max_variants: int,
) -> PlannedSweep:
    """Return the variants of a space whose configurations are known.

    Raises RequestRejected: for too many, for a condition that has no value, and for none left.
    """
    listed, chosen = _configured(space)
    axes = [*listed, *space.product]
    _check_count(space, len(chosen), where, max_variants)
    ranges = [range(len(axis.values)) for axis in space.product]
    combined: Iterator[list[int]] = (
        [*first, *rest] for first in chosen for rest in itertools.product(*ranges)
    )
    if where:
        combined = _kept(combined, base, kind, axes, where)
    kept = list(itertools.islice(combined, max_variants + 1))
    if len(kept) > max_variants:
        message = f"more than {max_variants} variants are left; that is the most of a sweep"
        raise RequestRejected(Fault(AT, message))
    if not kept:
        raise RequestRejected(Fault("/where", "leaves no variant of the space"))
    swept = [_swept(axis) for axis in axes]
    plan = SweepPlan(kind=kind, base=dict(base), axes=swept, chosen=kept)
    return PlannedSweep(plan, tuple(axes))


def _swept(axis: Axis) -> SweptAxis:
    contents = None if axis.contents is None else list(axis.contents)
    return SweptAxis(name=axis.name, values=list(axis.values), contents=contents)


def _configured(space: Space) -> tuple[list[Axis], list[list[int]]]:
    """Return the axes that listed variants span, and which value of each every one has."""
    if space.configurations is None:
        return [], [[]]
    found: dict[str, dict[str, tuple[int, Any]]] = {}
    placed: list[dict[str, int]] = []
    for changes in space.configurations:
        placed.append({})
        for name, content in changes.items():
            values = found.setdefault(name, {})
            key = json.dumps(content, sort_keys=True)
            placed[-1][name] = values.setdefault(key, (len(values), content))[0]
    axes = [
        _spanned(name, values.values(), space.configurations_at) for name, values in found.items()
    ]
    return axes, [[at.get(axis.name, ABSENT) for axis in axes] for at in placed]


def _spanned(name: str, values: Any, at: str) -> Axis:
    contents = tuple(content for _, content in values)
    keys = tuple(range(len(contents)))
    if name in ("source", "arguments"):
        return Axis(name, at, tuple(map(str, keys)), keys, contents)
    return Axis(name, at, contents, keys)


def _check_count(
    space: Space, configurations: int, where: Sequence[Condition], max_variants: int
) -> None:
    combinations = configurations * prod(len(axis.values) for axis in space.product)
    most = max_variants * (COMBINATIONS_PER_VARIANT if where else 1)
    if combinations > most:
        message = f"{combinations} variants; a sweep has {most} at most"
        if where:
            message = f"{combinations} combinations; `where` chooses among {most} at most"
        raise RequestRejected(Fault(AT, message))
    steps = combinations * sum(condition.expression.size for condition in where)
    if steps > MAX_STEPS:
        message = (
            f"{combinations} combinations, each with conditions of {steps // combinations} terms, "
            f"take more than {MAX_STEPS} steps to look at; make the space or `where` smaller"
        )
        raise RequestRejected(Fault("/where", message))


def _kept(
    combined: Iterator[list[int]],
    base: Mapping[str, Any],
    kind: Kind,
    axes: Sequence[Axis],
    where: Sequence[Condition],
) -> Iterator[list[int]]:
    """Yield the combinations for which all conditions are true. Raises RequestRejected."""
    fixed = base_values(base, kind)
    changed = [[shown_to_where(axis, index) for index in range(len(axis.values))] for axis in axes]
    for chosen in combined:
        values = dict(fixed)
        for at, index in enumerate(chosen):
            if index != ABSENT:
                values.update(changed[at][index])
        for condition in where:
            try:
                if not condition.holds(values):
                    break
            except FormulaFailed as failed:
                message = f"{shown(condition.expression.text)}: {failed}{_example(axes, chosen)}"
                raise RequestRejected(Fault(condition.at, message)) from None
        else:
            yield chosen


def _example(axes: Sequence[Axis], chosen: Sequence[int]) -> str:
    pairs = zip(axes, chosen, strict=True)
    said = {axis.name: axis.values[index] for axis, index in pairs if index != ABSENT}
    return (
        f" (for {', '.join(f'{name} = {shown(value)}' for name, value in list(said.items())[:8])})"
    )
