"""Reads a contract's text. One statement a line; `#` starts a comment.

    sizes rows             names beyond the kernel's scalars, each at least 1
    x_ptr: rows * stride   how many elements a buffer has
    grid: rows, cdiv(n, BLOCK)
    stride = n_columns     a scalar that always equals an expression
    n_columns <= stride    what holds of sizes; n % 16 == 0 works too
    values t_ptr: 0 .. n   what is in a buffer: from 0 on, below n
    any seed               scalars that may be 0 or negative; the others are at least 1
    only n = BLOCK         a statement that an inference guessed; see `guesses`

Linear in the text, and bounded. An error has its line and column.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from compiler.proof.contract import (
    Arithmetic,
    Contract,
    ContractError,
    ContractName,
    Expression,
    Inequality,
    Number,
    Operator,
    Position,
    Relation,
    ValueRange,
)
from launch.contract.guesses import unmarked

MAX_CHARACTERS = 20_000
MAX_LINES = 400
MAX_TOKENS = 200
"""Words and signs of one statement."""
MAX_DEPTH = 20
MAX_VALUE = 2**62
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+)|(?P<name>[A-Za-z_]\w*(?:\.\d+)*)"
    r"|(?P<sign>\.\.|//|<=|>=|==|[-+*%(),:=<>]))",
    re.ASCII,
)
_RELATIONS: dict[str, Relation] = {"<=": "<=", "<": "<", ">=": ">=", ">": ">", "==": "=="}
_SUMS: dict[str, Operator] = {"+": "+", "-": "-"}
_PRODUCTS: dict[str, Operator] = {"*": "*", "//": "//", "%": "%"}
_FUNCTIONS: dict[str, Operator] = {"cdiv": "cdiv", "min": "min", "max": "max"}
_KEYWORDS = frozenset({"sizes", "any", "values", "grid", *_FUNCTIONS})


def read_contract(text: str) -> Contract:
    """Parse the text of a contract. Raises ContractError."""
    if len(text) > MAX_CHARACTERS:
        raise ContractError(f"has more than {MAX_CHARACTERS:,} characters", Position(1, 1))
    lines = unmarked(text).splitlines()
    if len(lines) > MAX_LINES:
        raise ContractError(f"has more than {MAX_LINES} lines", Position(MAX_LINES + 1, 1))
    statements = _Statements()
    for number, line in enumerate(lines, start=1):
        statement = _Line(line.partition("#")[0], number)
        if statement.tokens:
            statements.read(statement)
    return statements.contract()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    column: int


class _Line:
    """The tokens of one statement, read from left to right."""

    def __init__(self, text: str, number: int) -> None:
        self.text, self.number = text.strip(), number
        self.tokens = list(self._tokens(text.rstrip()))
        self._next = 0
        self._end = len(text.rstrip()) + 1
        self._depth = 0

    def _tokens(self, text: str) -> list[_Token]:
        tokens: list[_Token] = []
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup is None:
                column = at + len(text[at:]) - len(text[at:].lstrip()) + 1
                raise self.error(f"{text[column - 1]!r} is not part of a contract", column)
            tokens.append(
                _Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup) + 1)
            )
            if len(tokens) > MAX_TOKENS:
                raise self.error(f"has more than {MAX_TOKENS} words and symbols", tokens[-1].column)
            at = match.end()
        return tokens

    def error(self, message: str, column: int | None = None) -> ContractError:
        """Return a mistake, at the next token unless a column is given."""
        if column is None:
            column = self.peek().column if self._next < len(self.tokens) else self._end
        return ContractError(message, Position(self.number, column))

    def peek(self, ahead: int = 0) -> _Token:
        """Return the next token; one of kind "end" behind the last."""
        at = self._next + ahead
        return self.tokens[at] if at < len(self.tokens) else _Token("end", "", self._end)

    def take(self, sign: str) -> bool:
        """Take the next token if it is this sign."""
        if self.peek().text != sign or self.peek().kind != "sign":
            return False
        self._next += 1
        return True

    def need(self, sign: str, where: str) -> None:
        """Take a sign that has to come. Raises ContractError."""
        if not self.take(sign):
            raise self.error(f"expected {sign!r} {where}")

    def keyword(self, word: str) -> bool:
        """Take the first token if it is this word, and begins a statement of its kind."""
        first, second = self.peek(), self.peek(1)
        follows = ("sign", ":") if word == "grid" else ("name", second.text)
        if self._next or first.text != word or (second.kind, second.text) != follows:
            return False
        self._next += 1
        return True

    def name(self) -> ContractName:
        """Take a name. Raises ContractError."""
        token = self.peek()
        if token.kind != "name":
            raise self.error("expected a name")
        if token.text in _KEYWORDS:
            raise self.error(f"{token.text} has a meaning in contracts, so it cannot be a name")
        self._next += 1
        return ContractName(token.text, Position(self.number, token.column))

    def end(self) -> None:
        """Check that nothing is left. Raises ContractError."""
        if self.peek().kind != "end":
            raise self.error(f"unexpected {self.peek().text!r}")

    def relation(self) -> Relation | None:
        """Take a relation, if one comes."""
        token = self.peek()
        if token.kind != "sign" or token.text not in _RELATIONS:
            return None
        self._next += 1
        return _RELATIONS[token.text]

    def expression(self) -> Expression:
        """Take a sum. Raises ContractError."""
        made = self._product()
        while self.peek().kind == "sign" and (operator := _SUMS.get(self.peek().text)):
            self._next += 1
            made = Arithmetic(operator, (made, self._product()))
        return made

    def _product(self) -> Expression:
        made = self._factor()
        while self.peek().kind == "sign" and (operator := _PRODUCTS.get(self.peek().text)):
            self._next += 1
            made = Arithmetic(operator, (made, self._factor()))
        return made

    def _factor(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(f"is nested more than {MAX_DEPTH} deep")
        try:
            return self._atom()
        finally:
            self._depth -= 1

    def _atom(self) -> Expression:
        if self.take("-"):
            return Arithmetic("-", (Number(0), self._factor()))
        if self.take("("):
            inner = self.expression()
            self.need(")", "after this")
            return inner
        token = self.peek()
        if token.kind == "number":
            if len(token.text) > len(str(MAX_VALUE)) or int(token.text) > MAX_VALUE:
                raise self.error(f"a number may be at most {MAX_VALUE:,}")
            self._next += 1
            return Number(int(token.text))
        if token.text in _FUNCTIONS and self.peek(1).text == "(":
            self._next += 2
            first = self.expression()
            self.need(",", f"between the two arguments of {token.text}")
            second = self.expression()
            self.need(")", f"after the two arguments of {token.text}")
            return Arithmetic(_FUNCTIONS[token.text], (first, second))
        if token.kind == "name":
            return self.name()
        raise self.error("expected a number, a name or '('")


@dataclass
class _Statements:
    sizes: list[ContractName] = field(default_factory=list)
    anything: list[ContractName] = field(default_factory=list)
    fixed: dict[ContractName, Expression] = field(default_factory=dict)
    extents: dict[ContractName, Expression] = field(default_factory=dict)
    values: dict[ContractName, ValueRange] = field(default_factory=dict)
    comparisons: list[Inequality] = field(default_factory=list)
    grid: tuple[Expression, ...] | None = None
    _said: set[str] = field(default_factory=set)

    def read(self, line: _Line) -> None:
        """Read one statement. Raises ContractError."""
        if line.keyword("sizes"):
            self.sizes += self._names(line, "sizes")
        elif line.keyword("any"):
            self.anything += self._names(line, "any")
        elif line.keyword("values"):
            name = self._once(line, line.name(), "values ")
            line.need(":", "after the buffer")
            low = line.expression()
            line.need("..", "between the first value and the value after the last")
            self.values[name] = ValueRange(low, line.expression())
        elif line.keyword("grid"):
            self._grid(line)
        elif line.peek(1).text == ":":
            name = self._once(line, line.name(), "")
            line.need(":", "after the buffer")
            self.extents[name] = line.expression()
        elif line.peek(1).text == "=":
            name = self._once(line, line.name(), "")
            line.need("=", "after the scalar")
            self.fixed[name] = line.expression()
        else:
            self._comparison(line)
        line.end()

    def _names(self, line: _Line, word: str) -> list[ContractName]:
        names = []
        while line.peek().kind == "name":
            names.append(self._once(line, line.name(), f"{word} "))
            line.take(",")
        return names

    def _once(self, line: _Line, name: ContractName, word: str) -> ContractName:
        if word + name.text in self._said:
            raise line.error(f"{word}{name.text} is in the contract twice", name.position.column)
        self._said.add(word + name.text)
        return name

    def _grid(self, line: _Line) -> None:
        if self.grid is not None:
            raise line.error("the grid is in the contract twice")
        line.need(":", "after grid")
        parts = [line.expression()]
        while line.take(","):
            parts.append(line.expression())
        if len(parts) > 3:
            raise line.error("a grid has at most three sizes")
        self.grid = tuple(parts)

    def _comparison(self, line: _Line) -> None:
        left = line.expression()
        relation = line.relation()
        if relation is None:
            raise line.error("expected a comparison, such as 'n <= stride'")
        while relation is not None:
            right = line.expression()
            self.comparisons.append(Inequality(line.text, relation, left, right))
            left, relation = right, line.relation()

    def contract(self) -> Contract:
        """Return what was read."""
        return Contract(
            sizes=tuple(self.sizes),
            anything=tuple(self.anything),
            fixed=self.fixed,
            extents=self.extents,
            values=self.values,
            comparisons=tuple(self.comparisons),
            grid=self.grid if self.grid is not None else (Number(1),),
        )
