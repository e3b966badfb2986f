"""Layouts of a buffer: rows further apart, elements further apart, another address.

Strides change only where scalar arguments pass them and names show which buffer they belong to.
Addresses change only where the request asks for no alignment.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from launch.fuzz.links import STRIDE
from launch.fuzz.subject import FuzzedBuffer, Subject
from launch.request.buffer import contiguous_strides

LayoutKind = Literal["padded", "spread", "shifted"]
"""Gaps between rows, gaps between elements, a base address that is not a multiple of 16 bytes."""
_PADDING = 5
_POINTER = re.compile(r"_?(ptr|pointer)s?(?=_|$|\d)", re.IGNORECASE)
_WORDS = frozenset(
    {"stride", "strides", "row", "rows", "col", "cols", "batch", "head", "pitch", ""}
)


@dataclass(frozen=True, slots=True)
class Layout:
    """One change to the memory layout of a buffer."""

    kind: LayoutKind
    buffer: str


@dataclass(frozen=True, slots=True)
class StrideScalar:
    """A scalar that is the stride of an axis of a buffer."""

    scalar: str
    axis: int


def possible_layouts(subject: Subject) -> tuple[list[Layout], list[str]]:
    """Return the layouts that the launch allows, and why other buffers keep their strides."""
    layouts, kept = [], []
    for buffer in subject.buffers.values():
        if buffer.pinned is not None or buffer.name in subject.fixed or buffer.in_descriptor:
            continue
        if "align_bytes" not in buffer.described:
            layouts.append(Layout("shifted", buffer.name))
        if sum(extent > 1 for extent in buffer.shape) < 1:
            continue
        scalars = stride_scalars(subject, buffer)
        if _are_all_said(buffer, scalars):
            layouts.append(Layout("padded", buffer.name))
        elif len(buffer.shape) > 1 and any(map(STRIDE.search, subject.integers)):
            kept.append(f"strides of {buffer.name}: no scalars are certain to pass all of them")
        if _are_all_said(buffer, scalars, inner=True):
            layouts.append(Layout("spread", buffer.name))
    return layouts, kept


def stride_scalars(subject: Subject, buffer: FuzzedBuffer) -> list[StrideScalar]:
    """Return the scalars that are strides of a buffer, judged by their names and values."""
    scalars = []
    for name, value in subject.integers.items():
        if STRIDE.search(name) and owner_of(name, value, subject) == buffer.name:
            axes = [axis for axis, stride in enumerate(buffer.strides) if stride == value]
            wide = [axis for axis in axes if buffer.shape[axis] > 1]
            if len(wide) == 1 or (len(axes) == 1 and not wide):
                scalars.append(StrideScalar(name, (wide or axes)[0]))
    return scalars


def owner_of(scalar: str, value: int, subject: Subject) -> str | None:
    """Return the buffer that a stride belongs to, or None if that is uncertain."""
    tokens = set(re.split(r"[^a-z0-9]+|stride", scalar.lower())) - _WORDS
    scores = {name: _likeness(tokens, _stem(name)) for name in subject.buffers}
    best = max(scores.values(), default=0)
    named = [name for name, score in scores.items() if score == best and best > 0]
    if named:
        return named[0] if len(named) == 1 else None
    having = [
        buffer.name
        for buffer in subject.buffers.values()
        if len(buffer.shape) > 1 and value in buffer.strides[:-1]
    ]
    return having[0] if len(having) == 1 else None


def _stem(buffer: str) -> str:
    return _POINTER.sub("", buffer.lower()).strip("_") or buffer.lower()


def _likeness(tokens: set[str], stem: str) -> int:
    """Return how well the name of a stride fits a buffer: `stride_am` fits a_ptr."""
    if stem in tokens:
        return 100 + len(stem)
    if any(token.startswith(stem) and len(token) - len(stem) <= 2 for token in tokens):
        return 10 + len(stem)
    return 1 if any(len(token) > 1 and stem.startswith(token) for token in tokens) else 0


def _are_all_said(
    buffer: FuzzedBuffer, scalars: Sequence[StrideScalar], *, inner: bool = False
) -> bool:
    """Return True if scalars pass all outer strides; with `inner`, also the innermost one."""
    axes = {each.axis for each in scalars}
    outer = {axis for axis, extent in enumerate(buffer.shape[:-1]) if extent > 1}
    last = len(buffer.shape) - 1
    if inner:
        return last in axes and outer <= axes and buffer.shape[last] > 1
    return bool(outer) and outer <= axes and buffer.is_contiguous


def strides_of(
    kinds: Sequence[LayoutKind], shape: Sequence[int], kept: Sequence[int] | None
) -> list[int] | None:
    """Return the strides of a buffer of `shape` in these layouts, or None for C order.

    `kept` holds strides that the request states itself and that are not those of C order.
    """
    if not set(kinds) & {"padded", "spread"}:
        return None if kept is None else list(kept)
    rows = [*shape[:-1], shape[-1] + _PADDING] if "padded" in kinds else list(shape)
    wide = contiguous_strides(rows) if kept is None else list(kept)
    return [2 * stride for stride in wide] if "spread" in kinds else wide


def moved_strides(
    scalars: Sequence[StrideScalar], strides: Sequence[int]
) -> Iterator[tuple[str, int]]:
    """Yield the new values of the scalars for a buffer's strides."""
    for each in scalars:
        yield each.scalar, strides[each.axis]


def kinds_by_buffer(layouts: Sequence[Layout]) -> Mapping[str, list[LayoutKind]]:
    """Return the kinds of layout that each buffer has."""
    kinds: dict[str, list[LayoutKind]] = {}
    for layout in layouts:
        kinds.setdefault(layout.buffer, []).append(layout.kind)
    return kinds
