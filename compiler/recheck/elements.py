"""The values of a machine, element by element: bits, pointers, and whether an integer wrapped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import z3

from compiler.recheck.not_modelled import NotModelled
from compiler.recheck.widths import POINTER_BITS

TRUE, FALSE = z3.BoolVal(True), z3.BoolVal(False)
Index = tuple[z3.BitVecRef, ...]
"""The place of an element in a tensor."""


@dataclass(frozen=True, eq=False)
class Wrap:
    """An integer that its type does not hold, where `condition` is true."""

    condition: z3.BoolRef


@dataclass(frozen=True, eq=False)
class PointedBuffer:
    """An address, where `condition` is true: `offset` elements behind a buffer."""

    condition: z3.BoolRef
    buffer: str
    offset: z3.BitVecRef


@dataclass(frozen=True, eq=False)
class Element:
    """One element: its bits, or its addresses; neither for floats and what is not modelled.

    `is_exact` is False where the bits may be any, while a machine computes certain ones: what
    breaks a proof for some of these bits is then no evidence.
    """

    bits: z3.BitVecRef | None = None
    cases: tuple[PointedBuffer, ...] = ()
    wraps: frozenset[Wrap] = frozenset()
    is_exact: bool = True

    @property
    def is_true(self) -> z3.BoolRef:
        """Return the truth value of an `i1`. Raises NotModelled."""
        if self.bits is None or self.bits.size() != 1:
            raise NotModelled("a condition that is not an i1")
        return simplified(self.bits == 1)


@dataclass(eq=False)
class BitTensor:
    """A tensor, whose elements are computed where something asks for them."""

    shape: tuple[int, ...]
    _computed: Callable[[Index], Element]
    _known: dict[tuple[int, ...], tuple[Index, Element]] = field(default_factory=dict)

    def at(self, index: Index) -> Element:
        """Return the element at an index."""
        key = tuple(term.get_id() for term in index)
        if key not in self._known:
            # the index is kept, since z3 reuses the numbers of freed terms
            self._known[key] = index, self._computed(index)
        return self._known[key][1]


@dataclass(frozen=True, eq=False)
class BlockDescriptor:
    """A tensor descriptor: a buffer with a shape and strides."""

    pointer: Element
    sizes: tuple[Element, ...]
    strides: tuple[Element, ...]


Value = Element | BitTensor | BlockDescriptor


@dataclass(frozen=True, eq=False)
class Path:
    """When an operation runs, and which integers decide that."""

    condition: z3.BoolRef
    wraps: frozenset[Wrap] = frozenset()
    is_exact: bool = True

    def under(self, *conditions: z3.BoolRef, by: tuple[Element, ...] = ()) -> Path:
        """Return the path where conditions, which elements `by` decide, hold as well."""
        return Path(
            both(self.condition, *conditions),
            self.wraps.union(*(element.wraps for element in by)),
            self.is_exact and all(element.is_exact for element in by),
        )


def simplified(condition: z3.BoolRef) -> z3.BoolRef:
    """Return true or false where z3's simplifier decides it, else the condition as it is.

    A simpler form has products of fewer bits, which are then no longer those of the contract.
    """
    made = z3.simplify(condition)
    return made if z3.is_true(made) or z3.is_false(made) else condition


def both(*conditions: z3.BoolRef) -> z3.BoolRef:
    """Return whether all conditions hold."""
    parts = [condition for condition in conditions if not z3.is_true(condition)]
    if any(z3.is_false(condition) for condition in parts):
        return FALSE
    return TRUE if not parts else parts[0] if len(parts) == 1 else z3.And(*parts)


def any_of(conditions: list[z3.BoolRef]) -> z3.BoolRef:
    """Return whether some condition holds."""
    parts = [condition for condition in conditions if not z3.is_false(condition)]
    return FALSE if not parts else parts[0] if len(parts) == 1 else z3.Or(*parts)


def opposite(condition: z3.BoolRef) -> z3.BoolRef:
    """Return whether a condition does not hold."""
    return simplified(z3.Not(condition))


def lane(number: int) -> z3.BitVecRef:
    """Return an index along one axis."""
    return z3.BitVecVal(number, 32)


def widened(bits: z3.BitVecRef, width: int = POINTER_BITS) -> z3.BitVecRef:
    """Return a signed integer with `width` bits, fewer or more."""
    size = bits.size()
    if size == width:
        return bits
    made = z3.SignExt(width - size, bits) if size < width else z3.Extract(width - 1, 0, bits)
    return z3.simplify(made) if z3.is_bv_value(bits) else made


def chosen(condition: Element, a: Element, b: Element) -> Element:
    """Return `a` where a condition is true, `b` elsewhere; both were computed."""
    is_first = condition.is_true
    wraps = condition.wraps | a.wraps | b.wraps
    is_exact = condition.is_exact and a.is_exact and b.is_exact
    if z3.is_true(is_first) or z3.is_false(is_first):
        taken = a if z3.is_true(is_first) else b
        return Element(taken.bits, taken.cases, wraps, is_exact)
    if a.cases or b.cases:
        cases = [
            PointedBuffer(both(is_first, case.condition), case.buffer, case.offset)
            for case in a.cases
        ]
        other = opposite(is_first)
        cases += [
            PointedBuffer(both(other, case.condition), case.buffer, case.offset) for case in b.cases
        ]
        is_exact = is_exact and bool(a.cases and b.cases)
        return Element(None, tuple(cases), wraps, is_exact)
    if a.bits is None or b.bits is None:
        return Element(None, (), wraps, is_exact=False)
    bits = a.bits if a.bits.eq(b.bits) else z3.If(is_first, a.bits, b.bits)
    return Element(bits, (), wraps, is_exact)


def merged(condition: Element, a: Value, b: Value) -> Value:
    """Return the value `a` where a condition is true, `b` elsewhere."""
    if a is b:
        return a
    if isinstance(a, Element) and isinstance(b, Element):
        return chosen(condition, a, b)
    if isinstance(a, BitTensor) and isinstance(b, BitTensor):
        return BitTensor(a.shape, lambda index: chosen(condition, a.at(index), b.at(index)))
    raise NotModelled("a choice between descriptors")


def uncovered(value: Value) -> Value:
    """Return a value whose integers no proof covers: it holds whatever they are."""
    if isinstance(value, Element):
        return replace(value, wraps=frozenset())
    if isinstance(value, BitTensor):
        return BitTensor(value.shape, lambda index: replace(value.at(index), wraps=frozenset()))
    return value
