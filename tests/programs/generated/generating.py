"""Generates programs from seeds, one statement at a time.

The generator runs each statement on the tensors of the statements before it. It usually drops a
statement that raises. Sometimes it keeps one as the program's last, to compare errors as well.
"""

from __future__ import annotations

import re
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import torch

from tests.programs.generated.eager_programs import on_the_cpu
from tests.programs.generated.kernel_stand_ins import STAND_INS
from tests.programs.generated.statements import GROUPS, NN_LINES, THEMES

KERNELS = (Path(__file__).parent / "kernels.py").read_text().partition("\n\n")[2]
HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
DTYPES = "float32 float32 float32 float64 float16 bfloat16 int32 int64 int8 uint8 bool".split()
SCALARS = ("0", "1", "2", "-3", "0.5", "-1.25", "1e3", "True", "3.0", "float('inf')", "7")
MAX_ELEMENTS = 2048
KEPT_ERRORS = 0.04
"""The share of raising statements that stay."""
MAY_HANG = re.compile(r"\{(\w+)(\.[^}]*)?\}")


@dataclass(frozen=True)
class Program:
    """A program: its text, its entry point, and its main ingredient."""

    seed: int
    theme: str
    entry: dict[str, Any]
    source: str


class _NothingFits(Exception):
    """No tensor fits a statement."""


def generated(seed: int) -> Program:
    """Return the program of a seed; the same seed gives the same program."""
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        return _Generator(seed).program()


class _Generator:
    def __init__(self, seed: int) -> None:
        self._seed, self._random = seed, Random(seed)
        self._kind = self._random.choice(("function", "function", "model", "script"))
        self._scope: dict[str, Any] = {}
        self._names: list[str] = []
        """Tensors that statements may use."""
        self._made = 0
        self._modules: list[str] = []

    def program(self) -> Program:
        theme = self._random.choice(THEMES)
        self._run(HEAD + "import triton\n")
        self._scope.update(STAND_INS)
        inputs = [self._input() for _ in range(self._random.randint(1, 3))]
        torch.manual_seed(self._seed)
        for name, text in zip("abc", inputs, strict=False):
            self._run(f"{name} = {text}")
            self._names.append(name)
        body = self._body(theme)
        source = self._assembled(inputs, body)
        kernels = KERNELS if "_kernel[" in source else ""
        return Program(self._seed, theme, self._entry(), HEAD + kernels + source)

    def _body(self, theme: str) -> list[str]:
        body: list[str] = []
        wanted, tries = self._random.randint(2, 9), 0
        while len(body) < wanted and tries < 60:
            tries += 1
            others = [one for one in THEMES if one != "values"]
            group = theme if self._random.random() < 0.55 else self._random.choice(others)
            if group == "values" and self._random.random() < 0.7:
                continue
            try:
                module, statement, names = self._statement(self._random.choice(GROUPS[group]))
            except _NothingFits:
                continue
            is_kept = self._random.random() < KEPT_ERRORS
            try:
                with torch.no_grad():
                    self._run(f"{module}\n{statement}")
            except Exception:  # noqa: BLE001 - any error of torch's
                if is_kept:
                    self._modules += [module] if module else []
                    return [*body, statement]
                continue
            if self._too_large():
                return body  # undo everything: the statement may have changed tensors
            self._modules += [module] if module else []
            body.append(statement)
            self._names += [one for one in names if one not in self._names]
        return body

    def _run(self, text: str) -> None:
        with redirect_stdout(None):
            exec(on_the_cpu(text), self._scope)

    def _too_large(self) -> bool:
        tensors = [one for one in self._scope.values() if isinstance(one, torch.Tensor)]
        return any(one.numel() > MAX_ELEMENTS or one.dim() > 6 for one in tensors)

    def _statement(self, template: str) -> tuple[str, str, list[str]]:
        """Return a module's line, a statement, and the names that it binds."""
        chosen: dict[str, str] = {}
        names: list[str] = []
        first: list[str] = []

        def filled(match: re.Match[str]) -> str:
            kind, attribute = match.group(1), match.group(2)
            if kind in ("d", "e", "k", "p", "s", "t", "r", "n", "ix", "at"):
                return self._plain(kind, first[0] if first else None)
            if kind not in chosen:
                chosen[kind] = self._block() if kind == "q" else self._named(kind, first)
                if kind in ("o", "o2"):
                    names.append(chosen[kind])
                elif kind not in ("w", "q"):
                    first.append(chosen[kind])
            if attribute:
                return str(eval(chosen[kind] + attribute, self._scope))
            return chosen[kind]

        try:
            # the rightmost tensor decides which axes and shapes fit
            for kind in re.findall(r"\{(x2d|[xfiumyz])[.}]", template)[:1]:
                chosen[kind] = self._named(kind, first)
                first.append(chosen[kind])
            text = MAY_HANG.sub(filled, template)
        except (IndexError, AttributeError) as error:
            raise _NothingFits from error
        module, parted, statement = text.partition(NN_LINES)
        return (module, statement, names) if parted else ("", text, names)

    def _named(self, kind: str, first: list[str]) -> str:
        if kind in ("o", "o2", "w"):
            self._made += 1
            old = [one for one in self._names if one not in first]
            if kind != "w" and old and self._random.random() < 0.15:
                return self._random.choice(old)
            if kind == "w":
                return f"{'self.' if self._kind == 'model' else ''}w{self._made}"
            return f"v{self._made}"
        of = self._scope[first[0]] if first else None
        fitting = [one for one in self._names if self._fits(kind, self._scope.get(one), of)]
        if not fitting:
            raise _NothingFits
        return self._random.choice(fitting[-6:] if self._random.random() < 0.7 else fitting)

    def _fits(self, kind: str, value: Any, of: torch.Tensor | None) -> bool:
        if not isinstance(value, torch.Tensor):
            return False
        match kind:
            case "f":
                return value.is_floating_point()
            case "i":
                return value.dtype in (torch.int32, torch.int64)
            case "u":
                return value.dtype != torch.bool
            case "m":
                return value.is_floating_point() and value.dim() >= 2
            case "x2d":
                return value.dtype in (torch.float32, torch.int32) and value.dim() == 2
            case "y" if of is not None and self._random.random() < 0.9:
                return _broadcast(value, of)
            case "z" if of is not None and self._random.random() < 0.9:
                return value.shape == of.shape
        return True

    def _block(self) -> str:
        return self._random.choice(("4", "8", "16", "32"))

    def _plain(self, kind: str, of: str | None) -> str:
        random = self._random
        value = self._scope[of] if of is not None else torch.zeros(2, 3)
        rank = value.dim()
        match kind:
            case "d" | "e":
                return str(random.randint(-rank, rank - 1) if rank else random.randint(-1, 0))
            case "k":
                return str(random.randint(-3, 6))
            case "p":
                return str(random.randint(1, 4))
            case "s":
                return random.choice(SCALARS)
            case "t":
                return f"torch.{random.choice(DTYPES)}"
            case "n":
                return str(tuple(self._sizes()))
            case "r":
                return self._shape_of(value.numel())
            case "at":
                return self._strided(value)
        return self._index(value)

    def _sizes(self) -> list[int]:
        rank = self._random.choice((1, 1, 2, 2, 2, 3, 3, 4))
        return [self._random.choice((1, 2, 2, 3, 4, 5, 6)) for _ in range(rank)]

    def _shape_of(self, count: int) -> str:
        sizes = [1]
        for factor in (2, 2, 2, 3, 3, 5):
            if count and count % factor == 0 and self._random.random() < 0.8:
                count //= factor
                if self._random.random() < 0.5:
                    sizes.append(factor)
                else:
                    sizes[-1] *= factor
        sizes.append(-1 if self._random.random() < 0.4 else count)
        return str(tuple(sizes))

    def _strided(self, value: torch.Tensor) -> str:
        sizes = self._sizes()[:3]
        steps = [self._random.choice((0, 1, 1, 2, 3, 6)) for _ in sizes]
        offset = self._random.choice(("", "", ", 0", ", 1", ", 2"))
        if self._random.random() < 0.5:
            sizes, steps = list(value.shape)[::-1], list(value.stride())[::-1]
        return f"{tuple(sizes)}, {tuple(steps)}{offset}"

    def _index(self, value: torch.Tensor) -> str:
        random = self._random
        parts: list[str] = []
        for size in value.shape[: random.randint(0, 4)]:
            at = random.randint(-size, size - 1) if size else 0
            other = random.randint(0, size)
            step = random.randint(1, 3)
            parts.append(
                random.choice(
                    (str(at), str(at), ":", f"{at}:", f":{other}", f"{at}:{other}", f"::{step}",
                     f"{other}::{step}", f"[{at}, 0]",
                     f"torch.tensor([{at}, 0], device='cuda')")
                )
            )  # fmt: skip
        if random.random() < 0.2:
            parts.insert(random.randint(0, len(parts)), "None")
        if random.random() < 0.2 or not parts:
            parts.insert(random.randint(0, len(parts)), "...")
        return ", ".join(parts)

    def _input(self) -> str:
        sizes = tuple(self._sizes())
        if prod(sizes) > 256:
            sizes = sizes[:2]
        return self._random.choice(
            (f"torch.randn({sizes}, device='cuda')",) * 5
            + (
                f"torch.randint(0, 8, {sizes}, device='cuda')",
                f"torch.randn({sizes}, device='cuda').to(torch.{self._random.choice(DTYPES)})",
                f"torch.rand({sizes}, device='cuda', dtype=torch.float64)",
                f"torch.randint(-4, 5, {sizes}, dtype=torch.int32, device='cuda')",
                f"torch.randn({sizes}, device='cuda') > 0",
            )
        )

    def _assembled(self, inputs: list[str], body: list[str]) -> str:
        names = [*"abc"[: len(inputs)]]
        statements = "\n".join(body)
        if self._kind == "script":
            made = [f"{name} = {text}" for name, text in zip(names, inputs, strict=True)]
            modules = [_on_device(one) for one in self._modules]
            left = f"one = {self._result()}\ntwo = {self._result()}"
            return "\n".join([*made, *modules, statements, left, ""])
        given = f"def get_inputs():\n    return [{', '.join(inputs)}]\n"
        called = f"{statements}\nreturn {self._structure()}"
        if self._kind == "function":
            modules = "".join(f"{_on_device(one)}\n" for one in self._modules)
            return f"{modules}def run({', '.join(names)}):\n{_indented(called)}\n{given}"
        made = "\n".join(["super().__init__()", *self._modules])
        return (
            f"class ModelNew(nn.Module):\n    def __init__(self):\n{_indented(_indented(made))}\n"
            f"    def forward(self, {', '.join(names)}):\n{_indented(_indented(called))}\n{given}"
        )

    def _entry(self) -> dict[str, Any]:
        return {
            "function": {"kind": "function", "name": "run"},
            "model": {"kind": "model", "class": "ModelNew"},
            "script": {"kind": "script", "outputs": ["one", "two"]},
        }[self._kind]

    def _result(self) -> str:
        alive = [one for one in self._names if isinstance(self._scope.get(one), torch.Tensor)]
        return self._random.choice(alive[-4:] + alive)

    def _structure(self) -> str:
        one, two, three = (self._result() for _ in range(3))
        return self._random.choice(
            (one, one, f"{one}, {two}", f"[{one}, {two}, {three}]", f"({one}, ({two}, {three}))",
             f"{{'one': {one}, 'two': [{two}]}}", f"{one}, {two}.shape[0], {three}.dim() * 0.5",
             f"{one}, None, {two}", f"{one}[:1] if {one}.dim() else {one}")
        )  # fmt: skip


def _broadcast(one: torch.Tensor, other: torch.Tensor) -> bool:
    return all(
        a == b or 1 in (a, b) for a, b in zip(one.shape[::-1], other.shape[::-1], strict=False)
    )


def _on_device(module: str) -> str:
    """Return a module made on the program's device, in eval mode and without gradients."""
    name, _, made = module.partition(" = ")
    return f"with torch.device('cuda'):\n    {name} = {made}.requires_grad_(False)"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
