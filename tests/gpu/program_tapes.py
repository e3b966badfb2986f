"""Programs for the tests of program launchers: hand-written tapes with these tests' cubins.

The tape's own ops draw the inputs; both calls do the same.
"""

from __future__ import annotations

import json
from typing import Any

from programs.gpu.program_order import DeviceKernel, ProgramOrder
from tests.gpu.builds import read_build

GIB = 1 << 30
SIZES = {"fp32": 4, "fp16": 2, "i32": 4, "i64": 8, "fp64": 8}
CUDA = {"device": {"device": "cuda"}}


class TapeOnGpu:
    """A tape in the making; tensors are dense."""

    def __init__(self) -> None:
        self.tensors: list[Any] = []
        self.storages: list[int] = []
        self.ops: list[dict[str, Any]] = []
        self.kernels: dict[str, Any] = {}
        self.launches: list[list[str]] = []
        self.phase = "inputs"
        self._builds: dict[str, DeviceKernel] = {}
        self.given: dict[str, list[int]] = {"run": [], "run2": []}
        self.returned: dict[str, list[int]] = {"run": [], "run2": []}

    def made(self, name: str, shape: list[int], *args: Any, of: str = "fp32", **more: Any) -> int:
        """Call an overload that makes a tensor of a type; `t` marks tensors among its arguments."""
        count = 1
        strides: list[int] = []
        for extent in reversed(shape):
            strides.insert(0, count)
            count *= extent
        self.storages.append(count * SIZES[of])
        self.tensors.append([of, "cuda", shape, strides, 0, len(self.storages) - 1])
        output = len(self.tensors) - 1
        self._add({"op": f"aten.{name}", "a": list(args), "k": more, "o": [output]})
        return output

    def randn(self, shape: list[int]) -> int:
        """Draw a tensor."""
        return self.made("randn.default", shape, {"list": shape}, **CUDA)

    def empty(self, shape: list[int], of: str = "fp32") -> int:
        """Create a tensor without writing to it."""
        return self.made("empty.memory_format", shape, {"list": shape}, of=of, **_typed(of))

    def full(self, shape: list[int], number: float, of: str) -> int:
        """Make a tensor of one number."""
        return self.made("full.default", shape, {"list": shape}, number, of=of, **_typed(of))

    def launch(self, build: str, args: dict[str, Any], grid: int = 1, **scalars: str) -> None:
        """Launch a cubin; `scalars` are the types of arguments passed by value."""
        self.launch_kernel(build, DeviceKernel(*read_build(build), scalars), args, grid)

    def launch_kernel(
        self, build: str, kernel: DeviceKernel, args: dict[str, Any], grid: int = 1
    ) -> None:
        """Launch a kernel under a name."""
        self.kernels.setdefault(
            build,
            {
                "file": "user.py",
                "name": build,
                "line": 3,
                "parameters": [{"name": name, "constexpr": False} for name in args],
            },
        )
        self._builds[build] = kernel
        more = {"kernel": build, "grid": [grid, 1, 1], "args": args, "constexprs": {}}
        self._add({"op": "launch", **more, "options": {}})
        self.launches.append([build])

    def order(self, **asked: Any) -> ProgramOrder:
        made = {
            "tape": 1,
            "torch": "2.11.0",
            "tensors": self.tensors,
            "storages": self.storages,
            "kernels": self.kernels,
            "constants": {},
            "seed": 42,
            "inputs": [t(id_) for id_ in self.given["run"]],
            "inputs2": [t(id_) for id_ in self.given["run2"]],
            "params": [],
            "outputs": {"tuple": [t(id_) for id_ in self.returned["run"]]},
            "outputs2": {"tuple": [t(id_) for id_ in self.returned["run2"]]},
            "ops": self.ops,
        }
        known = {"inputs_tape": None, "seed": 42, "memory_bytes": 4 * GIB} | asked
        return ProgramOrder(
            tape=json.dumps(made).encode(), kernels=self._builds, launches=self.launches, **known
        )

    def _add(self, op: dict[str, Any]) -> None:
        self.ops.append({**op, "phase": self.phase, "line": f"user.py:{10 + len(self.ops)}"})


def _typed(of: str) -> dict[str, Any]:
    return CUDA if of == "fp32" else CUDA | {"dtype": {"dtype": of}}


def t(tensor: int) -> dict[str, int]:
    return {"t": tensor}


def program(call: Any, shapes: list[list[int]], **asked: Any) -> ProgramOrder:
    """Return the order of a program with random inputs; `call(tape, inputs)` gives its result."""
    tape = TapeOnGpu()
    for phase in ("run", "run2"):
        tape.given[phase] = [tape.randn(shape) for shape in shapes]
    for phase in ("run", "run2"):
        tape.phase = phase
        tape.returned[phase] = call(tape, tape.given[phase])
    return tape.order(**asked)
