"""Finds the strides of tensors: what the axes of an address are multiplied by.

In `a + rows[:, None] * stride_m + columns[None, :] * stride_k`, each axis has a stride, so the last
of them, in the order of the parameters, is taken to be that of a contiguous axis: 1. In
`a + row * stride + columns`, `columns` is the contiguous axis.
"""

import ast
from collections.abc import Iterator

from compiler.reading.proposals.address_roots import (
    SAME_VALUE,
    AddressRoots,
    is_access,
    uncast,
)
from compiler.reading.proposals.clues import Clue, UseClues
from compiler.reading.proposals.parsed_function import ParsedFunction, argument

MAX_TERMS = 300
"""Of one address; a longer one has no strides."""


def note_strides(
    function: ParsedFunction, evidence: dict[str, UseClues], addresses: AddressRoots
) -> None:
    """Note the strides of each tensor, and which of them is the last one."""
    strides: dict[str, dict[str, int]] = {}
    contiguous: set[str] = set()
    scan = _Terms(function, evidence)
    for call in function.calls:
        pointer = argument(call, 0, "pointer")
        if pointer is None or not is_access(function.callee(call)):
            continue
        terms = list(scan.terms(pointer))
        for root in addresses.roots(pointer):
            others = [term for term in terms if not _is_name(term, root)]
            if any(map(scan.is_axis, others)) or len(terms) >= MAX_TERMS:
                contiguous.add(root)
            for term in others:
                if (name := scan.stride(term)) is not None:
                    strides.setdefault(root, {}).setdefault(name, term.lineno)
    order = list(function.parameters)
    for root, found in strides.items():
        for name, line in found.items():
            evidence[name].size.append(Clue("stride", line, f"is a stride of {root}"))
        last = max(found, key=order.index)
        if root not in contiguous and not scan.is_changed(last):
            clue = Clue("1", found[last], f"is the last stride of {root}")
            evidence[last].unit_stride.append(clue)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


class _Terms:
    """The terms of one function's addresses."""

    def __init__(self, function: ParsedFunction, evidence: dict[str, UseClues]) -> None:
        self._function = function
        self._numbers = {
            name
            for name, parameter in function.parameters.items()
            if not evidence[name].pointer
            and not evidence[name].shape
            and not (parameter.annotation and "constexpr" in ast.unparse(parameter.annotation))
        }
        self._changed = set(function.values) | {
            node.value.id
            for node in function.nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }

    def is_changed(self, name: str) -> bool:
        """Return whether a parameter is assigned, or its attributes are used: a 1 has none."""
        return name in self._changed

    def terms(self, address: ast.expr) -> Iterator[ast.expr]:
        """Yield what is added up to an address, through local names."""
        waiting, names = [address], set[str]()
        for _ in range(MAX_TERMS):
            if not waiting:
                return
            match waiting.pop():
                case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                    waiting += [right, left]
                case ast.Subscript(value=value):
                    waiting.append(value)
                case ast.Call(func=ast.Attribute(value=value, attr="to")):
                    waiting.append(value)
                case ast.Call(args=[first, *_]) as call if (
                    self._function.callee(call) in SAME_VALUE
                ):
                    waiting.append(first)
                case ast.Name(id=name) as node if values := self._function.values.get(name):
                    if name in self._function.parameters:
                        yield node
                    if name not in names:
                        names.add(name)
                        waiting += values
                case node:
                    yield node

    def stride(self, term: ast.expr) -> str | None:
        """Return the parameter that an axis is multiplied by, if one is."""
        if not isinstance(term, ast.BinOp) or not isinstance(term.op, ast.Mult):
            return None
        factors = self._factors(term)
        names = [f.id for f in factors if isinstance(f, ast.Name) and f.id in self._numbers]
        named = [name for name in names if "stride" in name.lower()]
        return named[0] if len(named) == 1 else names[0] if len(names) == 1 else None

    def is_axis(self, term: ast.expr) -> bool:
        """Return whether a term varies and is multiplied by no number of the launch."""
        factors = self._factors(term)
        if any(isinstance(f, ast.Name) and f.id in self._numbers for f in factors):
            return False
        return not all(self._is_constant(factor) for factor in factors)

    def _is_constant(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return True
        is_own = isinstance(node, ast.Name) and node.id in self._function.parameters
        return is_own and not self._function.values.get(node.id)  # type: ignore[attr-defined]

    def _factors(self, term: ast.expr) -> list[ast.expr]:
        found: list[ast.expr] = []
        waiting = [term]
        while waiting:
            match uncast(waiting.pop()):
                case ast.BinOp(left=left, op=ast.Mult(), right=right):
                    waiting += [right, left]
                case ast.Subscript(value=value):
                    waiting.append(value)
                case node:
                    found.append(node)
        return found
