"""Statements that move pointers: through a loop, and block by block with descriptors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.differential.kernels import exact_numbers as numbers
from tests.differential.kernels.exact_numbers import Kind, Number
from tests.differential.kernels.statements import (
    INDENT,
    State,
    Statement,
    default,
    nothing,
    text_of,
    value_of,
)
from tests.differential.kernels.tiles import Node, Tile, spread


@dataclass(frozen=True)
class Walk(Statement):
    """Combines the elements at a pointer into a variable; `condition` lets it start at `other`."""

    pointer: str
    buffer: str
    index: Node
    count: Node
    step: int
    target: str
    kind: Kind
    condition: Node | None = None
    other: str | None = None
    group = "pointers in loops"

    def lines(self) -> Iterator[str]:
        index = text_of(self.index)
        yield f"{self.pointer} = {self.buffer} + {index}"
        if self.condition:
            yield f"if {text_of(self.condition)}:"
            yield f"{INDENT}{self.pointer} = {self.other} + {index}"
        yield f"for _ in range({text_of(self.count)}):"
        loaded = f"tl.load({self.pointer})"
        if self.kind.is_float:
            yield f"{INDENT}{self.target} = tl.maximum({self.target}, {loaded})"
        else:
            yield f"{INDENT}{self.target} = {self.target} ^ {loaded}"
        yield f"{INDENT}{self.pointer} += {self.step}"

    def run(self, state: State) -> None:
        index = value_of(self.index, state).array
        begins_there = self.condition and value_of(self.condition, state).number
        memory = state.buffers[str(self.other) if begins_there else self.buffer]
        for number in range(int(value_of(self.count, state).number)):
            old = state.names[self.target]
            state.count(old.array.size)
            met = np.empty(index.shape, object)
            for place in np.ndindex(*index.shape):
                met[place] = memory[index[place] + number * self.step]
            wide, found = spread(Tile(self.kind, met), old.shape), np.empty(old.shape, object)
            for place in np.ndindex(*old.shape):
                found[place] = self._combined(old.array[place], wide[place])
            state.names[self.target] = Tile(self.kind, found, old.is_rounded)

    def _combined(self, a: Number, b: Number) -> Number:
        if self.kind.is_float:
            return numbers.larger(self.kind, a, b)
        return numbers.bitwise(self.kind, a, b, "^")

    def nodes(self) -> Iterator[Node]:
        for node in (self.index, self.count, self.condition):
            yield from node.all() if node else ()


@dataclass(frozen=True)
class Copy(Statement):
    """A block that goes from one buffer to another by tensor descriptors; beyond it there is 0."""

    source: str
    target: str
    rows: int
    columns: int
    block: tuple[int, int]
    at: tuple[Node, Node]
    to: tuple[Node, Node]
    name: str
    kind: Kind
    group = "descriptors"

    def lines(self) -> Iterator[str]:
        shape = f"[{self.rows}, {self.columns}], [{self.columns}, 1], {list(self.block)}"
        for name, buffer in (("from", self.source), ("to", self.target)):
            yield f"{self.name}_{name} = tl.make_tensor_descriptor({buffer}, {shape})"
        at, to = (", ".join(map(text_of, place)) for place in (self.at, self.to))
        yield f"{self.name} = {self.name}_from.load([{at}])"
        yield f"{self.name}_to.store([{to}], {self.name})"

    def run(self, state: State) -> None:
        at, to = (
            [int(value_of(node, state).number) for node in place] for place in (self.at, self.to)
        )
        found = np.empty(self.block, object)
        for i, j in np.ndindex(*self.block):
            row, column = at[0] + i, at[1] + j
            is_inside = 0 <= row < self.rows and 0 <= column < self.columns
            place = row * self.columns + column
            found[i, j] = state.buffers[self.source][place] if is_inside else nothing(self.kind)
        for i, j in np.ndindex(*self.block):
            row, column = to[0] + i, to[1] + j
            if 0 <= row < self.rows and 0 <= column < self.columns:
                state.buffers[self.target][row * self.columns + column] = found[i, j]
        state.count(found.size)
        state.names[self.name] = Tile(self.kind, found)

    def nodes(self) -> Iterator[Node]:
        for node in (*self.at, *self.to):
            yield from node.all()

    def without(self) -> Statement | None:
        return default(self.name, self.kind, self.block)
