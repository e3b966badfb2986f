"""Random autotuned kernels, and an oracle that tunes them in plain Python as Triton does."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

BLOCKS = (4, 8, 16, 32)
TARGETS = ("y", "z")
_TUNING_RUNS = 3
Values = list[int]
Contents = dict[str, Values]


@dataclass(frozen=True)
class Step:
    """A statement that changes each element of `target`.

    `add` is added to the value; in the configuration with the block `wrong`, one more is, or with
    `leaves_out`, the element with that number is left out.
    """

    kind: str
    target: str
    operation: str
    add: int
    wrong: int | None = None
    leaves_out: int | None = None


@dataclass(frozen=True)
class TunedKernel:
    """A kernel under `triton.autotune`, with its buffers; the launch has the block `block`."""

    steps: tuple[Step, ...]
    blocks: tuple[int, ...]
    block: int
    elements: int
    zeroed: tuple[str, ...]
    restored: tuple[str, ...]
    contents: Mapping[str, Values]
    lists_by_code: bool

    def source(self) -> str:
        """Return the kernel's text."""
        configs = ", ".join(f'triton.Config({{"B": {block}}})' for block in self.blocks)
        if self.lists_by_code:
            configs = (
                f'triton.Config({{"B": b}}, num_warps=w) for b in {self.blocks} for w in (1, 2)'
            )
        prepared = "".join(
            f", {word}={list(names)}"
            for word, names in (("reset_to_zero", self.zeroed), ("restore_value", self.restored))
            if names
        )
        lines = [
            "import triton", "import triton.language as tl", "",
            f"@triton.autotune(configs=[{configs}], key=[]{prepared})", "@triton.jit",
            "def k(x, y, z, B: tl.constexpr):", "    o = tl.program_id(0) * B + tl.arange(0, B)",
            f"    m = o < {self.elements}", "    a = tl.load(x + o, mask=m, other=0)",
        ]  # fmt: skip
        lines += [f"    {_text(step)}" for step in self.steps]
        return "\n".join(lines) + "\n"

    def has_side_effect(self) -> bool:
        """Return True if the first call, which tunes, leaves something else than others.

        How often tuning runs the kernel is a matter of time, so each number of runs counts.
        """
        expected, memory = self.ran(self.contents, self.block), dict(self.contents)
        for block in self.blocks * _TUNING_RUNS:
            memory |= self._zeros()
            before = {name: memory[name] for name in self.restored}
            memory = self.ran(memory, block) | before
            if self.ran(memory | self._zeros(), self.block) != expected:
                return True
        return False

    def has_wrong_configuration(self) -> bool:
        """Return True if two configurations compute different values."""
        ran = [self.ran(self.contents, block) for block in (self.block, *self.blocks)]
        return any(one != ran[0] for one in ran)

    def ran(self, contents: Mapping[str, Values], block: int) -> Contents:
        """Return the buffers after a run of one configuration."""
        memory = {name: list(values) for name, values in contents.items()}
        for step in self.steps:
            for place in range(self.elements):
                if step.wrong == block and step.leaves_out == place:
                    continue
                value = _wrapped(memory["x"][place] + step.add)
                if step.wrong == block and step.leaves_out is None:
                    value = _wrapped(value + 1)
                target = memory[step.target]
                other = target[place] if step.kind != "copy" else memory[_other(step.target)][place]
                if step.kind != "store":
                    value = _BINARY[step.operation](other, value)
                target[place] = value
        return memory

    def _zeros(self) -> Contents:
        return {name: [0] * len(self.contents[name]) for name in self.zeroed}


def _other(target: str) -> str:
    return TARGETS[target == TARGETS[0]]


def _text(step: Step) -> str:
    value, mask, place = f"(a + {step.add})", "m", f"{step.target} + o"
    if step.leaves_out is not None:
        mask = f"m & ((B != {step.wrong}) | (o != {step.leaves_out}))"
    elif step.wrong is not None:
        value = f"(a + {step.add} + (1 if B == {step.wrong} else 0))"
    if step.kind == "atomic":
        return f"tl.atomic_{step.operation}({place}, {value}, mask={mask})"
    if step.kind != "store":
        read = place if step.kind == "update" else f"{_other(step.target)} + o"
        loaded = f"tl.load({read}, mask=m, other=0)"
        value = _TEXTS[step.operation].format(loaded, value)
    return f"tl.store({place}, {value}, mask={mask})"


def _wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


_BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: _wrapped(a + b),
    "sub": lambda a, b: _wrapped(b - a),
    "mul": lambda a, b: _wrapped(a * b),
    "xor": lambda a, b: a ^ b,
    "or": lambda a, b: a | b,
    "and": lambda a, b: a & b,
    "max": max,
    "min": min,
}
_TEXTS = {
    "add": "{0} + {1}", "sub": "{1} - {0}", "mul": "{0} * {1}", "xor": "{0} ^ {1}",
    "or": "{0} | {1}", "and": "{0} & {1}", "max": "tl.maximum({0}, {1})",
    "min": "tl.minimum({0}, {1})",
}  # fmt: skip
_ATOMIC = ("add", "xor", "or", "and", "max", "min")


def tuned_kernel_of(seed: int) -> TunedKernel:
    """Return the kernel of a seed; about half of them are right."""
    draw = random.Random(seed)
    blocks = tuple(draw.sample(BLOCKS, draw.randint(2, 4)))
    block, elements = draw.choice(blocks), draw.randint(5, 40)
    steps = [_step(draw) for _ in range(draw.randint(1, 3))]
    if draw.random() < 0.3:
        wrong = draw.choice([each for each in blocks if each != block])
        left_out = draw.choice((None, draw.randrange(elements)))
        number = draw.randrange(len(steps))
        chosen = steps[number]
        steps[number] = Step(
            chosen.kind, chosen.target, chosen.operation, chosen.add, wrong, left_out
        )
    contents = {"x": [draw.randint(-50, 50) for _ in range(elements)]}
    for name in TARGETS:
        is_zero = draw.random() < 0.4
        contents[name] = [0 if is_zero else draw.randint(-50, 50) for _ in range(elements)]
    zeroed, restored = _prepared(draw, steps, contents)
    return TunedKernel(
        tuple(steps), blocks, block, elements, zeroed, restored, contents, draw.random() < 0.3
    )


def _step(draw: random.Random) -> Step:
    kind = draw.choice(("store", "update", "update", "atomic", "copy"))
    operation = draw.choice(_ATOMIC if kind == "atomic" else tuple(_TEXTS))
    return Step(kind, draw.choice(TARGETS), operation, draw.randint(0, 9))


def _prepared(
    draw: random.Random, steps: list[Step], contents: Contents
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the buffers that the autotuner zeroes and restores: mostly those that need it."""
    targets = sorted({step.target for step in steps})
    if draw.random() < 0.35:
        return (), ()
    if draw.random() < 0.6:
        zeroed = tuple(name for name in targets if not any(contents[name]) and draw.random() < 0.5)
        return zeroed, tuple(name for name in targets if name not in zeroed)
    zeroed = tuple(name for name in targets if draw.random() < 0.2)
    return zeroed, tuple(name for name in targets if draw.random() < 0.3)
