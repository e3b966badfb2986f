"""Draws sizes that keep a contract, read from its text, separately from the prover."""

import random
from collections.abc import Iterator, Mapping

from compiler.proof.binding import GRID_LIMITS, SizeLimits
from compiler.proof.contract import (
    Arithmetic,
    Contract,
    ContractName,
    Expression,
    Inequality,
    Number,
)

SMALL = (1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 255, 257, 1000, 1023,
         1024, 1025, 4097)  # fmt: skip
LARGE = (2**20 - 1, 2**24 + 1, 2**29, 2**31 - 1)
_DRAWS, _CHANGES = 20, 60
Sizes = dict[str, int]


def drawn_sizes(
    contract: Contract,
    bits: Mapping[str, int],
    constants: Mapping[str, int],
    limits: SizeLimits,
    drawn: random.Random,
) -> Sizes:
    """Return every scalar (of `bits`), size and constant. Raises LookupError if none was found."""
    anything = {one.text for one in contract.anything}
    fixed = {one.text for one in contract.fixed}
    names = [name for name in bits if name not in fixed]
    names += [one.text for one in contract.sizes]
    tops = {name: min(limits.size, 2 ** (bits.get(name, 64) - 1) - 1) for name in names}

    def size(name: str) -> int:
        if name in anything and drawn.random() < 0.5:
            half = 2 ** (bits[name] - 1)
            return drawn.choice((0, -1, 1, -half, half - 1, drawn.randrange(-half, half)))
        return min(drawn.choice(pick), tops[name])

    for _ in range(_DRAWS):
        pick = SMALL if drawn.random() < 0.9 else LARGE
        found = {name: size(name) for name in names}
        for _ in range(_CHANGES):
            whole = _completed(contract, bits, constants, found)
            broken = [one for one in contract.comparisons if not _holds(one, whole)]
            if not broken:
                if _is_within(contract, bits, limits, whole):
                    return whole
                break
            one = drawn.choice(broken)
            changeable = sorted(set(_names(one.left, contract)) | set(_names(one.right, contract)))
            changeable = [name for name in changeable if name in tops]
            if not changeable:
                break
            name = drawn.choice(changeable)
            ends = [value_of(side, whole) for side in (one.left, one.right)]
            likely = drawn.choice((size(name), *ends, ends[0] + 1, ends[1] - 1))
            low = -(2 ** (bits[name] - 1)) if name in anything else 1
            found[name] = max(low, min(likely, tops[name]))
    raise LookupError("no sizes were found that keep the contract")


def value_of(expression: Expression, sizes: Mapping[str, int]) -> int:
    """Return the value of an expression of a contract."""
    match expression:
        case Number(value):
            return value
        case ContractName(text):
            return sizes[text]
    a, b = (value_of(one, sizes) for one in expression.operands)
    match expression.operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "//":
            return a // b
        case "%":
            return a % b
        case "cdiv":
            return -(-a // b)
        case "min":
            return min(a, b)
    return max(a, b)


def _completed(
    contract: Contract, bits: Mapping[str, int], constants: Mapping[str, int], found: Sizes
) -> Sizes:
    """Return sizes with those that others fix."""
    whole = {**constants, **found}
    for one, expression in contract.fixed.items():
        if one.text in bits:
            whole[one.text] = value_of(expression, whole)
    return whole


def _holds(one: Inequality, sizes: Sizes) -> bool:
    a, b = value_of(one.left, sizes), value_of(one.right, sizes)
    return {"<=": a <= b, "<": a < b, ">=": a >= b, ">": a > b, "==": a == b}[one.relation]


def _is_within(
    contract: Contract, bits: Mapping[str, int], limits: SizeLimits, sizes: Sizes
) -> bool:
    """Return whether extents, the grid and what is fixed are of launchable sizes."""
    extents = [value_of(one, sizes) for one in contract.extents.values()]
    grid = [value_of(one, sizes) for one in contract.grid]
    fixed = [one.text for one in contract.fixed if one.text in bits]
    return (
        all(0 <= one <= limits.elements for one in extents)
        and all(1 <= size <= most for size, most in zip(grid, GRID_LIMITS, strict=False))
        and all(abs(sizes[name]) < 2 ** (bits[name] - 1) for name in fixed)
    )


def _names(expression: Expression, contract: Contract) -> Iterator[str]:
    """Yield the names of an expression, and of the value that it is fixed to."""
    match expression:
        case ContractName(text):
            yield text
            for one, inner in contract.fixed.items():
                if one.text == text:
                    yield from _names(inner, contract)
        case Arithmetic(_, operands):
            for one in operands:
                yield from _names(one, contract)
