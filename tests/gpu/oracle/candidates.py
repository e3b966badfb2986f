"""Candidate kernels from the benchmarks, our tests, and packages on PyPI.

A candidate has possible specializations, but no launch yet. `benchmarks/corpus` unpacks the
packages; the repository does not contain them.
"""

import ast
import random
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "benchmarks"))

from corpus.guesses import guesses  # noqa: E402
from corpus.imports import needed_files  # noqa: E402
from corpus.kernels import Kernel as PackageKernel  # noqa: E402
from corpus.packages import PACKAGES as SWEPT  # noqa: E402
from corpus.packages import Package, unpacked  # noqa: E402
from corpus.plans import drawn  # noqa: E402
from mix import Mix  # noqa: E402 - a program's module, as the corpus's are

from tests.gpu.oracle.guessed_launches import GuessedLaunch  # noqa: E402
from tests.integration.compiler.kernels import KERNELS, read  # noqa: E402

PACKAGES = (
    *SWEPT,
    Package("fasterkernels", "0.2.0", ("fskernels",)),
    Package("flash-kmeans", "0.3.1", ("flash_kmeans",)),
    Package("flash-sinkhorn", "0.4.1", ("flash_sinkhorn",)),
    Package("flashlib", "0.4.0", ("flashlib",)),
    Package("flashnn", "0.1.1", ("flashnn",)),
    Package("flashslice", "0.3.0", ("flashslice",)),
    Package("jvp-flash-attention", "0.14.0", ("jvp_flash_attention",)),
)
_COMMON = 5
"""The corpus's first guesses, of common element types; their order varies."""


@dataclass(frozen=True)
class Guess:
    """A specialization: types without suffixes, hints by parameter; a value of 1 is a constant."""

    signature: dict[str, str]
    constexprs: dict[str, Any]
    options: dict[str, Any]
    hints: dict[str, list[str]]


@dataclass(frozen=True)
class Candidate:
    """A kernel and its files; `origin` is a package, `mix`, `good` or `puzzles`."""

    origin: str
    kernel: str
    source: str
    files: dict[str, str]
    guesses: tuple[Guess, ...]
    launch: GuessedLaunch | None = None
    """The only sensible value, if known."""
    draw: int = 0
    """Another draw has another seed."""

    @property
    def id(self) -> str:
        """Name in results, and of its folder."""
        text = f"{self.source}{self.guesses[0]}".encode()
        return f"{self.origin}.{self.kernel}.{zlib.crc32(text):08x}"

    @property
    def seed(self) -> int:
        """Seed of the guesses for its launches."""
        return zlib.crc32(f"{self.id}{self.draw or ''}".encode())


def guess_of(signature: dict[str, str], constexprs: dict[str, Any], options: dict[str, Any],
             *, strides_by_16: bool = True) -> Guess:  # fmt: skip
    """Return a guess from types with suffixes; without `strides_by_16` integers lose theirs."""
    bare, hints, ones = {}, {}, {}
    for name, written in signature.items():
        kind, _, suffix = written.partition(":")
        if suffix == "1":
            ones[name] = 1
            continue
        bare[name] = kind
        if suffix == "16" and (kind.startswith("*") or strides_by_16):
            hints[name] = ["divisible_by_16"]
    return Guess(bare, constexprs | ones, options, hints)


def of_the_mix() -> Iterator[Candidate]:
    """Yield the kernels of benchmarks/mix.py."""
    for request in Mix().real():
        guess = guess_of(
            _ordered(request["signature"], request["source"], request["kernel"]),
            request["constexprs"],
            request["options"],
        )
        yield Candidate("mix", request["kernel"], request["source"], {}, (guess,))


def of_the_tests() -> Iterator[Candidate]:
    """Yield the kernels of tests/kernels/good, and those of the folders for launches."""
    for path in sorted((KERNELS / "good").glob("*.py")):
        read_kernel = read(path)
        request = read_kernel.request
        if any(isinstance(kind, list) for kind in request.get("signature", {}).values()):
            continue  # a tuple
        name = request.get("kernel") or _kernels(read_kernel.text)[-1]
        signature = _ordered(request.get("signature", {}), read_kernel.text, name)
        guess = guess_of(signature, request.get("constexprs", {}), request.get("options", {}))
        guess = Guess(guess.signature, guess.constexprs, guess.options,
                      guess.hints | request.get("hints", {}))  # fmt: skip
        yield Candidate("good", name, read_kernel.text, request.get("files", {}), (guess,))
    for origin, file in (("launch", "launch"), ("operations", "numpy")):
        for path in sorted((KERNELS / file).glob("*.py")):
            if "faulty" in path.name or "racing" in path.name or "wrong" in path.name:
                continue
            yield from _guessed(origin, path)


def _ordered(signature: dict[str, str], source: str, kernel: str) -> dict[str, str]:
    """Return the types in the order of the kernel's parameters, as in its ABI."""
    (node,) = (
        one
        for one in ast.walk(ast.parse(source))
        if isinstance(one, ast.FunctionDef) and one.name == kernel
    )
    return {one.arg: signature[one.arg] for one in node.args.args if one.arg in signature}


def _guessed(origin: str, path: Path) -> Iterator[Candidate]:
    from corpus.kernels import _kernels_of

    text = path.read_text()
    for kernel in _kernels_of(origin, path.name, text):
        yield Candidate(origin, kernel.name, text, {}, _guesses(kernel))


def of_package(
    name: str, cache: Path, draw: int = 0, without: frozenset[str] = frozenset()
) -> Iterator[Candidate]:
    """Yield the kernels of a package, in a random order that depends only on the draw.

    It skips kernels named in `without`, whichever package they come from.
    """
    (package,) = (one for one in PACKAGES if one.name == name)
    root = unpacked(package, cache)
    kernels = [one for one in drawn(package, root) if one.name not in without]
    if draw:
        random.Random(draw).shuffle(kernels)
    for kernel in kernels:
        text = (root / kernel.file).read_text(errors="replace")
        try:
            files = needed_files(root, kernel.file, kernel.name)
        except (SyntaxError, RecursionError):
            continue  # a module is not valid Python
        yield Candidate(name, kernel.name, text, files, _guesses(kernel, draw), draw=draw)


def _guesses(kernel: PackageKernel, draw: int = 0) -> tuple[Guess, ...]:
    made = [
        guess_of(one.signature, one.constexprs, one.options, strides_by_16=False)
        for one in guesses(kernel)
    ]
    first = zlib.crc32(f"{kernel.id}{draw or ''}".encode()) % _COMMON
    usual = made[:_COMMON]
    return (*usual[first:], *usual[:first], *made[_COMMON:])


def _kernels(text: str) -> list[str]:
    return re.findall(r"@triton\.jit[^\n]*\s+(?:#[^\n]*\n)*def (\w+)", text)
