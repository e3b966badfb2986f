"""Kernels at random: each is a tree of statements and expressions, made from its seed alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tests.differential.kernels.blocks import For, If, While
from tests.differential.kernels.choices import (
    FLOATS,
    INPUT_LANES,
    WHOLE,
    lanes_of,
)
from tests.differential.kernels.exact_numbers import KINDS, Kind
from tests.differential.kernels.expressions import Expressions, Known
from tests.differential.kernels.kernel import Buffer, Kernel, UndefinedAt, answer
from tests.differential.kernels.pointer_statements import Copy, Walk
from tests.differential.kernels.statements import Assign, Atomic, Expected, Statement, Store
from tests.differential.kernels.tiles import INT1, INT32, Node

_MAX_REPAIRS = 20


class TooManyUndefined(Exception):
    """The rest of a kernel is not worth a comparison."""


def kernel_of(seed: int) -> tuple[Kernel, Expected | None]:
    """Return the kernel of a seed, and its one right answer, if that is not a matter of rounding.

    Raises `TooManyUndefined`.
    """
    kernel = Generator(seed).kernel()
    for _ in range(_MAX_REPAIRS):
        try:
            return kernel, answer(kernel)
        except UndefinedAt as undefined:
            body = list(kernel.body)
            instead = body[undefined.number].without()
            body[undefined.number : undefined.number + 1] = [instead] if instead else []
            kernel = replace(kernel, body=body)
    raise TooManyUndefined


@dataclass
class Generator:
    """Makes one kernel; `make` makes its expressions."""

    def __init__(self, seed: int) -> None:
        self.make = Expressions(seed)

    def kernel(self) -> Kernel:
        """Return the kernel, which may have no single right answer."""
        for _ in range(3):
            self.make.add_buffer("a", self.make.any_kind(), INPUT_LANES)
        self.make.add_buffer("a", INT1, INPUT_LANES)
        for _ in range(2):
            self.make.add_buffer("r", self.make.any_kind(), INPUT_LANES, output=True)
        body = [self.statement(0) for _ in range(self.make.random.randint(3, 6))]
        if self.make.random.random() < 0.15:
            body.insert(self.make.random.randint(1, len(body)), self.early_return())
        made = [known for known in self.make.known if known.may_change]
        body += [
            self.output(known)
            for known in made
            if self.make.random.random() < 0.8 or known is made[-1]
        ]
        used = _arguments_of(body)
        scalars = {
            "n": (INT32, self.make.random.choice([0, 1, 5, 8, 16, 63, 64, 100])),
            "m": (INT32, self.make.random.randint(-3, 6)),
            "s": (KINDS["int64"], self.make.random.choice([0, -1, 3, 2**40 + 5, -(2**62)])),
            "f": (KINDS["float32"], self.make.random.choice([0.5, -2.0, 3.0, 1.0])),
        }
        buffers = [buffer for buffer in self.make.buffers if buffer.name in used]
        return Kernel(self.make.seed, self.make.grid, buffers, scalars, body)

    @contextmanager
    def scope(self, *known: Known) -> Iterator[None]:
        """Forget the variables that are made inside."""
        before = list(self.make.known)
        self.make.known += known
        yield
        self.make.known = before

    def statement(self, depth: int) -> Statement:
        """Return any statement; deeper ones change variables that there are already."""
        makers: list[tuple[float, Callable[[int], Statement]]] = [
            (6 if depth == 0 else 2, self.new_variable),
            (3 if depth == 0 else 5, self.changed_variable),
            (0.7, self.scattered), (0.8, self.atomic),
        ]  # fmt: skip
        if depth == 0:
            makers += [(0.3, self.copied), (0.5, self.walked)]
        if depth < 2:
            makers += [(0.7, self.counted), (0.5, self.while_), (0.8, self.branch)]
        weights = [weight for weight, _ in makers]
        [(_, maker)] = self.make.random.choices(makers, weights)
        return maker(depth)

    def block(self, depth: int) -> list[Statement]:
        """Return the statements of a block."""
        return [self.statement(depth + 1) for _ in range(self.make.random.randint(1, 3))]

    def new_variable(self, depth: int) -> Statement:
        kind, shape = self.make.any_kind(), self.make.any_shape()
        value = self.make.expression(kind, shape, 3 - depth)
        known = Known(self.make.name(), kind, shape)
        self.make.known.append(known)
        return Assign(known.name, value)

    def changed_variable(self, depth: int) -> Statement:
        known = [one for one in self.make.known if one.may_change]
        if not known:
            return self.new_variable(depth)
        one = self.make.random.choice(known)
        return Assign(one.name, self.make.expression(one.kind, one.shape, 2))

    def output(self, known: Known) -> Statement:
        """Return a store of a variable to places of each program's own."""
        lanes = lanes_of(known.shape)
        buffer = self.make.add_buffer(
            "o", known.kind, lanes * math.prod(self.make.grid), output=True
        )
        own = self.make.binary(
            "mul", INT32, self.make.named("pid"), self.make.literal(INT32, lanes)
        )
        index = self.make.binary("add", INT32, own, self.make.position(known.shape))
        mask = self.make.mask(known.shape) if self.make.random.random() < 0.3 else None
        return Store(buffer.name, index, self.make.named(known.name), mask)

    def shared_buffer(self, kinds: Sequence[Kind] | None = None) -> Buffer | None:
        found = [
            b for b in self.make.buffers if b.name[0] == "r" and (kinds is None or b.kind in kinds)
        ]
        return self.make.random.choice(found) if found else None

    def scattered(self, depth: int) -> Statement:
        """Return a store to places that other lanes and programs may write and read, too."""
        buffer = self.shared_buffer()
        assert buffer is not None
        shape = self.make.any_shape()
        mask = self.make.mask(shape) if self.make.random.random() < 0.5 else None
        value = self.make.expression(buffer.kind, self.make.narrower(shape), 1)
        return Store(buffer.name, self.make.some_index(shape, full=True), value, mask)

    def atomic(self, depth: int) -> Statement:
        kinds = [
            *(kind for kind in WHOLE if kind.bits >= 32), *(kind for kind in FLOATS),
        ]  # fmt: skip
        buffer = self.shared_buffer(kinds)
        if buffer is None:
            buffer = self.make.add_buffer(
                "r", self.make.random.choice(kinds), INPUT_LANES, output=True
            )
        kind = buffer.kind
        names = ["add"]
        if kind.bits >= 32:
            names += ["max", "min", "xchg"]
        if not kind.is_float:
            names += ["and", "or", "xor", "cas"]
        name = self.make.random.choice(names)
        shape = self.make.any_shape()
        index = self.make.some_index(shape, full=True)
        value = self.make.expression(kind, shape, 1)
        mask, wanted = None, None
        if name == "cas":
            wanted = self.make.expression(kind, shape, 1)
        elif self.make.random.random() < 0.5:
            mask = self.make.mask(shape, full=True)
        result = self.make.name() if self.make.random.random() < 0.5 else None
        if result:
            self.make.known.append(Known(result, kind, shape))
        return Atomic(name, buffer.name, index, value, mask, wanted, result)

    def copied(self, depth: int) -> Statement:
        """Return a block that is moved by tensor descriptors."""
        kind = self.make.random.choice([KINDS["int32"], KINDS["float32"], KINDS["int64"]])
        source = self.make.add_buffer("a", kind, INPUT_LANES)
        target = self.make.add_buffer("r", kind, INPUT_LANES, output=True)
        block = self.make.random.choice([(4, 4), (2, 8), (8, 4), (1, 8)])
        places = [
            self.make.literal(INT32, self.make.random.choice([0, 0, 1, 3, -2, 6])) for _ in range(4)
        ]
        at: list[Node] = [
            self.make.named("x") if self.make.random.random() < 0.3 else place for place in places
        ]
        known = Known(self.make.name(), kind, block)
        self.make.known.append(known)
        return Copy(
            source.name, target.name, 8, 8, block, (at[0], at[1]), (at[2], at[3]), known.name, kind
        )

    def walked(self, depth: int) -> Statement:
        """Return a loop that moves a pointer through an input."""
        make = self.make
        known = [one for one in make.known if one.may_change and not one.kind.is_fp8]
        if not known:
            return self.new_variable(depth)
        one = make.random.choice(known)
        names = [b.name for b in make.buffers if b.kind == one.kind and b.name[0] in "ar"]
        if not names:
            names = [make.add_buffer("a", one.kind, INPUT_LANES).name]
        first, second = make.random.choice(names), make.random.choice(names)
        index = make.binary(
            "bit&",
            INT32,
            make.expression(INT32, make.narrower(one.shape), 1),
            make.literal(INT32, INPUT_LANES // 2 - 1),
        )
        condition = self.condition() if make.random.random() < 0.4 else None
        step = make.random.choice([0, 1, 3, 7])
        return Walk(
            make.name("q"), first, index, make.few(), step, one.name, one.kind,
            condition, second if condition else None,
        )  # fmt: skip

    def counted(self, depth: int) -> Statement:
        name = self.make.name("i")
        if self.make.random.random() < 0.25:
            limits = (
                self.make.literal(INT32, 0),
                self.make.literal(INT32, self.make.random.randint(1, 3)),
            )
            counter = self.make.name()
            node = Node("static", INT32, (), (), {"name": name})
            with self.scope(Known(counter, INT32, (), False)):
                body = [Assign(counter, node), *self.block(depth)]
            return For(name, "tl.static_range", *limits, 1, body)
        step = self.make.random.choice([1, 1, 1, 2, -1])
        start, stop = self.make.few(1), self.make.few(4)
        if step < 0:
            start, stop = stop, start
        with self.scope(Known(name, INT32, (), False)):
            body = self.block(depth)
        return For(name, "range", start, stop, step, body)

    def while_(self, depth: int) -> Statement:
        name = self.make.name("w")
        start = self.make.few(3)
        if start.operation == "literal":
            start = Node("full", INT32, (), (), start.details)
        also = self.make.expression(INT1, (), 1) if self.make.random.random() < 0.3 else None
        with self.scope(Known(name, INT32, (), False)):
            body = self.block(depth)
        return While(name, start, also, body)

    def condition(self) -> Node:
        """Return what programs may decide differently."""
        if self.make.random.random() < 0.4:
            return self.make.expression(INT1, (), 2)
        value = self.make.binary(
            "bit&", INT32, self.make.expression(INT32, (), 1), self.make.literal(INT32, 1)
        )
        return Node(
            "is==", INT1, (), (value, self.make.literal(INT32, self.make.random.randint(0, 1)))
        )

    def branch(self, depth: int) -> Statement:
        condition = self.condition()
        with self.scope():
            body = self.block(depth)
        orelse: list[Statement] = []
        if self.make.random.random() < 0.5:
            with self.scope():
                orelse = self.block(depth)
        return If(condition, body, orelse)

    def early_return(self) -> Statement:
        before = self.make.known
        self.make.known = [one for one in self.make.known if not one.may_change]
        condition = self.condition()
        self.make.known = before
        return If(condition, [], returns=True)


def _arguments_of(body: Sequence[Statement]) -> set[str]:
    """Return the names of the buffers that statements read or write."""
    found = set()
    for statement in body:
        for node in statement.nodes():
            found |= {node.details.get("buffer", ""), *node.details.get("buffers", ())}
        for inner in statement.inside():
            names = ("buffer", "source", "target", "other")
            found |= {getattr(inner, name, "") for name in names}
    return found
