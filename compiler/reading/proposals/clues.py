"""Clues about the types of parameters, each from one use."""

from dataclasses import dataclass, field
from enum import IntEnum

INTEGERS = {"int1": "i1"} | {
    f"{sign}int{bits}": f"{sign[:1] or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
FLOATS = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8e5": "fp8e5",
    "float8e4nv": "fp8e4nv",
    "float8e4b15": "fp8e4b15",
    "float8e4b8": "fp8e4b8",
    "float8e5b16": "fp8e5b16",
}
DTYPES = INTEGERS | FLOATS
MAX_REASON_CHARS = 300
"""A reason may quote the source, which may be long."""


class Strength(IntEnum):
    """The weight of a clue; the strongest one decides."""

    NAME = 1
    WEAK = 2
    LIKELY = 3
    STRONG = 4
    CERTAIN = 5


@dataclass(frozen=True, slots=True)
class Clue:
    """A type or a kind (`int`, `float`, `bool`), the line that implies it, and the reason."""

    implied: str
    line: int
    reason: str
    strength: Strength = Strength.STRONG


@dataclass(slots=True)
class UseClues:
    """All clues about one parameter: that it is a pointer, to what, a number, or a shape."""

    pointer: list[Clue] = field(default_factory=list)
    element: list[Clue] = field(default_factory=list)
    scalar: list[Clue] = field(default_factory=list)
    shape: list[Clue] = field(default_factory=list)
    last_stride: list[Clue] = field(default_factory=list)
    """Of an integer: that it is the last stride of a tensor, which is 1."""
    size: list[Clue] = field(default_factory=list)
    """Of an integer: that it is a size or a stride."""
    unit_stride: list[Clue] = field(default_factory=list)
    """Of an integer: that it is the last stride of a tensor, which is 1 for contiguous ones."""
    axes: list[str] = field(default_factory=list)
    """Of a host's tensor descriptor: the name that each offset is a multiple of, or nothing."""


def strongest(clues: list[Clue]) -> Clue | None:
    """Return the strongest clue, the first one of several."""
    return max(clues, key=lambda clue: (clue.strength, -clue.line), default=None)
