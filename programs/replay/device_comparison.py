"""Compares two outputs of the same shape on their device, for outputs too large to leave it.

The rules and results are those of `launch.reference.comparison`, which the comparing child uses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from compiler.json_number import written_number
from launch.buffers.element_types import Array, readable
from launch.messages import Tolerance
from launch.reference.compared_elements import ComparedElements
from launch.reference.difference import Comparer, Unwritten
from programs.replay.live_tensors import in_order

STRETCH = 1 << 23
"""Elements to compare at a time; they need some float64 numbers each."""
_NUMPYS = {torch.uint16: np.uint16, torch.uint32: np.uint32, torch.uint64: np.uint64}
"""Integer dtypes without `min` and `max` in torch."""


@dataclass(frozen=True)
class DeviceUnwritten:
    """Flags of elements that were never written, flat, on the device; None: all were written."""

    actual: torch.Tensor | None = None
    expected: torch.Tensor | None = None

    def of(self, part: slice) -> DeviceUnwritten:
        """Return the flags of a part of the elements."""
        sides = (None if flags is None else flags[part] for flags in (self.actual, self.expected))
        return DeviceUnwritten(*sides)


@dataclass(frozen=True)
class _Piece:
    """A part of both sides' elements, flat, from the element `start`."""

    start: int
    actual: torch.Tensor
    expected: torch.Tensor
    missing: DeviceUnwritten


def compare_on_device(
    actual: torch.Tensor,
    expected: torch.Tensor,
    dtype: str,
    tolerance: Tolerance,
    missing: DeviceUnwritten | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return summary and comparison of an output, as in the comparing child's report.

    Both sides have the same shape and the Triton type `dtype`; a complex number is two parts.
    """
    if actual.is_complex():
        actual, expected = (torch.view_as_real(side.resolve_conj()) for side in (actual, expected))
        dtype, missing = f"fp{actual.itemsize * 8}", None
    missing = missing or DeviceUnwritten()
    tolerance = _scaled(tolerance, expected)
    shape = tuple(actual.shape)
    floats = actual.dtype.is_floating_point
    comparer = _Floats(shape, tolerance) if floats else _Integers(shape, tolerance, dtype)
    summed = _Summary()
    ours, theirs = (in_order(side) for side in (actual, expected))
    for start in range(0, ours.numel(), STRETCH):
        part = slice(start, start + STRETCH)
        comparer.add(_Piece(start, ours[part], theirs[part], missing.of(part)))
        summed.add(ours[part])
    unwritten = 0 if missing.actual is None else int(missing.actual.sum())
    return summed.result(shape, dtype) | {"unwritten": unwritten}, comparer.result()


class _Floats:
    """A running comparison of floats, in float64 on the device."""

    def __init__(self, shape: tuple[int, ...], tolerance: Tolerance) -> None:
        self._tolerance = tolerance
        self._found = ComparedElements(shape, tolerance)

    def add(self, piece: _Piece) -> None:
        """Take the next elements."""
        ours, theirs = piece.actual.double(), piece.expected.double()
        finite = ours.isfinite() & theirs.isfinite()
        same = ours == theirs
        if self._tolerance.equal_nan:
            same |= ours.isnan() & theirs.isnan()
        size = theirs.abs()
        if self._found.zeros_match and size.numel():
            self._found.note_expected(float(size.max()))
        absolute = torch.where(finite, (ours - theirs).abs(), 0.0)
        close = absolute <= (size * self._tolerance.rtol) + self._tolerance.atol
        wrong = torch.where(finite, ~close, ~same)
        one_sided, known = _written_once(piece)
        wrong = (wrong | one_sided) & known
        relative = torch.where(finite & (size != 0), absolute / size, 0.0)
        self._found.note_errors(_largest(absolute, known), _largest(relative, known))
        self._found.compared += int(known.sum())
        self._found.unwritten += int(one_sided.sum())
        self._found.nonfinite += int((wrong & ~finite).sum())
        self._note(piece, wrong)

    def result(self) -> dict[str, Any]:
        """Return what all elements come to, as a launch's record has it."""
        return self._found.result()

    def _note(self, piece: _Piece, wrong: torch.Tensor) -> None:
        count = int(wrong.sum())
        if not count:
            return
        self._found.mismatched += count
        places = wrong.nonzero().reshape(-1)
        counted = self._found.map
        cells = counted.cells_of(piece.start + places)
        counted.count(torch.bincount(cells, minlength=counted.size).cpu().numpy())
        if self._found.first is None:
            at = int(places[0])
            sides = (side[at].double() for side in (piece.actual, piece.expected))
            self._found.show(piece.start + at, *sides)


class _Integers:
    """A running comparison of integers: differing ones are compared exactly on the host."""

    def __init__(self, shape: tuple[int, ...], tolerance: Tolerance, dtype: str) -> None:
        self._comparer, self._dtype = Comparer(shape, tolerance), dtype
        self._is_exact = tolerance.rtol == tolerance.atol == 0

    def add(self, piece: _Piece) -> None:
        """Take the next elements."""
        one_sided, known = _written_once(piece)
        same = torch.equal(_octets(piece.actual), _octets(piece.expected))
        if self._is_exact and same and bool(known.all()) and not bool(one_sided.any()):
            zeros = not bool(_octets(piece.expected).any())
            self._comparer.add_equal(piece.actual.numel(), zeros=zeros)
            return
        stored = [_on_host(side) for side in (piece.actual, piece.expected)]
        numbers = [readable(side, self._dtype) for side in stored]
        bits = (piece.missing.actual, piece.missing.expected)
        missing = Unwritten(*(None if side is None else side.cpu().numpy() for side in bits))
        self._comparer.add(piece.start, numbers[0], numbers[1], missing, stored[0])

    def result(self) -> dict[str, Any]:
        """Return what all elements come to, as a launch's record has it."""
        return self._comparer.result()


class _Summary:
    """A running summary of the finite elements."""

    def __init__(self) -> None:
        self._count = self._nan = self._inf = 0
        self._total = 0.0
        self._extremes: list[Any] = []

    def add(self, elements: torch.Tensor) -> None:
        """Take more elements."""
        if elements.dtype is torch.bool:
            elements = (elements.view(torch.uint8) != 0).to(torch.uint8)
        if elements.dtype.is_floating_point:
            numbers = elements.double()
            self._nan += int(numbers.isnan().sum())
            self._inf += int(numbers.isinf().sum())
            elements = numbers[numbers.isfinite()]
        if not elements.numel():
            return
        self._count += elements.numel()
        if elements.dtype in _NUMPYS:
            numbers_of = _on_host(elements)
            self._total += float(numbers_of.sum(dtype=np.float64))
            self._extremes += [numbers_of.min().item(), numbers_of.max().item()]
        else:
            self._total += float(elements.sum(dtype=torch.float64))
            self._extremes += [extreme.item() for extreme in torch.aminmax(elements)]

    def result(self, shape: tuple[int, ...], dtype: str) -> dict[str, Any]:
        """Return the summary with shape and dtype."""
        count = self._count
        return {
            "shape": list(shape),
            "dtype": dtype,
            "min": written_number(min(self._extremes)) if count else None,
            "max": written_number(max(self._extremes)) if count else None,
            "mean": written_number(self._total / count) if count else None,
            "nan": self._nan,
            "inf": self._inf,
        }


def _scaled(tolerance: Tolerance, expected: torch.Tensor) -> Tolerance:
    """Return the same as `launch.reference.difference.scaled`, computed on the device."""
    if tolerance.atol_scale == "absolute":
        return tolerance
    total, count = 0.0, 0
    for part in expected.reshape(-1).split(STRETCH):
        numbers = part.double()
        finite = numbers[numbers.isfinite()]
        total += float(finite.square().sum())
        count += finite.numel()
    rms = math.sqrt(total / count) if count else 0.0
    return replace(tolerance, atol=tolerance.atol * rms, atol_scale="absolute")


def _written_once(piece: _Piece) -> tuple[torch.Tensor, torch.Tensor]:
    """Return flags of elements that only one side wrote, and of those that at least one did."""
    ours, theirs = (
        torch.zeros_like(piece.actual, dtype=torch.bool) if side is None else side
        for side in (piece.missing.actual, piece.missing.expected)
    )
    return ours ^ theirs, ~(ours & theirs)


def _largest(numbers: torch.Tensor, known: torch.Tensor) -> float:
    return float(torch.where(known, numbers, 0.0).max())


def _octets(elements: torch.Tensor) -> torch.Tensor:
    return elements.view(torch.uint8)


def _on_host(elements: torch.Tensor) -> Array:
    """Return integers as NumPy stores them, and booleans as bytes."""
    octets = _octets(elements).cpu().numpy()
    kind: Any = _NUMPYS.get(elements.dtype) or str(elements.dtype).removeprefix("torch.")
    array: Array = octets if elements.dtype is torch.bool else octets.view(kind)
    return array
