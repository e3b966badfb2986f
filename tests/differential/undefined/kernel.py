"""Random kernels with lanes that have no value, and an oracle that tries many values there."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

MASKS = ("o < {most}", "o % 2 == 0", "(o + p) % 3 != 1", "o >= 0")
_FILLINGS = 24
_EDGES = (0, 1, -1, 2147483647, -2147483648, 1000003, -1000003, 7)
Fill = Callable[[int, int, int], int]
"""The value of a lane that has none, by statement, program and lane."""
Values = list[int]


@dataclass(frozen=True)
class LaneStatement:
    """A statement that makes the value `v<number>` of all lanes."""

    kind: str
    operands: tuple[int, ...] = ()
    mask: str = MASKS[-1]
    other: int | None = None


@dataclass
class Memory:
    """The buffers of a kernel."""

    x: Values
    y: Values = field(default_factory=list)


class _Filled:
    """Random values of lanes without one: the same whenever a lane is asked for."""

    def __init__(self, draw: random.Random, *, is_edge: bool) -> None:
        self._draw, self._is_edge = draw, is_edge
        self._drawn: dict[tuple[int, int, int], int] = {}

    def __call__(self, *lane: int) -> int:
        given = self._draw.randint(-(2**31), 2**31 - 1)
        if self._is_edge:
            given = self._draw.choice(_EDGES)
        statement, program, number = lane
        return self._drawn.setdefault((statement, program, number), given)


@dataclass(frozen=True)
class MaskedKernel:
    """A kernel that stores its last value under a mask."""

    statements: tuple[LaneStatement, ...]
    stored: str
    lanes: int
    programs: int

    def source(self) -> str:
        """Return the kernel's text."""
        lines = [
            "import triton", "import triton.language as tl", "", "@triton.jit", "def k(x, y):",
            "    p = tl.program_id(0)", f"    o = tl.arange(0, {self.lanes})",
        ]  # fmt: skip
        lines += [f"    v{n} = {self._text(one)}" for n, one in enumerate(self.statements)]
        place = f"y + p * {self.lanes} + o"
        last = len(self.statements) - 1
        lines.append(f"    tl.store({place}, v{last}, mask={self._mask(self.stored)})")
        return "\n".join(lines) + "\n"

    def depends(self) -> bool:
        """Return True if lanes without a value change what is stored."""
        draw = random.Random(1)
        first = self._run(lambda *_: 0)
        for number in range(_FILLINGS):
            if self._run(_Filled(draw, is_edge=number % 2 == 1)) != first:
                return True
        return False

    def contents(self) -> dict[str, Values]:
        """Return what the buffers hold before the launch."""
        count = self.lanes * self.programs
        return {"x": [(7 * n + 3) % 23 - 5 for n in range(2 * count)], "y": [-9] * count}

    def _mask(self, mask: str) -> str:
        return f"({mask.format(most=self.lanes * 3 // 4)})"

    def _text(self, one: LaneStatement) -> str:
        v = [f"v{number}" for number in one.operands]
        mask = f"{self._mask(one.mask)} & (o >= 0)"
        last = "" if one.other is None else f", other={one.other}"
        match one.kind:
            case "load":
                return f"tl.load(x + p * {self.lanes} + o, mask={mask}{last})"
            case "follow":
                return f"tl.load(x + ({v[0]} & {self.lanes - 1}), mask={mask}{last})"
            case "add" | "mul" | "xor":
                return f"{v[0]} {_SIGNS[one.kind]} {v[1]}"
            case "maximum" | "minimum":
                return f"tl.{one.kind}({v[0]}, {v[1]})"
            case "where":
                return f"tl.where({mask}, {v[0]}, {v[1]})"
            case "sum" | "max" | "min" | "xor_sum":
                return f"o + tl.{one.kind}({v[0]}, 0)"
            case "cumsum":
                return f"tl.cumsum({v[0]}, 0)"
        return f"tl.gather({v[0]}, o ^ 1, 0)"

    def _run(self, fill: Fill) -> Values:
        given = self.contents()
        for program in range(self.programs):
            values: list[Values] = []
            for number, one in enumerate(self.statements):
                values.append(self._value(number, one, values, program, given["x"], fill))
            for lane, holds in enumerate(self._holds(self.stored, program)):
                if holds:
                    given["y"][program * self.lanes + lane] = values[-1][lane]
        return given["y"]

    def _holds(self, mask: str, program: int) -> list[bool]:
        code = compile(self._mask(mask), "mask", "eval")
        return [bool(eval(code, {"p": program, "o": lane})) for lane in range(self.lanes)]

    def _value(
        self,
        number: int,
        one: LaneStatement,
        values: list[Values],
        program: int,
        x: Values,
        fill: Fill,
    ) -> Values:
        every = range(self.lanes)
        v = [values[operand] for operand in one.operands]
        holds = self._holds(one.mask, program)
        match one.kind:
            case "load" | "follow":
                places = [program * self.lanes + lane for lane in every]
                if one.kind == "follow":
                    places = [v[0][lane] & (self.lanes - 1) for lane in every]
                return [
                    x[places[lane]] if holds[lane]
                    else fill(number, program, lane) if one.other is None else one.other
                    for lane in every
                ]  # fmt: skip
            case "where":
                return [v[0][lane] if holds[lane] else v[1][lane] for lane in every]
            case "sum" | "max" | "min" | "xor_sum":
                whole = v[0][0]
                for value in v[0][1:]:
                    whole = _BINARY[_OF_REDUCTIONS[one.kind]](whole, value)
                return [_wrapped(lane + whole) for lane in every]
            case "cumsum":
                return [_wrapped(sum(v[0][: lane + 1])) for lane in every]
            case "gather":
                return [v[0][lane ^ 1] for lane in every]
        return [_BINARY[one.kind](v[0][lane], v[1][lane]) for lane in every]


def _wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


_BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: _wrapped(a + b),
    "mul": lambda a, b: _wrapped(a * b),
    "xor": lambda a, b: _wrapped((a ^ b) & (2**32 - 1)),
    "maximum": max,
    "minimum": min,
}
_SIGNS = {"add": "+", "mul": "*", "xor": "^"}
_OF_REDUCTIONS = {"sum": "add", "max": "maximum", "min": "minimum", "xor_sum": "xor"}
_KINDS = (
    "add", "mul", "xor", "maximum", "minimum", "where", "where", "sum", "max", "min", "xor_sum",
    "cumsum", "gather", "follow",
)  # fmt: skip


def masked_kernel_of(seed: int) -> MaskedKernel:
    """Return the kernel of a seed; in about half of them, all that is stored has a value."""
    draw = random.Random(seed)
    mask = draw.choice(MASKS)
    loads = [
        LaneStatement(
            "load",
            mask=mask if draw.random() < 0.7 else draw.choice(MASKS),
            other=draw.choice((None, None, 0, 5)),
        )
        for _ in range(draw.randint(1, 2))
    ]
    statements = list(loads)
    for _ in range(draw.randint(1, 4)):
        operands = draw.randrange(len(statements)), draw.randrange(len(statements))
        other = draw.choice((None, 0))
        statements.append(LaneStatement(draw.choice(_KINDS), operands, mask, other))
    return MaskedKernel(
        tuple(statements),
        mask if draw.random() < 0.7 else draw.choice(MASKS),
        lanes=draw.choice((4, 8)),
        programs=draw.randint(1, 3),
    )
