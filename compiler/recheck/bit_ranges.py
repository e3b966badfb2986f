"""Between which numbers bits are, by their form alone: `zero_extend` of 31 bits is not negative.

So most integers need no question about whether they wrap.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import z3

Range = tuple[int, int]
_MAX_DEPTH = 200
_UNSIGNED = (z3.Z3_OP_BUDIV, z3.Z3_OP_BUDIV_I, z3.Z3_OP_BUREM, z3.Z3_OP_BUREM_I)
_DIVISIONS = (
    *_UNSIGNED, z3.Z3_OP_BSREM, z3.Z3_OP_BSREM_I, z3.Z3_OP_BSDIV, z3.Z3_OP_BSDIV_I,
)  # fmt: skip


@dataclass
class Ranges:
    """The ranges of terms, as signed numbers; each term is kept with its own."""

    _known: dict[int, tuple[z3.BitVecRef, Range]] = field(default_factory=dict)

    def note(self, term: z3.BitVecRef, low: int, high: int) -> None:
        """Note the range of a term, from a fact about it."""
        self._known[term.get_id()] = term, (low, high)

    def of(self, term: z3.BitVecRef, depth: int = 0) -> Range:
        """Return the least and the largest number that a term may be."""
        key = term.get_id()
        if key not in self._known:
            half = 1 << (term.size() - 1)
            made = None if depth > _MAX_DEPTH else self._computed(term, depth + 1)
            if made is None or made[0] < -half or made[1] >= half:
                made = -half, half - 1
            self._known[key] = term, made
        return self._known[key][1]

    def _computed(self, term: z3.BitVecRef, depth: int) -> Range | None:
        if z3.is_bv_value(term):
            number = term.as_signed_long()
            return number, number
        kind, parts = term.decl().kind(), term.children()
        match kind:
            case z3.Z3_OP_SIGN_EXT:
                return self.of(parts[0], depth)
            case z3.Z3_OP_ZERO_EXT:
                return self._unsigned(parts[0], depth)
            case z3.Z3_OP_CONCAT if z3.is_bv_value(parts[0]) and parts[0].as_long() == 0:
                size = sum(part.size() for part in parts[1:])
                return 0, (1 << size) - 1
            case z3.Z3_OP_EXTRACT if term.params()[1] == 0:
                return self.of(parts[0], depth)
            case z3.Z3_OP_BUDIV | z3.Z3_OP_BUDIV_I | z3.Z3_OP_BUREM | z3.Z3_OP_BUREM_I:
                return self._divided(term.decl().kind(), parts, depth)
            case z3.Z3_OP_ITE:
                ends = [self.of(part, depth) for part in parts[1:]]
                return min(low for low, _ in ends), max(high for _, high in ends)
            case z3.Z3_OP_BADD | z3.Z3_OP_BMUL | z3.Z3_OP_BSUB:
                made = self.of(parts[0], depth)
                for part in parts[1:]:
                    made = _combined(kind, made, self.of(part, depth))
                return made
        return None

    def _divided(self, kind: int, parts: list[z3.BitVecRef], depth: int) -> Range | None:
        (low, high), (least, most) = self.of(parts[0], depth), self.of(parts[1], depth)
        if low < 0 or least < 1:
            return None
        is_rest = kind in (z3.Z3_OP_BUREM, z3.Z3_OP_BUREM_I)
        return (0, min(high, most - 1)) if is_rest else (low // most, high // least)

    def _unsigned(self, term: z3.BitVecRef, depth: int) -> Range:
        low, high = self.of(term, depth)
        return (low, high) if low >= 0 else (0, (1 << term.size()) - 1)


def _combined(kind: int, a: Range, b: Range) -> Range:
    if kind == z3.Z3_OP_BADD:
        return a[0] + b[0], a[1] + b[1]
    if kind == z3.Z3_OP_BSUB:
        return a[0] - b[1], a[1] - b[0]
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def has_products(formulas: Iterable[z3.BoolRef]) -> bool:
    """Return whether formulas have a product or a quotient of two terms that are no numbers."""
    seen: set[int] = set()
    pending: list[z3.ExprRef] = list(formulas)
    while pending:
        term = pending.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        if _is_hard(term):
            return True
        pending += term.children()
    return False


def _is_hard(term: z3.ExprRef) -> bool:
    if term.num_args() != 2 or not z3.is_bv(term):
        return False
    a, b = term.children()
    if term.decl().kind() == z3.Z3_OP_BMUL:
        return not z3.is_bv_value(a) and not z3.is_bv_value(b)
    is_shift = z3.is_bv_value(b) and b.as_long().bit_count() == 1
    is_unsigned = term.decl().kind() in _UNSIGNED
    return term.decl().kind() in _DIVISIONS and not (is_shift and is_unsigned)
