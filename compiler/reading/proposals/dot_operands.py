"""Proposes one element type for all that `tl.dot` multiplies with each other: fp16 if any fits."""

import ast
from collections.abc import Iterator

from compiler.reading.proposals.address_roots import SAME_VALUE, AddressRoots
from compiler.reading.proposals.clues import DTYPES, Clue, Strength, UseClues, strongest
from compiler.reading.proposals.parsed_function import MAX_DEPTH, ParsedFunction, argument
from compiler.reading.proposals.value_kinds import FLOAT_FUNCTIONS

ASSUMED_ELEMENT = "fp16"
OF_PARAMETER = "@"
"""Before the name of the parameter that names a type, for those who know what is passed."""
_REASON = "is an operand of tl.dot"
_SHAPED = SAME_VALUE | {"permute", "ravel", "split", "join", "cat", "interleave"}

Elements = frozenset[str] | None
"""The pointers whose element type a value has, or a type such as `=fp32`; None if not known."""


def note_dots(
    function: ParsedFunction, evidence: dict[str, UseClues], addresses: AddressRoots
) -> None:
    """Add the element types that the operands of `tl.dot` imply, or make likely."""
    values = _Values(function, addresses)
    groups: list[tuple[int, set[str]]] = []
    blocked: set[str] = set()
    for call in function.calls:
        name = function.callee(call)
        if name == "dot" and len(call.args) > 1:
            operands = [values.of(_as_cast(operand, call, function)) for operand in call.args[:2]]
            known = set().union(*(elements for elements in operands if elements is not None))
            if None in operands:
                blocked |= known
            else:
                groups.append((call.lineno, known))
        elif name in FLOAT_FUNCTIONS - {"dot"}:
            for operand in call.args:  # most of them take no fp16
                blocked |= values.of(operand) or set()
    for line, members in _joined(groups):
        pointers = members & evidence.keys()
        if pointers & blocked:
            continue
        types = {member[1:] for member in members if member.startswith("=")}
        types |= set(_types_of(pointers, evidence))
        if len(types) > 1:
            continue
        implied = next(iter(types), ASSUMED_ELEMENT)
        strength = Strength.LIKELY if types else Strength.WEAK
        for pointer in pointers:
            evidence[pointer].element.append(Clue(implied, line, _REASON, strength))


def _as_cast(operand: ast.expr, dot: ast.Call, function: ParsedFunction) -> ast.expr:
    """Return what an operand was cast to by the last statement before its use, `p = p.to(...)`."""
    values = function.values.get(operand.id, []) if isinstance(operand, ast.Name) else []
    before = [value for value in values if value.lineno < dot.lineno]
    last = max(before, key=lambda value: value.lineno, default=operand)
    is_cast = isinstance(last, ast.Call) and function.callee(last) in {".to", "cast"}
    return last if is_cast else operand


def _types_of(pointers: set[str], evidence: dict[str, UseClues]) -> Iterator[str]:
    for pointer in pointers:
        clue = strongest(evidence[pointer].element)
        if clue is not None and clue.strength >= Strength.LIKELY:
            yield clue.implied


def _joined(groups: list[tuple[int, set[str]]]) -> list[tuple[int, set[str]]]:
    """Return the groups, those with a common pointer as one."""
    group_of: dict[str, int] = {}
    merged: dict[int, tuple[int, set[str]]] = {}
    for index, (line, members) in enumerate(groups):
        shared = {group_of[m] for m in members if not m.startswith("=") and m in group_of}
        all_members = members.union(*(merged[other][1] for other in shared))
        lines = [line, *(merged.pop(other)[0] for other in shared)]
        merged[index] = min(lines), all_members
        group_of |= dict.fromkeys(all_members, index)
    return list(merged.values())


class _Values:
    """The element types of one function's expressions, as far as the text shows them."""

    def __init__(self, function: ParsedFunction, addresses: AddressRoots) -> None:
        self._function = function
        self._addresses = addresses
        self._names: dict[str, Elements] = {}

    def of(self, node: ast.expr, depth: int = 0) -> Elements:
        """Return whose element type `node` has."""
        if depth > MAX_DEPTH:
            return None
        match node:
            case ast.Name(id=name):
                return self._name_elements(name, depth + 1)
            case ast.Constant(value=int() | float()):
                return frozenset()
            case ast.Subscript(value=value) | ast.Attribute(value=value, attr="T"):
                return self.of(value, depth + 1)
            case ast.UnaryOp(op=ast.USub(), operand=value):
                return self.of(value, depth + 1)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
                return _promoted(self.of(left, depth + 1), self.of(right, depth + 1))
            case ast.Call():
                return self._call_elements(node, depth + 1)
        return None

    def _name_elements(self, name: str, depth: int) -> Elements:
        if name not in self._names:
            self._names[name] = frozenset()  # a loop ends here
            values = self._function.values.get(name)
            if values is not None:
                elements: Elements = frozenset()
                for value in values:
                    elements = _promoted(elements, self.of(value, depth))
            else:
                elements = self._parameter_elements(name)
            self._names[name] = elements
        return self._names[name]

    def _parameter_elements(self, name: str) -> Elements:
        """Return nothing for a constexpr, which takes the type of the other operand."""
        return frozenset() if self._function.is_constexpr(name) else None

    def _call_elements(self, call: ast.Call, depth: int) -> Elements:
        name = self._function.callee(call)
        if name in {"load", ".load"}:
            pointer = argument(call, 0, "pointer")
            if isinstance(call.func, ast.Attribute) and name == ".load":
                pointer = call.func.value
            roots = self._addresses.roots(pointer) if pointer is not None else frozenset()
            return roots or None
        if name in {".to", "cast", "zeros", "full"}:
            index = {".to": 0, "cast": 1, "zeros": 1, "full": 2}[name]
            return self._dtype_elements(argument(call, index, "dtype"), depth)
        if name == "dot":
            return frozenset({"=fp32"})
        if name == "where":
            elements: Elements = frozenset()
            for part in call.args[1:]:
                elements = _promoted(elements, self.of(part, depth))
            return elements
        if name in _SHAPED and call.args:
            return self.of(call.args[0], depth)
        if name.removeprefix(".") in _SHAPED and isinstance(call.func, ast.Attribute):
            return self.of(call.func.value, depth)
        return None

    def _dtype_elements(self, dtype: ast.expr | None, depth: int) -> Elements:
        """Return what `x.dtype`, `x_ptr.dtype.element_ty` or `tl.float16` names."""
        named = self._function.dtype(dtype)
        if named in DTYPES:
            return frozenset({f"={DTYPES[named]}"})
        match dtype:
            case ast.Attribute(
                attr="element_ty",
                value=ast.Attribute(value=ast.Name() as pointer, attr="dtype" | "type"),
            ):
                return self._addresses.roots(pointer) or None
            case ast.Attribute(value=value, attr="dtype"):
                return self.of(value, depth)
            case ast.Name(id=name) if name in self._function.parameters:
                return frozenset({f"={OF_PARAMETER}{name}"})
        return None


def _promoted(first: Elements, other: Elements) -> Elements:
    """Return the type of an operation on both: floats of 32 bits win."""
    if first is None or other is None:
        return None
    both = first | other
    return frozenset({"=fp32"}) if "=fp32" in both else both
