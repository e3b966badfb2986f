"""Expressions at random: leaves, loads and masks here, and all operations of the other files."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.differential.kernels import exact_numbers as numbers
from tests.differential.kernels.choices import (
    ALL,
    FLOATS,
    GRIDS,
    INPUT_LANES,
    SHAPES,
    WHOLE,
    lanes_of,
    may_cast,
    spread_shape,
)
from tests.differential.kernels.elementwise_choices import elementwise
from tests.differential.kernels.exact_numbers import KINDS, Kind, Number
from tests.differential.kernels.folding_choices import folding
from tests.differential.kernels.kernel import Buffer
from tests.differential.kernels.moving_choices import reshaping
from tests.differential.kernels.tiles import INT1, INT32, Node, Shape

_ODD_WHOLE = (0, 1, -1, 2, 3, 7, 31, 32, 33, 63, 64, 127, 128, 255)
_ODD_FLOATS = (
    math.inf, -math.inf, math.nan, 0.0, -0.0, 1e-40, 6e-8, 2.0**-130, 1e30, 65504.0, 3.3895e38,
    1 / 3, 0.1, 2.0**24 + 1, 1e300,
)  # fmt: skip


@dataclass
class Known:
    """A variable that there is."""

    name: str
    kind: Kind
    shape: Shape
    may_change: bool = True


class Expressions:
    """Makes the expressions of one kernel, of its variables and arguments."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.count = 0
        self.buffers: list[Buffer] = []
        pick = self.random.sample
        self.kinds = [*pick(WHOLE, 2), *pick(FLOATS, 2), INT32, INT1]
        self.shapes = pick(SHAPES, 3)
        self.grid = self.random.choice(GRIDS)
        self.known = [Known(name, INT32, (), False) for name in ("x", "y", "z", "pid", "n", "m")]
        self.known += [Known("s", KINDS["int64"], (), False)]
        self.known += [Known("f", KINDS["float32"], (), False)]

    # values

    def any_kind(self) -> Kind:
        """Return one of the kernel's types, now and then any other."""
        return self.random.choice(self.kinds if self.random.random() < 0.8 else ALL)

    def any_shape(self) -> Shape:
        """Return one of the kernel's shapes, or that of a scalar."""
        return () if self.random.random() < 0.2 else self.random.choice(self.shapes)

    def add_buffer(self, letter: str, kind: Kind, lanes: int, *, output: bool = False) -> Buffer:
        """Make an argument with contents at random."""
        is_wild = self.random.random() < 0.3
        values = [self.number(kind, is_wild=is_wild) for _ in range(lanes)]
        buffer = Buffer(f"{letter}{len(self.buffers)}", kind, values, output)
        self.buffers.append(buffer)
        return buffer

    def number(self, kind: Kind, *, is_wild: bool) -> Number:
        """Return a number: a small one, or any."""
        if kind.is_bool:
            return self.random.random() < 0.5
        if kind.is_float:
            if is_wild and not kind.is_fp8 and self.random.random() < 0.3:
                return numbers.rounded(kind, self.random.choice(_ODD_FLOATS))
            return numbers.rounded(kind, self.random.randint(-16, 16) / self.random.choice([1, 2]))
        if not is_wild:
            return numbers.wrapped(kind, self.random.randint(-20, 20))
        if self.random.random() < 0.4:
            odd = self.random.choice([*_ODD_WHOLE, kind.least, kind.most, kind.least + 1])
            return numbers.wrapped(kind, odd)
        return numbers.wrapped(kind, self.random.getrandbits(kind.bits))

    def name(self, letter: str = "v") -> str:
        """Return a name that no other variable has."""
        self.count += 1
        return f"{letter}{self.count}"

    def named(self, name: str) -> Node:
        [known] = [one for one in self.known if one.name == name]
        return Node("name", known.kind, known.shape, (), {"name": name})

    def literal(self, kind: Kind, value: Number) -> Node:
        return Node("literal", kind, (), (), {"value": value})

    def binary(self, operation: str, kind: Kind, a: Node, b: Node) -> Node:
        """Return an operation whose shape is that of both operands, spread."""
        return Node(operation, kind, spread_shape(a.shape, b.shape), (a, b))

    def position(self, shape: Shape) -> Node:
        """Return the place of each lane in row-major order."""
        total: Node | None = None
        for axis, extent in enumerate(shape):
            part = Node("arange", INT32, (extent,), (), {"start": 0})
            for before in range(axis):
                part = Node("expand", INT32, (1,) * (before + 1) + (extent,), (part,), {"axis": 0})
            for after in range(axis + 1, len(shape)):
                wide = (*part.shape, 1)
                part = Node("expand", INT32, wide, (part,), {"axis": after})
            step = lanes_of(shape[axis + 1 :])
            if step > 1:
                part = self.binary("mul", INT32, part, self.literal(INT32, step))
            total = part if total is None else self.binary("add", INT32, total, part)
        return total or Node("full", INT32, (), (), {"value": 0})

    def narrower(self, shape: Shape) -> Shape:
        """Return a shape that spreads to `shape`, mostly itself."""
        if not shape or self.random.random() < 0.7:
            return shape
        if self.random.random() < 0.4:
            return ()
        return tuple(extent if self.random.random() < 0.5 else 1 for extent in shape)

    def mask(self, shape: Shape, *, full: bool = False) -> Node:
        """Return a mask: all lanes, none, all but one, one, some; perhaps of a narrower shape."""
        wanted = shape if full else self.narrower(shape)
        if shape and not wanted:
            wanted = (1,) * len(shape)
        lanes = lanes_of(wanted)
        place = self.position(wanted)
        some = self.literal(INT32, self.random.randrange(lanes))
        kinds: list[Callable[[], Node]] = [
            lambda: self.binary("is<", INT1, place, self.literal(INT32, lanes)),
            lambda: self.binary("is<", INT1, place, self.literal(INT32, 0)),
            lambda: self.binary("is!=", INT1, place, some),
            lambda: self.binary("is==", INT1, place, some),
            lambda: self.binary("is<", INT1, place, self.named("n")),
            lambda: Node("full", INT1, wanted, (), {"value": self.random.random() < 0.5}),
            lambda: self.expression(INT1, wanted, 1),
            lambda: self.expression(INT1, wanted, 0),
        ]
        return self.random.choice(kinds)()

    def some_index(self, shape: Shape, *, full: bool = False) -> Node:
        """Return places of an input: in order, in steps, from the end, or any."""
        wanted = shape if full else self.narrower(shape)
        place = self.position(wanted)
        mask = self.literal(INT32, INPUT_LANES - 1)
        match self.random.randrange(6) if lanes_of(wanted) <= INPUT_LANES else 3:
            case 0:
                found = place
            case 1:
                step = self.literal(INT32, self.random.choice([2, 3, 7]))
                found = self.binary("bit&", INT32, self.binary("mul", INT32, place, step), mask)
            case 2:
                last = Node("full", INT32, (), (), {"value": INPUT_LANES - 1})
                found = self.binary("sub", INT32, last, place)
            case 3:
                own = self.binary("add", INT32, place, self.named("pid"))
                found = self.binary("bit&", INT32, own, mask)
            case _:
                found = self.binary("bit&", INT32, self.expression(INT32, wanted, 1), mask)
        if self.random.random() < 0.25:
            kind = self.random.choice([kind for kind in WHOLE if kind.most >= INPUT_LANES])
            found = Node("cast", kind, found.shape, (found,)) if kind != INT32 else found
        return found

    def load(self, kind: Kind, shape: Shape) -> Node | None:
        """Return a load of this type, if there is an argument of it."""
        found = [b for b in self.buffers if b.kind == kind and b.name[0] in "ar"]
        if not found:
            return None
        buffer = self.random.choice(found)
        index = self.some_index(shape)
        details: dict[str, Any] = {"buffer": buffer.name, "masked": False, "spread": False}
        if not shape or self.random.random() < 0.4:
            details["spread"] = index.shape != shape
            return Node("load", kind, shape, (index,), details)
        mask = self.mask(shape)
        if self.random.random() < 0.3:  # lanes beyond the argument are masked off
            wide = self.binary("add", INT32, self.position(shape), self.named("n"))
            inside = self.binary("is<", INT1, wide, self.literal(INT32, INPUT_LANES))
            index, mask = wide, self.binary("bit&", INT1, inside, mask)
        spread = spread_shape(index.shape, mask.shape)
        details["spread"] = not index.shape or spread != shape
        operands, masked = [index, mask], True
        if self.random.random() < 0.6:
            other = self.narrower(shape)
            operands.append(self.leaf(kind, other) if not kind.is_fp8 else self.full(kind, other))
            details["other"] = True
        return Node("load", kind, shape, tuple(operands), details | {"masked": masked})

    def load_either(self, kind: Kind, shape: Shape) -> Node | None:
        """Return a load by pointers that a condition chooses, or that were integers."""
        found = [b.name for b in self.buffers if b.kind == kind and b.name[0] in "ar"]
        if not found or kind.is_bool:
            return None
        names = (self.random.choice(found), self.random.choice(found))
        if self.random.random() < 0.5:
            name = "atomic_load" if kind.bits >= 32 and self.random.random() < 0.4 else ""
            where = self.some_index(shape, full=True)
            operation = name or "load_by_address"
            return Node(operation, kind, shape, (where,), {"buffer": names[0]})
        index = self.some_index(shape, full=True)
        condition = self.expression(INT1, shape, 1)
        return Node("load_either", kind, shape, (condition, index), {"buffers": names})

    def few(self, most: int = 3) -> Node:
        """Return a small number that programs may differ in."""
        if self.random.random() < 0.3:
            return self.literal(INT32, self.random.randint(0, most))
        some = self.expression(INT32, (), 1)
        return self.binary("bit&", INT32, some, self.literal(INT32, most))

    def full(self, kind: Kind, shape: Shape) -> Node:
        is_wild = self.random.random() < 0.2 and not kind.is_float
        value = self.number(kind, is_wild=is_wild)
        return Node("full", kind, shape, (), {"value": value})

    def leaf(self, kind: Kind, shape: Shape) -> Node:
        """Return an expression with few nodes."""
        same = [one for one in self.known if one.shape == shape]
        alike = [one for one in same if one.kind == kind]
        if alike and self.random.random() < 0.6:
            return self.named(self.random.choice(alike).name)
        if self.random.random() < 0.5 and (found := self.load(kind, shape)) is not None:
            return found
        if self.random.random() < 0.1 and (found := self.load_either(kind, shape)) is not None:
            return found
        castable = [one for one in same if may_cast(one.kind, kind)]
        if castable and self.random.random() < 0.6:
            source = self.named(self.random.choice(castable).name)
            return Node("cast", kind, shape, (source,))
        if self.random.random() < 0.4 and may_cast(INT32, kind) and kind != INT32:
            return Node("cast", kind, shape, (self.position(shape),))
        if kind == INT32 and self.random.random() < 0.5:
            return self.position(shape)
        return self.full(kind, shape)

    def expression(self, kind: Kind, shape: Shape, depth: int) -> Node:
        """Return any expression of this type and shape."""
        if depth <= 0 or self.random.random() < 0.1:
            return self.leaf(kind, shape)
        makers = [
            *elementwise(kind),
            *reshaping(kind, shape),
            *folding(kind, shape),
        ]
        weights = [weight for weight, _ in makers]
        [(_, maker)] = self.random.choices(makers, weights)
        return maker(self, kind, shape, depth - 1) or self.leaf(kind, shape)

    def pair(self, kind: Kind, shape: Shape, depth: int) -> tuple[Node, Node]:
        """Return two operands that spread to `shape`; the second may be a number."""
        a, b = shape, self.narrower(shape)
        if len(shape) == 2 and self.random.random() < 0.1:
            a, b = (shape[0], 1), (1, shape[1])
        elif self.random.random() < 0.3:
            a, b = b, a
        first = self.expression(kind, a, depth)
        if a == shape and not kind.is_bool and not kind.is_fp8 and self.random.random() < 0.2:
            values = [0.5, 1.0, 2.0, -1.5] if kind.is_float else [1, 2, 3, 5, 100]
            return first, self.literal(kind, self.random.choice(values))
        return first, self.expression(kind, b, depth)

    Maker = Callable[[Kind, Shape, int], "Node | None"]
