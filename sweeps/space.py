"""The space of a sweep: from what the request writes to the axes and the variants over them.

Whatever is hostile about a space is refused before anything is expanded: how many combinations
there are is multiplied out, never listed.
"""

import itertools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

from compiler.rejection import MAX_ERRORS, FieldError, RequestRejected, pointer, shown
from compiler.request.signature import MAX_PARAMETERS
from compiler.wanted import check_wanted
from sweeps.axis import ARGUMENTS, MAX_AXES, NAMES, Axis, check_value, read_axes
from sweeps.combinations import Choice, check_count
from sweeps.condition_values import Defaults, is_scalar, no_defaults
from sweeps.sweep_plan import ABSENT, SweepPlan, SweptAxis
from sweeps.variant import Kind
from sweeps.where import Condition

AT: Final = "/space"


@dataclass(frozen=True, slots=True)
class Space:
    """Configurations (variants that are listed, or from the source) by a product of axes."""

    configurations: tuple[Mapping[str, Any], ...] | None
    """Each from axis names to contents; None: nothing is listed."""
    configurations_at: str
    product: tuple[Axis, ...]
    is_autotuned: bool = False
    """True if the configurations are those of the source's own decorator."""
    like: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of a compilation by example, which heuristics are evaluated for."""


@dataclass(frozen=True, slots=True)
class PlannedSweep:
    """The variants, and where the request has the values of their axes, in the plan's order."""

    plan: SweepPlan
    axes: tuple[Axis, ...]


def read_space(written: Any, kind: Kind, max_combinations: int) -> Space:
    """Read a request's `space`, which may have at most `max_combinations`.

    Raises RequestRejected at what is wrong with it; lists are counted before they are read.
    """
    _check_counts(written, AT, max_combinations)
    variants_at = f"{AT}/variants"
    if isinstance(written, list):
        written, variants_at = {"variants": written}, AT
    if not isinstance(written, dict):
        message = 'must be {"product": {axis: values}}, a list of variants, or {"autotune": true}'
        raise RequestRejected(FieldError(AT, message))
    axes = {name: item for name, item in written.items() if name not in _FORMS}
    product = [*read_axes(axes, AT, kind), *_product(written.get("product", {}), kind)]
    listed, is_autotuned = written.get("variants"), _autotune(written)
    if listed is not None and is_autotuned:
        message = "either lists the variants itself, or takes them from the source (`autotune`)"
        raise RequestRejected(FieldError(f"{AT}/autotune", message))
    at = f"{AT}/autotune" if is_autotuned else variants_at
    configurations = None if listed is None else tuple(_variants(listed, at, kind))
    like = _like(written, is_autotuned=is_autotuned, kind=kind)
    space = Space(configurations, at, tuple(product), is_autotuned, like)
    check_space(space)
    if not (space.product or space.is_autotuned or any(space.configurations or ())):
        message = f"is empty; give values to one of {', '.join(NAMES[kind])}"
        raise RequestRejected(FieldError(AT, message))
    return space


_FORMS = ("product", "variants", "autotune", "like")
_MAX_MEMBERS = MAX_PARAMETERS
"""More than an object in a space may have: axes, labels, or a kernel's arguments behind a label."""
_MAX_DEPTH = 3
"""Where the values of an axis are: `/space/product/constexprs/NAME`."""


def _check_counts(written: Any, at: str, most: int, depth: int = 0) -> None:
    """Refuse a list or object that is too long on its own. Raises RequestRejected."""
    if isinstance(written, list) and len(written) > most:
        raise RequestRejected(
            FieldError(at, f"{len(written)} values; a sweep takes {most} at most")
        )
    if isinstance(written, dict) and depth < _MAX_DEPTH:
        if len(written) > _MAX_MEMBERS:
            message = f"{len(written)} members; a space has at most {MAX_AXES} axes"
            raise RequestRejected(FieldError(at, message))
        for name, part in written.items():
            _check_counts(part, at + pointer(name), most, depth + 1)


def _product(written: Any, kind: Kind) -> Iterator[Axis]:
    if not isinstance(written, dict):
        raise RequestRejected(FieldError(f"{AT}/product", "must be an object from axes to values"))
    return read_axes(written, f"{AT}/product", kind)


def _autotune(written: Mapping[str, Any]) -> bool:
    wanted = written.get("autotune")
    if wanted not in (True, None) or (wanted == 1 and wanted is not True):
        raise RequestRejected(FieldError(f"{AT}/autotune", "must be true, or be left out"))
    return wanted is True


def _like(written: Mapping[str, Any], *, is_autotuned: bool, kind: Kind) -> Mapping[str, Any]:
    """Return the examples of arguments. Raises RequestRejected where nothing asks for them."""
    like = written.get("like")
    if like is None:
        return {}
    at = f"{AT}/like"
    if kind == "launches":
        raise RequestRejected(FieldError(at, "a launch has its arguments; heuristics know them"))
    if not is_autotuned:
        message = "is what heuristics are evaluated for, only with `autotune`"
        raise RequestRejected(FieldError(at, message))
    if not isinstance(like, dict) or len(like) > MAX_AXES:
        message = f'must be an object of at most {MAX_AXES} scalars by name, such as {{"K": 512}}'
        raise RequestRejected(FieldError(at, message))
    for name, value in like.items():
        check_value(value, at + pointer(name))
        if not is_scalar(value):
            message = f"{shown(value)} is not a number, string, boolean or null"
            raise RequestRejected(FieldError(at + pointer(name), message))
    return like


def _variants(listed: Any, at: str, kind: Kind) -> Iterator[Mapping[str, Any]]:
    if not isinstance(listed, list) or not listed:
        raise RequestRejected(FieldError(at, "must be a list of variants, with one at least"))
    errors: list[FieldError] = []
    first: dict[str, int] = {}
    for index, variant in enumerate(listed):
        own_at = f"{at}/{index}"
        check_wanted()
        if len(errors) >= MAX_ERRORS:
            break
        try:
            changes = _changes(variant, own_at, kind)
        except RequestRejected as rejected:
            errors += rejected.errors
            continue
        same = first.setdefault(json.dumps(changes, sort_keys=True), index)
        if same != index:
            errors.append(FieldError(own_at, f"is variant {same} again; each variant once"))
        yield changes
    if errors:
        raise RequestRejected(*errors)


def _changes(variant: Any, at: str, kind: Kind) -> dict[str, Any]:
    """Return what one listed variant changes, by axis: each of its members is one value."""
    if not isinstance(variant, dict):
        raise RequestRejected(
            FieldError(at, f"{shown(variant)} is not an object with the changes of a variant")
        )
    changes: dict[str, Any] = {}
    for name, content in variant.items():
        group = str(name)
        if group in ("constexprs", "options") and isinstance(content, dict):
            axes = {f"{group}.{member}": [value] for member, value in content.items()}
        else:
            axes = {group: [content]}
        try:
            changed = list(read_axes(axes, "", kind))
        except RequestRejected as rejected:
            raise RequestRejected(
                *(FieldError(at + pointer(name), f.message) for f in rejected.errors)
            ) from None
        for axis in changed:
            if axis.name in changes:
                message = f"{axis.name} is given twice; give it once"
                raise RequestRejected(FieldError(at + pointer(name), message))
            changes[axis.name] = axis.content(0)
    return changes


def check_space(space: Space) -> None:
    """Refuse axes that are named twice, and too many of them. Raises RequestRejected."""
    listed = {name for changes in space.configurations or () for name in changes}
    named = set(listed)
    if len(space.product) + len(named) > MAX_AXES:
        raise RequestRejected(FieldError(AT, f"more than {MAX_AXES} axes"))
    for axis in space.product:
        if axis.name in named:
            message = f"{axis.name} is an axis already; name it once"
            if space.is_autotuned and axis.name in listed:
                message = (
                    f"the configurations of the source set {axis.name}; leave the axis out, or "
                    "list the variants yourself"
                )
            raise RequestRejected(FieldError(axis.at, message))
        named.add(axis.name)
    _check_sizes(space, named)


def _check_sizes(space: Space, named: Collection[str]) -> None:
    """Refuse an argument that both labelled `arguments` and an axis set. Raises RequestRejected."""
    labelled = (axis for axis in space.product if axis.name == ARGUMENTS)
    sizes = [axis.content(index) for axis in labelled for index in range(len(axis.values))]
    sizes += [changes.get(ARGUMENTS) for changes in space.configurations or ()]
    given_sizes = {
        f"{ARGUMENTS}.{name}" for size in sizes if isinstance(size, dict) for name in size
    }
    for name in sorted(given_sizes.intersection(named)):
        at = next((axis.at for axis in space.product if axis.name == name), space.configurations_at)
        raise RequestRejected(FieldError(at, f"`{ARGUMENTS}` gives {name} already; give it once"))


def planned(
    base: Mapping[str, Any],
    kind: Kind,
    space: Space,
    where: Sequence[Condition],
    max_variants: int,
    defaults: Defaults = no_defaults,
) -> PlannedSweep:
    """Return the variants of a space whose configurations are known.

    Raises RequestRejected: for too many, for a condition that has no value, and for none left.
    """
    listed, chosen = _configured(space)
    axes = [*listed, *space.product]
    count = len(chosen) * prod(len(axis.values) for axis in space.product)
    check_count(count, where, max_variants)
    ranges = [range(len(axis.values)) for axis in space.product]
    combined: Iterator[list[int]] = (
        [*first, *rest] for first in chosen for rest in itertools.product(*ranges)
    )
    if where:
        combined = Choice(base, kind, where, defaults).kept(combined, axes)
    kept = bounded(combined, max_variants)
    swept = [_swept(axis) for axis in axes]
    plan = SweepPlan(kind=kind, base=dict(base), axes=swept, chosen=kept)
    return PlannedSweep(plan, tuple(axes))


def bounded(combined: Iterator[list[int]], max_variants: int) -> list[list[int]]:
    """Return the combinations that are left. Raises RequestRejected for too many, and for none."""
    kept = list(itertools.islice(combined, max_variants + 1))
    if len(kept) > max_variants:
        message = f"more than {max_variants} variants are left, which is the limit of a sweep"
        raise RequestRejected(FieldError(AT, message))
    if not kept:
        raise RequestRejected(FieldError("/where", "leaves no variant of the space"))
    return kept


def _swept(axis: Axis) -> SweptAxis:
    contents = None if axis.contents is None else list(axis.contents)
    return SweptAxis(name=axis.name, values=list(axis.values), contents=contents)


def _configured(space: Space) -> tuple[list[Axis], list[list[int]]]:
    """Return the axes that listed variants span, and which value of each every one has."""
    if space.configurations is None:
        return [], [[]]
    spans: dict[str, dict[str, tuple[int, Any]]] = {}
    placed: list[dict[str, int]] = []
    for changes in space.configurations:
        placed.append({})
        for name, content in changes.items():
            values = spans.setdefault(name, {})
            key = json.dumps(content, sort_keys=True)
            placed[-1][name] = values.setdefault(key, (len(values), content))[0]
    axes = [
        _spanned(name, values.values(), space.configurations_at) for name, values in spans.items()
    ]
    return axes, [[at.get(axis.name, ABSENT) for axis in axes] for at in placed]


def _spanned(name: str, values: Any, at: str) -> Axis:
    contents = tuple(content for _, content in values)
    keys = tuple(range(len(contents)))
    if name in ("source", "arguments"):
        return Axis(name, at, tuple(map(str, keys)), keys, contents)
    return Axis(name, at, contents, keys)
