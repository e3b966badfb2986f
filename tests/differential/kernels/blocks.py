"""Statements with statements in them: loops and branches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.differential.kernels.statements import (
    INDENT,
    Returned,
    State,
    Statement,
    text_of,
    value_of,
)
from tests.differential.kernels.tiles import (
    INT32,
    Node,
    filled,
)


class Block(Statement):
    """Statements in a statement."""

    def bodies(self) -> Sequence[Sequence[Statement]]:
        """Return its blocks of statements."""
        raise NotImplementedError

    def own(self) -> Sequence[Node]:
        """Return its own expressions."""
        return ()

    def nodes(self) -> Iterator[Node]:
        for node in self.own():
            yield from node.all()
        for body in self.bodies():
            for statement in body:
                yield from statement.nodes()

    def inside(self) -> Iterator[Statement]:
        yield self
        for body in self.bodies():
            for statement in body:
                yield from statement.inside()


def indented(body: Sequence[Statement]) -> Iterator[str]:
    """Yield the lines of a block."""
    for statement in body:
        for line in statement.lines():
            yield INDENT + line
    if not body:
        yield INDENT + "pass"


def run_all(body: Sequence[Statement], state: State) -> None:
    """Run statements one after the other."""
    for statement in body:
        statement.run(state)


@dataclass(frozen=True)
class For(Block):
    """A loop from `start` to before `stop`; `how` is `range` or `tl.static_range`."""

    name: str
    how: str
    start: Node
    stop: Node
    step: int
    body: Sequence[Statement]

    @property
    def group(self) -> str:  # type: ignore[override]
        return "static_range" if self.how == "tl.static_range" else "loops over a range"

    def lines(self) -> Iterator[str]:
        limits = f"{text_of(self.start)}, {text_of(self.stop)}, {self.step}"
        yield f"for {self.name} in {self.how}({limits}):"
        yield from indented(self.body)

    def run(self, state: State) -> None:
        start, stop = (int(value_of(node, state).number) for node in (self.start, self.stop))
        for number in range(start, stop, self.step):
            state.count(1)
            state.names[self.name] = filled(INT32, (), number)
            run_all(self.body, state)

    def bodies(self) -> Sequence[Sequence[Statement]]:
        return [self.body]

    def own(self) -> Sequence[Node]:
        return [self.start, self.stop]


@dataclass(frozen=True)
class While(Block):
    """A loop that counts its variable down, from a number that programs may differ in."""

    name: str
    start: Node
    also: Node | None
    body: Sequence[Statement]
    group = "while loops"

    def lines(self) -> Iterator[str]:
        yield f"{self.name} = {text_of(self.start)}"
        also = f" & {text_of(self.also)}" if self.also else ""
        yield f"while ({self.name} > 0){also}:"
        yield from indented(self.body)
        yield f"{INDENT}{self.name} -= 1"

    def run(self, state: State) -> None:
        state.names[self.name] = value_of(self.start, state)
        while state.names[self.name].number > 0:
            if self.also and not value_of(self.also, state).number:
                return
            state.count(1)
            run_all(self.body, state)
            state.names[self.name] = filled(INT32, (), state.names[self.name].number - 1)

    def bodies(self) -> Sequence[Sequence[Statement]]:
        return [self.body]

    def own(self) -> Sequence[Node]:
        return [self.start, *([self.also] if self.also else [])]


@dataclass(frozen=True)
class If(Block):
    """A branch on a scalar; one that `returns` ends the program."""

    condition: Node
    body: Sequence[Statement]
    orelse: Sequence[Statement] = ()
    returns: bool = False

    @property
    def group(self) -> str:  # type: ignore[override]
        return "early returns" if self.returns else "if and else"

    def lines(self) -> Iterator[str]:
        yield f"if {text_of(self.condition)}:"
        if self.returns:
            for statement in self.body:
                yield from (INDENT + line for line in statement.lines())
            yield INDENT + "return"
            return
        yield from indented(self.body)
        if self.orelse:
            yield "else:"
            yield from indented(self.orelse)

    def run(self, state: State) -> None:
        if value_of(self.condition, state).number:
            run_all(self.body, state)
            if self.returns:
                raise Returned
        else:
            run_all(self.orelse, state)

    def bodies(self) -> Sequence[Sequence[Statement]]:
        return [self.body, self.orelse]

    def own(self) -> Sequence[Node]:
        return [self.condition]
