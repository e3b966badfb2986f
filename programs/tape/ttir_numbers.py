"""Evaluates the integer operations of TTIR on which bounds of loops may depend."""

import re
from collections.abc import Callable, Mapping

_INTEGER = re.compile(r"arith\.constant (-?\d{1,20}|true|false)\b")
_PREDICATE = re.compile(r"arith\.cmpi (\w+),")
_AXIS = re.compile(r"tt\.get_(program_id|num_programs) ([xyz])")


def rule_of(name: str, line: str) -> Callable[..., int | None]:
    """Return the function that an op computes of numbers; `unknown` for other ops."""
    if name == "arith.constant" and (found := _INTEGER.search(line)):
        value = int(_TRUTHS.get(found[1], found[1]))
        return lambda: value
    if name in ("tt.get_program_id", "tt.get_num_programs"):
        return _same
    if name == "arith.cmpi":
        return _COMPARED.get(predicate_of(line), unknown)
    return unknown if "tensor<" in line else _NUMBERS.get(name, unknown)


def axis_of(name: str, line: str) -> str | None:
    """Return the node of a program id or of the number of programs; None for other ops."""
    if name not in ("tt.get_program_id", "tt.get_num_programs"):
        return None
    found = _AXIS.search(line)
    return f"{found[1]} {found[2]}" if found else None


def predicate_of(line: str) -> str:
    """Return the predicate of a comparison."""
    found = _PREDICATE.search(line)
    return found[1] if found else ""


def unknown(*_: int) -> None:
    """Return no number."""


def _same(value: int) -> int:
    return value


def trips_below(first: int, end: int, step: int) -> int | None:
    """Return the trips of a loop up to an exclusive end."""
    return max(0, -(-(end - first) // step)) if step > 0 else None


def trips_to(first: int, last: int, step: int) -> int | None:
    """Return the trips of a loop up to an inclusive end."""
    return trips_below(first, last + 1, step)


def middle_to(first: int, last: int, step: int) -> int | None:
    """Return the counter in the middle of a loop up to an inclusive end."""
    return middle_below(first, last + 1, step)


def middle_below(first: int, end: int, step: int) -> int | None:
    """Return the counter in the middle of a loop up to an exclusive end."""
    trips = trips_below(first, end, step)
    return None if trips is None else first + max(0, trips - 1) // 2 * step


def _divided(left: int, right: int) -> int:
    """Return the quotient rounded towards zero, as in `arith.divsi`."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_TRUTHS = {"true": "1", "false": "0"}
_NUMBERS: Mapping[str, Callable[..., int | None]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    "arith.divsi": _divided,
    "arith.divui": _divided,
    "arith.ceildivsi": lambda left, right: -(-left // right),
    "arith.remsi": lambda left, right: left - _divided(left, right) * right,
    "arith.remui": lambda left, right: left - _divided(left, right) * right,
    "arith.minsi": min,
    "arith.minui": min,
    "arith.maxsi": max,
    "arith.maxui": max,
    "arith.andi": lambda left, right: left & right,
    "arith.ori": lambda left, right: left | right,
    "arith.select": lambda which, left, right: left if which else right,
    "arith.extsi": _same,
    "arith.extui": _same,
    "arith.trunci": _same,
    "arith.index_cast": _same,
}
"""Functions of scalars, not of tensors."""
_COMPARED: Mapping[str, Callable[..., int | None]] = {
    "eq": lambda left, right: int(left == right),
    "ne": lambda left, right: int(left != right),
    "slt": lambda left, right: int(left < right),
    "sle": lambda left, right: int(left <= right),
    "sgt": lambda left, right: int(left > right),
    "sge": lambda left, right: int(left >= right),
}
