"""Statements of a generated kernel: the lines that they are, and what they do when they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.differential.kernels import exact_numbers as numbers
from tests.differential.kernels.exact_numbers import Kind, Number, Undefined
from tests.differential.kernels.exactness import check_exact_sum
from tests.differential.kernels.operation import shape_text
from tests.differential.kernels.operations import OPERATIONS
from tests.differential.kernels.tiles import (
    Node,
    Shape,
    Tile,
    check_unrounded,
    each,
    filled,
    spread,
)

MAX_STEPS = 12_000
"""Elements that one program may calculate; each takes the oracle some microseconds."""
INDENT = "    "


Expected = dict[str, list[Number]]
"""The final contents of the buffers by name."""


@dataclass
class State:
    """One program while it runs: its variables, and the buffers that all programs share."""

    names: dict[str, Tile]
    buffers: Mapping[str, list[Number]]
    steps: int = 0

    def count(self, elements: int) -> None:
        """Raise `Undefined` where a kernel takes too long."""
        self.steps += elements
        if self.steps > MAX_STEPS:
            raise Undefined("a kernel that takes too long")


class Returned(Exception):
    """The program has returned."""


def text_of(node: Node) -> str:
    """Return the source of an expression."""
    texts = [text_of(operand) for operand in node.operands]
    match node.operation:
        case "name":
            return str(node.details["name"])
        case "load":
            place, mask, other = _access_texts(node.details, texts)
            last = f", other={other}" if other else ""
            if node.details.get("spread"):
                place = f"tl.broadcast_to({place}, {shape_text(node.shape)})"
            return f"tl.load({place}{mask}{last})"
        case "load_either":
            first, second = (f"{name} + {texts[1]}" for name in node.details["buffers"])
            return f"tl.load(tl.where({texts[0]}, {first}, {second}))"
        case "load_by_address":
            place = f"({node.details['buffer']} + {texts[0]}).to(tl.int64)"
            return f"tl.load({place}.to(tl.pointer_type(tl.{node.kind.name})))"
        case "atomic_load":
            return f"tl.atomic_load({node.details['buffer']} + {texts[0]})"
        case "static":
            return f"tl.full([], {node.details['name']}, tl.int32)"
    return OPERATIONS[node.operation].text(node, texts)


def _access_texts(details: Mapping[str, Any], texts: Sequence[str]) -> tuple[str, str, str]:
    left = list(texts)
    place = f"{details['buffer']} + {left.pop(0)}"
    mask = f", mask={left.pop(0)}" if details["masked"] else ""
    return place, mask, left.pop(0) if details.get("other") else ""


def value_of(node: Node, state: State) -> Tile:
    """Return what an expression is for one program."""
    if node.operation in {"name", "static"}:
        return state.names[node.details["name"]]
    tiles = [value_of(operand, state) for operand in node.operands]
    state.count(int(np.prod(node.shape, dtype=int)))
    if node.operation == "load_either":
        first, second = (state.buffers[name] for name in node.details["buffers"])
        return each(node.kind, node.shape, lambda c, i: (first if c else second)[i], *tiles)
    if node.operation in {"load_by_address", "atomic_load"}:
        memory = state.buffers[node.details["buffer"]]
        return each(node.kind, node.shape, lambda i: memory[i], *tiles)
    if node.operation == "load":
        return _loaded(node, tiles, state)
    made: Tile = OPERATIONS[node.operation].value(node, tiles)
    assert made.shape == node.shape, (text_of(node), made.shape, node.shape)
    assert made.kind == node.kind, (text_of(node), made.kind, node.kind)
    return made


def _loaded(node: Node, tiles: Sequence[Tile], state: State) -> Tile:
    left = list(tiles)
    index = spread(left.pop(0), node.shape)
    mask = spread(left.pop(0), node.shape) if node.details["masked"] else None
    other = spread(left.pop(0), node.shape) if node.details.get("other") else None
    memory = state.buffers[node.details["buffer"]]
    found = np.empty(node.shape, object)
    for place in np.ndindex(*node.shape):
        if mask is None or mask[place]:
            assert 0 <= index[place] < len(memory), text_of(node)
            found[place] = memory[index[place]]
        else:
            found[place] = other[place] if other is not None else nothing(node.kind)
    return Tile(node.kind, found)


def nothing(kind: Kind) -> Number:
    return False if kind.is_bool else 0.0 if kind.is_float else 0


class Statement:
    """One statement; `group` is the row of the table that it is counted in."""

    group = ""

    def lines(self) -> Iterator[str]:
        """Yield its lines."""
        raise NotImplementedError

    def run(self, state: State) -> None:
        """Do it. Raises `Undefined`."""
        raise NotImplementedError

    def nodes(self) -> Iterator[Node]:
        """Yield all nodes of its expressions, and of the statements in it."""
        yield from ()

    def inside(self) -> Iterator[Statement]:
        """Yield it, and the statements in it."""
        yield self

    def without(self) -> Statement | None:
        """Return a statement that may replace it if it is `Undefined`."""
        return None


def default(name: str, kind: Kind, shape: Shape) -> Assign:
    """Return a statement that gives a variable some value."""
    return Assign(name, Node("full", kind, shape, (), {"value": nothing(kind)}))


@dataclass(frozen=True)
class Assign(Statement):
    """A variable, new or not."""

    name: str
    value: Node

    def lines(self) -> Iterator[str]:
        yield f"{self.name} = {text_of(self.value)}"

    def run(self, state: State) -> None:
        state.names[self.name] = value_of(self.value, state)

    def nodes(self) -> Iterator[Node]:
        yield from self.value.all()

    def without(self) -> Statement | None:
        return default(self.name, self.value.kind, self.value.shape)


@dataclass(frozen=True)
class Store(Statement):
    """A store; of equal places the last one stays."""

    buffer: str
    index: Node
    value: Node
    mask: Node | None
    group = "stores"

    def lines(self) -> Iterator[str]:
        mask = f", mask={text_of(self.mask)}" if self.mask else ""
        yield f"tl.store({self.buffer} + {text_of(self.index)}, {text_of(self.value)}{mask})"

    def run(self, state: State) -> None:
        shape = self.index.shape
        index = value_of(self.index, state).array
        value = spread(value_of(self.value, state), shape)
        mask = spread(value_of(self.mask, state), shape) if self.mask else None
        memory = state.buffers[self.buffer]
        for place in np.ndindex(*shape):
            if mask is None or mask[place]:
                assert 0 <= index[place] < len(memory), text_of(self.index)
                memory[index[place]] = value[place]

    def nodes(self) -> Iterator[Node]:
        for node in (self.index, self.value, self.mask):
            yield from node.all() if node else ()


def _added(kind: Kind, a: Number, b: Number) -> Number:
    check_exact_sum(kind, [a, b])
    return numbers.added(kind, a, b)


def _bits(sign: str) -> Callable[[Kind, Number, Number], Number]:
    return lambda kind, a, b: numbers.bitwise(kind, a, b, sign)


ATOMICS: Mapping[str, Callable[[Kind, Number, Number], Number]] = {
    "add": _added, "max": numbers.larger, "min": numbers.smaller,
    "and": _bits("&"), "or": _bits("|"), "xor": _bits("^"), "xchg": lambda _, a, b: b,
}  # fmt: skip


@dataclass(frozen=True)
class Atomic(Statement):
    """An atomic operation, lane after lane; `name` holds what was there before, 0 where masked."""

    kind: str
    buffer: str
    index: Node
    value: Node
    mask: Node | None = None
    expected: Node | None = None
    name: str | None = None

    @property
    def group(self) -> str:  # type: ignore[override]
        return f"atomics{', result used' if self.name else ''}"

    def lines(self) -> Iterator[str]:
        parts = [f"{self.buffer} + {text_of(self.index)}"]
        parts += [text_of(self.expected)] if self.expected else []
        parts += [text_of(self.value)]
        parts += [f"mask={text_of(self.mask)}"] if self.mask else []
        call = f"tl.atomic_{self.kind}({', '.join(parts)})"
        if self.name and self.mask:
            zero = "0.0" if self.value.kind.is_float else "0"
            call = f"tl.where({text_of(self.mask)}, {call}, {zero})"
        yield f"{self.name} = {call}" if self.name else call

    def run(self, state: State) -> None:
        shape, kind = self.index.shape, self.value.kind
        index = value_of(self.index, state).array
        tile = value_of(self.value, state)
        check_unrounded(tile)
        value = spread(tile, shape)
        mask = spread(value_of(self.mask, state), shape) if self.mask else None
        expected = value_of(self.expected, state).array if self.expected else None
        memory = state.buffers[self.buffer]
        before = filled(kind, shape, nothing(kind)).array
        places = list(np.ndindex(*shape))
        if self.kind in {"max", "min"} and kind.is_float:
            # Triton makes two operations of it, by the sign: first of those that are not negative
            places.sort(key=lambda place: bool(value[place] < 0))
        for place in places:
            if mask is not None and not mask[place]:
                continue
            assert 0 <= index[place] < len(memory), text_of(self.index)
            met = before[place] = memory[index[place]]
            if kind.is_float and (met != met or value[place] != value[place]):
                raise Undefined("NaN in an atomic operation")
            if self.kind in {"max", "min"} and kind.is_float and (met == 0 or value[place] == 0):
                raise Undefined("a zero in an atomic maximum, which goes by its bits")
            if expected is None:
                memory[index[place]] = ATOMICS[self.kind](kind, met, value[place])
            elif numbers.to_bits(kind, met) == numbers.to_bits(kind, expected[place]):
                memory[index[place]] = value[place]
        if self.name:
            state.names[self.name] = Tile(kind, before)

    def nodes(self) -> Iterator[Node]:
        for node in (self.index, self.value, self.mask, self.expected):
            yield from node.all() if node else ()

    def without(self) -> Statement | None:
        return default(self.name, self.value.kind, self.index.shape) if self.name else None
