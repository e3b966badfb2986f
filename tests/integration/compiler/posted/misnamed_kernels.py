"""Generates kernels whose parameters have the names of something else: an integer `x_ptr`.

Each is put together from a few uses that Triton accepts in one way only.
"""

from __future__ import annotations

import random
import string
from dataclasses import dataclass

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
USES = (
    "tl.store($out + o, tl.load($floats + o, mask=o < $int, other=0.0))",
    "tl.store($out + o, tl.load($floats + tl.program_id(0) * $int + o))",
    "tl.store($out + o, tl.load($floats + o + $int) * $float)",
    "tl.store($out + o, tl.load(o * 2 + $int + $floats))",
    "at = o + $int\ntl.store($out + at, tl.load($floats + at))",
    "tl.store($out + o, tl.load($floats + tl.load($ints + o)))",
    "tl.store($out + o, tl.load($floats + o) * (tl.load($ints + o) // $int))",
    "tl.store($out + o, ((tl.load($ints + o) >> $int) & 15) * 0.5)",
    "q = tl.load($ints + o)\ntl.store($out + o, ((q + 1) // 4 + (q ^ 3)) * 0.5)",
    "tl.store($out + o, tl.load($floats + o) * $float + tl.exp($float))",
    "for i in range($int):\n    tl.store($out + i * $int + o, tl.load($floats + i) + o)",
    "row = $floats + tl.program_id(0) * $int\nrow += $int\ntl.store($out + o, tl.load(row + o))",
    "best = tl.max(tl.load($ints + o), axis=0)\ntl.store($out + o, tl.load($floats + best) + o)",
    "keep = tl.load($bools + o) & (o < $int)\ntl.store($out + o, tl.load($floats + o), mask=keep)",
    "tl.store($out + o, tl.load($floats + $int.to(tl.int64) * 4 + o))",
    "d = tl.make_tensor_descriptor($floats, shape=[$int, $int], strides=[$int, $one], "
    "block_shape=[1, B])\ntl.store($out + o, tl.reshape(d.load([0, 0]), (B,)))",
    "t = o[:, None] * B + o[None, :]\nacc = tl.zeros((B, B), dtype=tl.int32)\n"
    "acc += tl.dot(tl.load($bytes + t), tl.load($bytes + t))\ntl.store($out + t, acc * 0.5)",
)
POINTERS = ("n_rows", "stride", "eps", "offset", "length", "scale", "x")
INTEGERS = ("x_ptr", "ptr_row_stride", "ptr", "eps", "scale", "prob", "out_ptr", "n")
FLOATS = ("x_ptr", "stride", "n", "offset_ptr", "size")
NAMES = {"int": INTEGERS, "one": INTEGERS, "float": FLOATS}
TYPES = {
    "out": "*fp32:16", "floats": "*fp32:16", "ints": "*i32:16", "bools": "*i1:16",
    "bytes": "*i8:16", "int": "i32", "one": "i32:1", "float": "fp32",
}  # fmt: skip


@dataclass(frozen=True)
class MisnamedKernel:
    """A kernel `k`, the only types that fit, and the line of each parameter's first use.

    An `i32` may have any hint.
    """

    text: str
    types: dict[str, str]
    used: dict[str, int]


def misnamed(seed: int) -> MisnamedKernel:
    """Return the kernel of a seed."""
    drawn = random.Random(seed)
    types: dict[str, str] = {}

    def named(use: str) -> str:
        while "$" in use:
            before, _, after = use.partition("$")
            role = after[: len(after) - len(after.lstrip(string.ascii_letters))]
            name = f"a{len(types)}_{drawn.choice(NAMES.get(role, POINTERS))}"
            types[name] = TYPES[role]
            use = before + name + after[len(role) :]
        return use

    body = [line for use in drawn.sample(USES, 3) for line in named(use).split("\n")]
    head = f"def k({', '.join(types)}, B: tl.constexpr):"
    lines = [head, "    o = tl.arange(0, B)", *(f"    {line}" for line in body)]
    first = HEAD.count("\n") + 1
    used = {
        name: next(i for i, line in enumerate(lines[1:], first + 1) if name in line)
        for name in types
    }
    return MisnamedKernel(HEAD + "\n".join(lines) + "\n", types, used)
