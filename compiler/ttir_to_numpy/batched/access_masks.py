"""The masks that bound an access, in the names of the kernel's own variables.

MLIR names each operation after the variable of its statement. So a value is a variable if it is
named otherwise than what uses it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from compiler.lines.access_mask import AccessMask
from compiler.ttir_to_numpy.batched.reachable import Reachable
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import is_tensor, shape_of

_MASK_AT = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2}
_SPREADING = frozenset({"tt.splat", "tt.broadcast", "arith.extsi", "arith.extui"})
_SUMS = frozenset(
    {"arith.addi", "arith.subi", "arith.muli", "arith.remsi", "arith.divsi", "tt.addptr"}
)
_UPPER = {2: ("<", 0), 3: ("<=", 0), 6: ("<", 0), 7: ("<=", 0)} | {
    4: ("<", 1), 5: ("<=", 1), 8: ("<", 1), 9: ("<=", 1),
}  # fmt: skip
"""Comparisons by MLIR's number, as upper bounds: the sign, and which operand is bounded."""
_MAX_FOLLOWED = 200
_Axes = tuple[int, ...]
"""The axes that `[:, None]` adds to a variable, the last one first."""


@dataclass(frozen=True, slots=True)
class _Comparison:
    bounded: Value
    sign: str
    bound: str


class AccessMasks:
    """The accesses of a kernel with masks, by their numbers; looked at when asked for."""

    def __init__(self, reachable: Reachable) -> None:
        self._reachable = reachable

    def of(self, number: int) -> AccessMask | None:
        """Return the mask of an operation, None where it has no place for one."""
        operation = self._accesses.get(number)
        return None if operation is None else self._mask_of(operation)

    @cached_property
    def _accesses(self) -> Mapping[int, Operation]:
        every = (o for operations in self._reachable.operations.values() for o in operations)
        return {o.number: o for o in every if o.name in _MASK_AT and o.number >= 0}

    @cached_property
    def _comparisons(self) -> Mapping[Value, _Comparison]:
        """The first upper bound of each variable, in the order of the kernel."""
        every = (o for operations in self._reachable.operations.values() for o in operations)
        bounds = dict[Value, _Comparison]()
        for comparison in filter(None, map(_comparison, every)):
            if comparison.bound:
                bounds.setdefault(comparison.bounded, comparison)
        return bounds

    def _mask_of(self, access: Operation) -> AccessMask:
        mask = _mask(access)
        own = [] if mask is None else list(_compared_in(mask))
        named = access.results[0].name if access.results else ""
        used = list(_variables(access.operands[0], named))
        held = {comparison.bounded for comparison in own}
        bounds = {value: text for use in used for value, text in self._bounds(*use, held)}
        return AccessMask(
            mask is not None,
            any(comparison.sign == "<=" for comparison in own),
            tuple(dict.fromkeys(_subscripted(value, axes) for value, axes in used)),
            tuple(dict.fromkeys(bounds[value] for value in self._comparisons if value in bounds)),
        )

    def _bounds(
        self, variable: Value, axes: _Axes, held: set[Value]
    ) -> Iterator[tuple[Value, str]]:
        """Yield the bound of a variable, or else of those that it is made of."""
        pending = [(variable, axes)]
        for value, own_axes in pending:
            if value in held or len(pending) > _MAX_FOLLOWED:
                continue
            known = self._comparisons.get(value)
            if known is not None:
                yield value, f"{_subscripted(value, own_axes)} {known.sign} {known.bound}"
            elif value.made_by is not None:
                inner = _variables(value, value.name)
                pending += [(v, (*own_axes, *moved)) for v, moved in inner if v is not value]


def _variables(start: Value, own: str) -> Iterator[tuple[Value, _Axes]]:
    """Yield the tensors of integers that a value is a sum of, made in statements before its own.

    `own` is the variable of its statement.
    """
    pending: list[tuple[Value, str, _Axes]] = [(start, own, ())]
    for value, statement, axes in pending:
        if len(pending) > _MAX_FOLLOWED:
            return
        made, is_pointer = value.made_by, _is_pointer(value)
        if not is_pointer and value is not start and value.name not in ("", statement):
            if is_tensor(value.type):
                yield value, axes
        elif made is not None and made.name in _SUMS | _SPREADING:
            inner = value.name if is_pointer and value.name else statement
            pending += [(operand, inner, axes) for operand in made.operands]
        elif made is not None and made.name == "tt.expand_dims":
            pending.append((made.operands[0], statement, (*axes, made.integer("axis"))))


def _is_pointer(value: Value) -> bool:
    return "!tt.ptr" in value.type


def _mask(access: Operation) -> Value | None:
    """Return the mask of an access, None where it has none, or a constant."""
    place = _MASK_AT[access.name]
    sizes = access.integers("operandSegmentSizes") if access.name == "tt.load" else []
    if len(access.operands) <= place or (sizes and not sizes[1]):
        return None
    mask = access.operands[place]
    made = _root(mask).made_by
    is_constant = made is not None and made.name == "arith.constant"
    return None if is_constant else mask


def _compared_in(mask: Value) -> Iterator[_Comparison]:
    """Yield the upper bounds that must all hold where a mask does."""
    pending = [mask]
    for value in pending:
        made = _root(value).made_by
        if made is None or len(pending) > _MAX_FOLLOWED:
            continue
        if made.name == "arith.andi":
            pending += made.operands
        elif (comparison := _comparison(made)) is not None:
            yield comparison


def _comparison(operation: Operation) -> _Comparison | None:
    """Return the upper bound that a comparison is; without text if it compares no variable."""
    if operation.name != "arith.cmpi" or operation.integer("predicate") not in _UPPER:
        return None
    sign, place = _UPPER[operation.integer("predicate")]
    bounded, bound = (_root(operation.operands[at]) for at in (place, 1 - place))
    is_variable = bounded.name not in ("", operation.results[0].name)
    is_named = is_variable and is_tensor(bounded.type)
    return _Comparison(bounded, sign, _number(bound) if is_named else "")


def _root(value: Value) -> Value:
    """Return what a value repeats."""
    while value.made_by is not None and value.made_by.name in _SPREADING | {"tt.expand_dims"}:
        value = value.made_by.operands[0]
    return value


def _number(value: Value) -> str:
    """Return the text of a scalar: the name of an argument, or a constant; "" for others."""
    if value.made_by is None:
        return value.name
    if value.made_by.name != "arith.constant":
        return ""
    text = value.made_by.attributes.get("value", "")
    digits = text.removeprefix("dense<").partition(" ")[0].partition(">")[0]
    return digits if digits.isdecimal() else ""


def _subscripted(value: Value, axes: Sequence[int]) -> str:
    """Return the text of a variable with new axes: `rows[:, None]`."""
    places = [":"] * len(shape_of(value.type))
    for axis in reversed(axes):
        places.insert(axis, "None")
    return f"{value.name}[{', '.join(places)}]" if axes else value.name
