"""Random kernels with random contracts: many are just inside their buffers, or just not.

    $ .venv/bin/python -m tests.proofs.random_kernels --kernels 300 --seed 1

The real Triton compiles each. It is proved, and runs at random sizes that keep its contract: none
may contradict its proof. `--kernel 7` tries one kernel of a seed again.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from triton.compiler.errors import CompilationError

from compiler.proof.binding import SizeLimits
from compiler.proof.proof_limits import ProofLimitReached, Unsupported
from compiler.ttir_to_numpy.runtime import tensor_ops
from launch.proof.witness_replay import NotReplayed
from tests.proofs.compiled_ttir import ttir_of
from tests.proofs.random_launches import ProvedKernel, contradiction, no_dot, proved_kernel

SCALARS = ("n", "m", "s")
BLOCKS = (1, 2, 4, 8, 16)
SMALL_NUMBERS = (0, 1, 1, 2, 3, 4, 7, 8, 15, 16, 31, 64)
ORDERS = ("<", "<=", ">", ">=", "==", "!=")
INTEGERS = (
    *["({a} + {b})"] * 3, "({a} * {b})", *["(pid * {size} + {b})"] * 2, "({a} - {b})", "({a} - 1)",
    "({a} // {size})", "({a} // {b})", "({a} % {size})", "({a} % {b})",
    "tl.minimum({a}, {size} - 1)", "tl.maximum({a}, {b})", "tl.where({a} {order} {b}, {a}, {b})",
    "({a} + 0 * pid).to(tl.{kind})",
    "({a} << {shift})", "({a} >> {shift})", "({a} & {bits})", "({a} | {bits})", "({a} ^ {bits})",
    "tl.cdiv({a}, {size})", "(-{a})",
)  # fmt: skip
EXTENTS = (
    "n", "n * m", "n * s", "m * s", "n + m", "max(n, m)", "cdiv(n, B) * B", "n * B", "n * m * s",
    "s", "n - n % B + B", "n + 1", "16",
)  # fmt: skip
GRIDS = ("n", "m", "cdiv(n, B)", "n // B + 1", "n * m", "max(n, m)", "min(n, s)", "4")
VALUES = ("0 .. n", "-1 .. n", "0 .. 16", "0 .. min(n, m)", "-3 .. 3")
COMPARISONS = (
    "n <= m", "m <= s", "n < s", "n % B == 0", "m == n", "s >= n * m", "n * B <= s", "n >= 2",
    "m <= 8", "s <= n + m",
)  # fmt: skip
LIMITS = (SizeLimits(), SizeLimits(2**31 - 1, 2**36), SizeLimits(1 << 16, 1 << 31))


@dataclass(frozen=True)
class RandomKernel:
    """A kernel, its types, its constants and its contract."""

    body: str
    signature: dict[str, Any]
    constants: dict[str, Any]
    contract: str
    limits: SizeLimits

    @property
    def parameters(self) -> list[str]:
        """Return the names of its arguments in TTIR, where each item of a tuple is one."""
        items = (
            (name, [""] if isinstance(kind, str) else range(len(kind)))
            for name, kind in self.signature.items()
        )
        return [f"{name}.{item}".rstrip(".") for name, each in items for item in each]


class Writer:
    """Writes one random kernel: statements name integers that later ones use."""

    def __init__(self, drawn: random.Random) -> None:
        self._drawn = drawn
        self._lines: list[str] = []
        self._integers = ["pid", "pid", "r", "r", *SCALARS, "B"]
        self._indent = "    "

    def kernel(self) -> RandomKernel:
        """Return the kernel with a contract of which some size is kept."""
        pick = self._drawn
        some = [self._name] * 3 + [self._access, self._loop, self._branch, self._loaded]
        for _ in range(pick.randint(1, 5)):
            pick.choice(some)()
        self._access()
        body = "def kernel(x_ptr, i_ptr, n, m, s, B: tl.constexpr):\n" + "\n".join(
            ["    pid = tl.program_id(0)", "    r = tl.arange(0, B)", *self._lines, ""]
        )
        kinds = pick.choice((("i32",), ("i32", "i64"), ("i64",), ("i32", "i16"), ("i32", "u32")))
        signature = {"x_ptr": "*fp32", "i_ptr": pick.choice(("*i32", "*i64", "*i8", "*u8", "*i16"))}
        signature |= {name: pick.choice(kinds) for name in SCALARS}
        constants = {"B": pick.choice(BLOCKS)}
        return RandomKernel(body, signature, constants, self._contract(), pick.choice(LIMITS))

    def _contract(self) -> str:
        pick = self._drawn
        lines = [f"x_ptr: {pick.choice(EXTENTS)}", f"i_ptr: {pick.choice(EXTENTS)}"]
        lines += [f"grid: {pick.choice(GRIDS)}", f"values i_ptr: {pick.choice(VALUES)}"]
        lines += pick.sample(COMPARISONS, pick.randint(0, 3))
        if pick.random() < 0.15:
            lines.append(f"any {pick.choice(SCALARS)}")
        return "\n".join([*lines, ""])

    def _say(self, line: str) -> None:
        self._lines.append(self._indent + line)

    def _name(self) -> None:
        name = f"v{len(self._lines)}"
        self._say(f"{name} = {self._integer()}")
        self._integers += [name, name]

    def _loaded(self) -> None:
        name = f"v{len(self._lines)}"
        index, mask, other = self._integer(1), self._mask(), self._drawn.choice(SMALL_NUMBERS)
        self._say(
            f"{name} = tl.load(i_ptr + {index} + tl.zeros_like(r), mask={mask}, other={other})"
        )
        self._integers += [name] * 3

    def _access(self) -> None:
        index = f"at{len(self._lines)}"
        self._say(f"{index} = {self._integer()} + tl.zeros_like(r)")
        masked = f", mask={self._mask(index)}" if self._drawn.random() < 0.85 else ""
        stored = f"tl.load(x_ptr + {index}{masked})" if self._drawn.random() < 0.3 else "1.0"
        self._say(f"tl.store(x_ptr + {index}, {stored}{masked})")

    def _loop(self) -> None:
        pick = self._drawn
        low = pick.choice(("0", "1", "pid", "-2"))
        high = pick.choice((*SCALARS, "tl.cdiv(n, B)", "5"))
        step = pick.choice(("1", "1", "2", "B", "m"))
        carried, counter = f"c{len(self._lines)}", f"i{len(self._lines)}"
        self._say(f"{carried} = {pick.choice(('r', 'r * 1', 'pid * B + r', 'r + 0 * n'))}")
        kept, self._integers = self._integers, [*self._integers, counter, counter, carried, carried]
        self._say(f"for {counter} in range({low}, {high}, {step}):")
        self._indent += "    "
        self._access()
        self._say(f"{carried} += {pick.choice(('B', '1', 'm', counter, '-1', 's'))}")
        self._indent = self._indent[4:]
        self._integers = [*kept, carried]

    def _branch(self) -> None:
        self._say(f"if {self._comparison(self._scalar(), self._scalar())}:")
        kept, self._indent = list(self._integers), self._indent + "    "
        self._access()
        self._indent, self._integers = self._indent[4:], kept

    def _scalar(self) -> str:
        return self._drawn.choice(("pid", *SCALARS, "B", "pid * B", "n - 1", "m // 2"))

    def _integer(self, depth: int = 2) -> str:
        pick = self._drawn
        if depth == 0 or pick.random() < 0.2:
            return pick.choice(self._integers)
        return pick.choice(INTEGERS).format(
            a=self._integer(depth - 1),
            b=self._integer(depth - 1),
            size=pick.choice((*SCALARS, "B", "2", "3")),
            order=pick.choice(ORDERS),
            bits=pick.choice((1, 3, 7, 8, 15)),
            shift=pick.choice((1, 2, 3, 31)),
            kind=pick.choice(("int64", "int64", "int32", "int16", "int8", "uint32", "uint8")),
        )

    def _comparison(self, a: str, b: str) -> str:
        return f"({a} {self._drawn.choice(ORDERS)} {b})"

    def _mask(self, index: str | None = None) -> str:
        pick, parts = self._drawn, []
        if index is not None and pick.random() < 0.8:
            ends = ("n", "n", "m", "s", "n - 1", "n + 1", "n * m", "n * s", "16", "m * s", "n + m")
            parts.append(f"({index} {pick.choice(('<', '<', '<', '<='))} {pick.choice(ends)})")
        if index is not None and pick.random() < 0.7:
            parts.append(
                f"({index} {pick.choice(('>=', '>=', '>'))} {pick.choice(('0', '0', '-1'))})"
            )
        while not parts or pick.random() < 0.25:
            parts.append(self._comparison(self._integer(1), self._integer(1)))
        joined = pick.choice((" & ", " & ", " & ", " & ", " | ")).join(parts)
        return f"~({joined})" if pick.random() < 0.05 else joined


def random_kernel(drawn: random.Random) -> RandomKernel:
    """Return a kernel that may compile, with its contract."""
    return Writer(drawn).kernel()


def proof_of_random(kernel: RandomKernel) -> ProvedKernel:
    """Compile and prove it. Raises CompilationError, Unsupported, ProofLimitReached."""
    text = ttir_of(kernel.body, kernel.signature, kernel.constants)
    return proved_kernel("random", text, kernel.contract, kernel.constants, kernel.limits)


def tried(kernel: RandomKernel, launches: int, drawn: random.Random, counts: Counter[str]) -> Any:
    """Prove and run a kernel; count what came of it, and return a contradiction."""
    try:
        proved = proof_of_random(kernel)
    except (CompilationError, Unsupported, ProofLimitReached) as refused:
        counts[type(refused).__name__] += 1
        return None
    for one in proved.proof.accesses:
        if one.bounds is not None:
            counts[f"bounds {one.bounds.verdict}"] += 1
    for _ in range(launches):
        try:
            found = contradiction(proved, drawn)
        except LookupError:
            counts["no sizes"] += 1
            return None
        except NotReplayed:
            counts["not replayed"] += 1
            return None
        counts["launches"] += 1
        if found is not None:
            return found
    return None


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=300)
    parser.add_argument("--launches", type=int, default=30, help="of each kernel")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--kernel", type=int, help="only this one")
    given = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    for number in range(given.kernels) if given.kernel is None else [given.kernel]:
        drawn = random.Random(f"{given.seed} {number}")
        kernel = random_kernel(drawn)
        found = tried(kernel, given.launches, drawn, counts)
        if found is not None:
            counts["contradictions"] += 1
            types = f"{kernel.signature} {kernel.constants} {kernel.limits}"
            about = f"--- seed {given.seed}, kernel {number}\n{kernel.body}{types}"
            print(f"{about}\n{kernel.contract}{found}", flush=True)
    print(dict(sorted(counts.items())))
    return 1 if counts["contradictions"] else 0


if __name__ == "__main__":
    with patch.object(tensor_ops, "dot", no_dot):
        sys.exit(main(sys.argv[1:]))
