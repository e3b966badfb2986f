"""Operations of expressions: Triton source, and a plain meaning in loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.differential.kernels.exact_numbers import Kind, Number
from tests.differential.kernels.tiles import (
    Node,
    Shape,
    Tile,
)

Text = Callable[[Node, Sequence[str]], str]
Value = Callable[[Node, Sequence[Tile]], Any]


@dataclass(frozen=True)
class Operation:
    """`group` is the row of the table that it is counted in."""

    group: str
    text: Text
    value: Value


def shape_text(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]"


def kind_text(kind: Kind) -> str:
    return f"tl.{kind.name}"


def number_text(value: Number) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)


def infix_text(sign: str) -> Text:
    """Return how an operator is written between two operands."""
    return lambda _, texts: f"({texts[0]} {sign} {texts[1]})"


def call_text(name: str) -> Text:
    """Return how a function of Triton is called."""
    return lambda _, texts: f"tl.{name}({', '.join(texts)})"
