"""Hand-written tapes, op by op, as a recorder writes them: vectors of 64 fp32 on "cuda"."""

from __future__ import annotations

import json
from typing import Any

from programs.tape.kernel_effects import KernelEffects
from programs.tape.read_tape import read_tape
from programs.tape.schema import Tape

READS_A_WRITES_OUT = {"k0": KernelEffects(frozenset({"a"}), frozenset({"out"}))}


class TapeMaker:
    """`phase` applies to the next ops; each op adds one to `line`."""

    def __init__(self) -> None:
        self.tensors: list[Any] = []
        self.storages: list[int] = []
        self.ops: list[dict[str, Any]] = []
        self.params: list[Any] = []
        self.phase = "run"
        self.line = 10

    def tensor(self, size: int = 64, of: int | None = None) -> int:
        """Return a new tensor, in a new storage or in that of the tensor `of`."""
        if of is None:
            self.storages.append(4 * size)
            storage = len(self.storages) - 1
        else:
            storage = self.tensors[of][5]
        self.tensors.append(["fp32", "cuda", [size], [1], 0, storage])
        return len(self.tensors) - 1

    def op(
        self, name: str, *args: Any, into: int | None = None, size: int = 64, **named: Any
    ) -> int:
        """Call an overload; `t(id)` gives a tensor among its arguments."""
        output = self.tensor(size) if into is None else into
        is_new = name in ("empty.memory_format", "zeros.default", "randn.default")
        kwargs = {"device": {"device": "cuda"}} if is_new else named
        self._add({"op": f"aten.{name}", "a": list(args), "k": kwargs, "o": [output]})
        return output

    def part(self, of: int, first: int, size: int) -> int:
        """Return a slice of a vector."""
        part = self.tensor(size, of)
        self.tensors[part][4] = first
        return self.op("slice.Tensor", t(of), 0, first, first + size, into=part)

    def empty(self) -> int:
        return self.op("empty.memory_format", {"list": [64]})

    def launch(self, a: int, out: int, grid: int = 1) -> None:
        """Launch `copy_kernel(a, out)`, which reads `a` and writes `out`."""
        args = {"a": t(a), "out": t(out)}
        more = {"kernel": "k0", "grid": [grid, 1, 1], "args": args, "constexprs": {}, "options": {}}
        self._add({"op": "launch", **more})

    def seed(self, seed: int) -> None:
        """Seed torch's generators."""
        self._add({"op": "seed", "seed": seed})

    def _add(self, op: dict[str, Any]) -> None:
        self.line += 1
        more = {"phase": self.phase, "line": f"user.py:{self.line}"}
        self.ops.append({**op, **more})

    def json(
        self, inputs: list[int], outputs: list[int], inputs2: list[int], outputs2: list[int]
    ) -> dict[str, Any]:
        parameters = [{"name": name, "constexpr": False} for name in ("a", "out")]
        kernel = {"file": "user.py", "name": "copy_kernel", "line": 3, "parameters": parameters}
        return {
            "tape": 1,
            "torch": "2.13.0",
            "tensors": self.tensors,
            "storages": self.storages,
            "kernels": {"k0": kernel},
            "constants": {},
            "seed": 42,
            "inputs": [t(id_) for id_ in inputs],
            "inputs2": [t(id_) for id_ in inputs2],
            "params": self.params,
            "outputs": {"tuple": [t(id_) for id_ in outputs]},
            "outputs2": {"tuple": [t(id_) for id_ in outputs2]},
            "ops": self.ops,
        }

    def tape(
        self,
        inputs: list[int],
        outputs: list[int],
        inputs2: list[int] | None = None,
        outputs2: list[int] | None = None,
    ) -> Tape:
        """Return the tape as `read_tape` reads it: each of these tapes is valid."""
        made = self.json(inputs, outputs, inputs2 or [], outputs2 or [])
        return read_tape(json.dumps(made).encode())


def t(tensor: int) -> dict[str, int]:
    return {"t": tensor}
