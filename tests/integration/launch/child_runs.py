"""Writes bound arguments like the messages of a launch, and runs them in real children."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiler.messages.wire import header_of
from compiler.target import Target
from launch.buffers.element_types import stored
from launch.messages import RunOrder, TraceOrder
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Kernel, compile_kernel
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.pool import Pool

KERNELS = Path(__file__).parents[2] / "kernels" / "launch"
TARGET = Target("cuda", 90, 32)


@dataclass
class Buffer:
    """A buffer argument; contiguous unless strides are given."""

    shape: tuple
    dtype: str = "fp32"
    init: dict | None = None
    output: bool = False
    strides: tuple | None = None
    offset: int = 0
    elements: int | None = None


@dataclass
class View:
    """Another argument's memory."""

    of: str
    shape: tuple
    offset: int = 0
    output: bool = False


@dataclass
class Descriptor:
    """A host tensor descriptor of a buffer."""

    base: Buffer
    block_shape: list


def uniform(*shape, seed=1, dtype="fp32", **more):
    return Buffer(shape, dtype, {"kind": "uniform", "seed": seed, "low": 0, "high": 1}, **more)


def out(*shape, dtype="fp32", **more):
    return Buffer(shape, dtype, None, output=True, **more)


def contiguous(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return strides


class Bound:
    """Allocations and arguments in canonical form, from Python values by name."""

    def __init__(self, given, body=b""):
        self.allocations, self.arguments, self.given = [], {}, given
        for name, value in given.items():
            self.arguments[name] = self._argument(name, value)

    def _argument(self, name, value):
        match value:
            case Buffer():
                return self._buffer(name, value)
            case View():
                place = [a["name"] for a in self.allocations].index(value.of)
                dtype = self.allocations[place]["dtype"]
                return _described(place, value, contiguous(value.shape), dtype)
            case Descriptor():
                return {
                    "kind": "descriptor",
                    "base": self._buffer(name, value.base),
                    "block_shape": value.block_shape,
                    "padding": "zero",
                }
            case tuple():
                items = [self._argument(f"{name}.{i}", item) for i, item in enumerate(value)]
                return {"kind": "tuple", "items": items}
            case None:
                return {"kind": "none"}
            case float():
                return {"kind": "scalar", "value": {"float": value.hex()}, "dtype": "fp32"}
            case _:
                return {"kind": "scalar", "value": {"int": str(value)}, "dtype": "i32"}

    def _buffer(self, name, buffer):
        strides = list(buffer.strides or contiguous(buffer.shape))
        elements = buffer.elements or int(np.prod(buffer.shape)) + buffer.offset
        self.allocations.append(
            {
                "name": name,
                "dtype": buffer.dtype,
                "elements": elements,
                "align_bytes": 16,
                "init": buffer.init,
                "output": buffer.output,
                "body": None,
            }
        )
        return _described(len(self.allocations) - 1, buffer, strides, buffer.dtype)


def _described(allocation, buffer, strides, dtype):
    return {
        "kind": "buffer",
        "allocation": allocation,
        "shape": list(buffer.shape),
        "strides": list(strides),
        "offset": buffer.offset,
        "dtype": dtype,
        "output": buffer.output,
    }


@dataclass
class ChildRun:
    """The end of a run, and its report."""

    outcome: ChildOutcome
    bound: Bound

    @property
    def result(self):
        assert self.outcome.ending is Ending.OK, (self.outcome.detail, self.outcome.failure)
        return self.outcome.result

    @property
    def findings(self):
        return self.result["findings"]

    @property
    def failure(self):
        assert self.outcome.ending is Ending.FAILURE, (self.outcome.detail, self.outcome.result)
        return self.outcome.failure

    def stage(self, name):
        assert self.result
        return next(stage.body for stage in self.outcome.stages if stage.name == name)

    def output(self, name):
        argument = self.bound.arguments[name]
        kind = stored(argument["dtype"])
        return np.frombuffer(self.stage(f"output:{name}"), kind).reshape(argument["shape"])

    def trace(self):
        return json.loads(self.stage("trace"))


def constexpr(value):
    return value if isinstance(value, (bool, str, dict)) else {"int": str(value)}


@dataclass
class CpuDevice:
    """Children that compile, and children that run compiled kernels."""

    pool: Pool
    compiling: Children


async def run_kernel(device, source, kernel, arguments, *, grid=(1,), deadline_s=30, **more):
    """Run a kernel of tests/kernels/launch/<source>, or of `source` if that is a text."""
    text = source if "\n" in source else (KERNELS / source).read_text()
    bound = Bound(arguments)
    if (trace := more.pop("trace", None)) is not None:
        more["trace"] = TraceOrder(**trace)
    files, target = more.pop("files", {}), more.pop("target", TARGET)
    constexprs = more.pop("constexprs", {})
    tagged = [value for value in constexprs.values() if isinstance(value, dict)]
    request = {
        "kernel": kernel,
        "signature": {name: type_of(value) for name, value in bound.arguments.items()},
        "constexprs": constexprs,
        "functions": [value["function"] for value in tagged if "function" in value],
        "files": files,
        "options": {"debug": True},
        "arch": target.arch,
    }
    made = compile_kernel(
        device.compiling, Kernel(Path("user.py"), text, request), stop_after="ttir"
    )
    assert made.failure is None, made.failure
    ir = made.stages["source"]
    order = RunOrder(
        ir=(0, len(ir)), stage="source", target=target, files=["user.py", *files],
        allocations=bound.allocations, arguments=bound.arguments,
        parameters=[path for name in arguments for path in paths_of(name, bound.arguments[name])],
        grid=[*grid, 1, 1][:3], limit_s=deadline_s, **more,
    )  # fmt: skip
    kinds = ("output", "unwritten")
    stages = {"trace", *(f"{kind}:{name}" for kind in kinds for name in arguments)}
    header = header_of(order)
    outcome = await device.pool.run("back", header, ir, deadline_s=deadline_s, stages=stages)
    return ChildRun(outcome, bound)


def type_of(argument):
    match argument["kind"]:
        case "buffer":
            return f"*{argument['dtype']}"
        case "tuple":
            return [type_of(item) for item in argument["items"]]
        case "descriptor":
            dtype, block = argument["base"]["dtype"], argument["block_shape"]
            return f"tensordesc<{dtype}{block}>"
        case _:
            return argument["dtype"]


def paths_of(path, argument):
    if argument["kind"] != "tuple":
        return [path]
    items = enumerate(argument["items"])
    return [each for i, item in items for each in paths_of(f"{path}.{i}", item)]


async def refer(pool, text, arguments, **more):
    """Call a reference."""
    bound = Bound(arguments)
    header = {
        "task": "reference",
        "source": [0, len(text.encode())],
        "allocations": bound.allocations,
        "arguments": bound.arguments,
        "constexprs": {name: constexpr(v) for name, v in more.pop("constexprs", {}).items()},
        **more,
    }
    stages = {f"expected:{name}" for name in arguments}
    outcome = await pool.run("front", header, text.encode(), deadline_s=30, stages=stages)
    return ChildRun(outcome, bound)
