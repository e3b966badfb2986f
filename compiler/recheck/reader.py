"""Parses the generic form of MLIR into operations. Knows no operation's meaning.

`"tt.addptr"(%1, %2) <{...}> ({regions}) {...} : (types) -> types loc(...)`
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler.recheck.not_modelled import NotModelled

MAX_OPERATIONS = 20_000
MAX_DEPTH = 60
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"'  # a string
    r"|//[^\n]*|->|%[\w$.-]+(?:#\d+)?|\^\w+|[!#@]?[A-Za-z_][\w$.]*|\d[\w.]*|\S"
)
_OPENING = frozenset("(<[{")
_CLOSING = frozenset(")>]}")
_DEPTHS = {"(": 1, ")": -1}
_SHAPE = re.compile(r"tensor<((?:\d+x)*)(.*)>", re.ASCII | re.DOTALL)
_POINTER = re.compile(r"!tt\.ptr<([^,>]+)", re.ASCII)


@dataclass(frozen=True)
class Type:
    """A type: a tensor of `shape`, or a scalar where that is empty."""

    text: str
    shape: tuple[int, ...]
    element: str

    @property
    def is_pointer(self) -> bool:
        """Return True for pointers and tensors of them."""
        return self.element.startswith("!tt.ptr")

    @property
    def pointee(self) -> str:
        """Return what a pointer points to."""
        match = _POINTER.match(self.element)
        return "" if match is None else match[1]

    @property
    def is_integer(self) -> bool:
        """Return True for `i1`, `i32`, ... and `index`."""
        return self.element == "index" or (self.element[:1] == "i" and self.element[1:].isdigit())


def type_of(text: str) -> Type:
    """Return the type that a text prints."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        return Type(text, (), text)
    return Type(text, tuple(int(size) for size in match[1].split("x") if size), match[2])


@dataclass(eq=False)
class ReadOperation:
    """One operation; `attributes` is the text between its braces."""

    name: str
    results: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    successors: list[str] = field(default_factory=list)
    attributes: str = ""
    regions: list[list[Block]] = field(default_factory=list)
    operand_types: list[Type] = field(default_factory=list)
    result_types: list[Type] = field(default_factory=list)

    def text(self, key: str) -> str | None:
        """Return an attribute's text up to the next comma, None where it has none."""
        match = re.search(rf"(?:^|[,{{\s]){key} = ([^,}}]*)", self.attributes)
        return None if match is None else match[1].strip()

    def integer(self, key: str) -> int:
        """Return an attribute that is an integer: `axis = 0 : i32`. Raises NotModelled."""
        match = re.match(r"-?\d+", self.text(key) or "")
        if match is None:
            raise NotModelled(f"{self.name} has no integer {key}")
        return int(match[0])

    def integers(self, key: str) -> list[int] | None:
        """Return an attribute that lists integers: `order = array<i32: 1, 0>`."""
        match = re.search(rf"(?:^|[,{{\s]){key} = array<i\d+(?:: ([-\d, ]*))?>", self.attributes)
        return (
            None
            if match is None
            else [int(number) for number in (match[1] or "").split(",") if number]
        )

    def inside(self) -> Iterator[ReadOperation]:
        """Yield this operation and all in its regions, in the order of the text."""
        yield self
        for region in self.regions:
            for block in region:
                for operation in block.operations:
                    yield from operation.inside()


@dataclass(eq=False)
class Block:
    """A block of a region: its label, its arguments and its operations."""

    label: str
    arguments: list[tuple[str, Type]] = field(default_factory=list)
    operations: list[ReadOperation] = field(default_factory=list)


def kernel_of(text: str) -> ReadOperation:
    """Return the only function with a body of a module. Raises NotModelled."""
    module = _Reader(text).operation()
    functions = [
        operation
        for operation in module.inside()
        if operation.name == "tt.func" and operation.regions and operation.regions[0]
    ]
    if module.name != "builtin.module" or len(functions) != 1:
        raise NotModelled("a module of several functions")
    return functions[0]


class _Reader:
    def __init__(self, text: str) -> None:
        start = text.find('"builtin.module"')
        if start < 0:
            raise NotModelled("a module that is not in generic form")
        end = text.find("\n#", start)
        self._text = text if end < 0 else text[:end]
        self._spans = list(_spans(self._text, start))
        self._at = 0
        self._operations = 0

    def _peek(self) -> str:
        if self._at >= len(self._spans):
            raise NotModelled("a module that ends too early")
        begin, end = self._spans[self._at]
        return self._text[begin:end]

    def _take(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._at += 1
        return True

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _need(self, token: str) -> None:
        if not self._take(token):
            raise NotModelled(f"generic form with {self._peek()[:40]!r} in place of {token!r}")

    def operation(self, depth: int = 0) -> ReadOperation:
        """Read one operation with its regions."""
        self._operations += 1
        if self._operations > MAX_OPERATIONS or depth > MAX_DEPTH:
            raise NotModelled("more operations than are read")
        results = self._results()
        read = ReadOperation(self._next().strip('"'), results)
        self._need("(")
        read.operands = self._listed(")")
        if self._take("["):
            read.successors = self._listed("]")
        if self._peek() == "<":
            read.attributes = self._balanced()
        if self._take("("):
            while not self._take(")"):
                read.regions.append(self._region(depth))
                self._take(",")
        if self._peek() == "{":
            read.attributes += ", " + self._balanced()
        self._need(":")
        read.operand_types = self._types()
        self._need("->")
        read.result_types = self._types()
        return read

    def _results(self) -> list[str]:
        results: list[str] = []
        while self._peek()[0] == "%":
            name = self._next()
            count = int(self._next()) if self._take(":") else 0
            results += [f"{name}#{number}" for number in range(min(count, 1000))] or [name]
            if not self._take(","):
                self._need("=")
        return results

    def _listed(self, end: str) -> list[str]:
        """Read words up to a bracket."""
        words = []
        while not self._take(end):
            words.append(self._next())
            self._take(",")
        return words

    def _region(self, depth: int) -> list[Block]:
        self._need("{")
        blocks: list[Block] = []
        while not self._take("}"):
            if self._peek()[0] == "^":
                blocks.append(Block(self._next()))
                if self._take("("):
                    while not self._take(")"):
                        name = self._next()
                        self._need(":")
                        blocks[-1].arguments.append((name, self._type()))
                        self._take(",")
                self._need(":")
                continue
            if not blocks:
                blocks.append(Block("^entry"))
            blocks[-1].operations.append(self.operation(depth + 1))
        return blocks

    def _types(self) -> list[Type]:
        if not self._take("("):
            return [self._type()]
        types = []
        while not self._take(")"):
            types.append(self._type())
            self._take(",")
        return types

    def _type(self) -> Type:
        begin, end = self._spans[self._at]
        self._next()
        if self._at < len(self._spans) and self._peek() == "<":
            self._balanced()
            end = self._spans[self._at - 1][1]
        return type_of(self._text[begin:end])

    def _balanced(self) -> str:
        """Read brackets with all that is inside, and return the inside."""
        begin = self._spans[self._at][1]
        depth = 0
        while True:
            token = self._next()
            depth += (token in _OPENING) - (token in _CLOSING)
            if depth == 0:
                return self._text[begin : self._spans[self._at - 1][0]].strip("{} ")


def _spans(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield where each token is, without comments and locations."""
    depth = 0
    is_location = False
    for match in _TOKEN.finditer(text, start):
        word = match[0]
        if depth:
            depth += _DEPTHS.get(word, 0)
        elif is_location and word == "(":
            depth = 1
        elif word != "loc" and not word.startswith("//"):
            yield match.span()
        is_location = word == "loc"
