"""A generated case: its changes, and how an item of `cases` in a request writes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from launch.fuzz.layouts import (
    Layout,
    LayoutKind,
    kinds_by_buffer,
    moved_strides,
    stride_scalars,
    strides_of,
)
from launch.fuzz.links import Links, Moved
from launch.fuzz.special_values import (
    LISTED,
    MAX_IN_ALL,
    MAX_LISTED,
    OVERFLOWING,
    Pattern,
    initializer,
)
from launch.fuzz.subject import FuzzedBuffer, Subject

_OF_LAYOUTS: Mapping[LayoutKind, str] = {
    "padded": "with gaps between its rows",
    "spread": "with gaps between its elements",
    "shifted": "not aligned to 16 bytes",
}
_OF_VALUES: Mapping[Pattern, str] = {
    "equal": "of equal values",
    "zeros": "of zeros",
    "large": "of large numbers",
    "large_equal": "of one large number",
    "huge": "of huge numbers",
    "negative": "of negative numbers",
    "other_seed": "of another seed",
    "one_hot": "one-hot",
    "not_finite": "with NaN and infinities",
    "special": "with zeros, ones, tiny and large numbers",
    "extreme": "of the largest magnitude",
    "steps": "of -2 to 2",
    "tiny": "below the least normal number",
    "outlier": "with one outlier",
    "wide": "of many magnitudes",
    "few": "of few distinct values",
    "lowest": "at the low end",
    "highest": "at the high end",
}


@dataclass(frozen=True, slots=True)
class NewValues:
    """New values for one buffer."""

    buffer: str
    pattern: Pattern
    seed: int


@dataclass(frozen=True, slots=True)
class FuzzCase:
    """The changes of one case. `extents` holds pairs of an extent and its new length."""

    extents: tuple[tuple[int, int], ...] = ()
    values: tuple[NewValues, ...] = ()
    layouts: tuple[Layout, ...] = ()

    @property
    def is_plain(self) -> bool:
        """True if it changes nothing."""
        return not (self.extents or self.values or self.layouts)

    @property
    def kinds(self) -> list[str]:
        """The kinds of change, named as in a launch's record."""
        strides = any(layout.kind != "shifted" for layout in self.layouts)
        alignment = any(layout.kind == "shifted" for layout in self.layouts)
        changed = {
            "shapes": bool(self.extents),
            "values": bool(self.values),
            "strides": strides,
            "alignment": alignment,
        }
        return [kind for kind, is_changed in changed.items() if is_changed]

    @property
    def only_copies(self) -> bool:
        """True if only outputs that copy inputs are conclusive, since any other may overflow."""
        return any(each.pattern in OVERFLOWING for each in self.values)

    @property
    def is_not_finite(self) -> bool:
        """True if it has NaN and infinities, which most references do not define."""
        return any(each.pattern == "not_finite" for each in self.values)


def shapes_of(case: FuzzCase, subject: Subject, links: Links) -> dict[str, tuple[int, ...]]:
    """Return the shape of every buffer in a case. Raises NotCertain."""
    moved = links.follow(dict(case.extents))
    return {name: moved.shapes.get(name, each.shape) for name, each in subject.buffers.items()}


def elements_of(case: FuzzCase, subject: Subject, links: Links) -> int:
    """Return the number of elements in all buffers together. Raises NotCertain."""
    return sum(map(prod, shapes_of(case, subject, links).values()))


def words_of(case: FuzzCase, subject: Subject, links: Links) -> str:
    """Describe the changes of a case for people. Raises NotCertain."""
    moved = links.follow(dict(case.extents))
    words = [f"{name} = {value}" for name, value in _integers(case, subject, moved).items()]
    if not words:
        words = [f"{name} of {list(shape)}" for name, shape in moved.shapes.items()]
    words += [f"{each.buffer} {_OF_VALUES.get(each.pattern, each.pattern)}" for each in case.values]
    words += [f"{layout.buffer} {_OF_LAYOUTS[layout.kind]}" for layout in case.layouts]
    return ", ".join(words) or "the unchanged launch"


def _integers(case: FuzzCase, subject: Subject, moved: Moved) -> dict[str, int]:
    """Return the integers that a case changes, including strides."""
    integers = dict(moved.integers)
    for name, kinds in kinds_by_buffer(case.layouts).items():
        buffer = subject.buffers[name]
        strides = _strides(buffer, moved, kinds)
        if strides is not None:
            integers |= dict(moved_strides(stride_scalars(subject, buffer), strides))
    return integers


def _strides(buffer: FuzzedBuffer, moved: Moved, kinds: Sequence[LayoutKind]) -> list[int] | None:
    """Return the strides that a request must state for a buffer, or None."""
    kept = None if buffer.is_contiguous else buffer.strides
    return strides_of(kinds, moved.shapes.get(buffer.name, buffer.shape), kept)


def written(case: FuzzCase, subject: Subject, links: Links) -> dict[str, Any]:
    """Return the arguments that a case changes, each in full, as a request writes them.

    Raises NotCertain.
    """
    moved = links.follow(dict(case.extents))
    kinds = kinds_by_buffer(case.layouts)
    patterns = {each.buffer: each for each in case.values}
    changed: dict[str, Any] = {}
    for name, buffer in subject.buffers.items():
        described = _described(buffer, moved, kinds.get(name, ()), patterns.get(name))
        if described != buffer.described:
            changed[name] = _wrapped(subject.arguments[name], described)
    numbers: dict[str, Any] = {**_integers(case, subject, moved), **moved.floats}
    for name, number in numbers.items():
        changed[name] = _scalar(subject.arguments[name], number)
    return changed


def _described(
    buffer: FuzzedBuffer,
    moved: Moved,
    kinds: Sequence[LayoutKind],
    new: NewValues | None,
) -> dict[str, Any]:
    """Return a buffer of a case as a request writes it."""
    described = dict(buffer.described)
    shape = moved.shapes.get(buffer.name, buffer.shape)
    if shape != buffer.shape:
        described["shape"] = list(shape)
    strides = _strides(buffer, moved, kinds)
    if strides is not None:
        described["strides"] = strides
    elif shape != buffer.shape:
        described.pop("strides", None)
    if "shifted" in kinds:
        described["offset"] = described.get("offset", 0) + 1
    if new is not None:
        described["init"] = initializer(new.pattern, buffer, shape, new.seed)
    elif buffer.name in moved.ends:
        described["init"] = {**described["init"], "high": moved.ends[buffer.name]}
    return described


def is_written_small(case: FuzzCase, subject: Subject, links: Links) -> bool:
    """Return True if the patterns that list values stay within their limits. Raises NotCertain."""
    shapes = shapes_of(case, subject, links)
    listed = [prod(shapes[each.buffer]) for each in case.values if each.pattern in LISTED]
    return all(0 < elements <= MAX_LISTED for elements in listed) and sum(listed) <= MAX_IN_ALL


def _wrapped(raw: Any, described: dict[str, Any]) -> dict[str, Any]:
    if isinstance(raw, Mapping) and "descriptor" in raw:
        return {"descriptor": {**raw["descriptor"], "base": described}}
    return described


def _scalar(raw: Any, number: float) -> Any:
    """Return a scalar with a new value, in the form that the request uses for it."""
    if isinstance(raw, Mapping) and "dtype" in raw:
        return {"value": str(number) if isinstance(number, int) else number, "dtype": raw["dtype"]}
    return number
