"""Bound arguments for tests, as the worker sends them to a launcher."""

from math import prod
from typing import Any

from tests.gpu.builds import read_build
from worker.gpu.launcher.launcher_order import LauncherOrder


class Bound:
    """Allocations and arguments of one launch, added one by one."""

    def __init__(self) -> None:
        self.allocations: list[dict[str, Any]] = []
        self.arguments: dict[str, dict[str, Any]] = {}
        self.uploads = b""

    def buffer(self, name, dtype, shape, init=None, *, output=False, strides=None, offset=0,
               elements=None, align_bytes=16):  # fmt: skip
        """Add a new buffer; `init` as in a request, None poisons."""
        self.arguments[name] = self._buffer(
            name, dtype, shape, init, output, strides, offset, elements, align_bytes
        )
        return self

    def _buffer(self, name, dtype, shape, init, output, strides, offset, elements, align_bytes):
        strides = strides or [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        size = elements or prod(shape) + offset
        self.allocations.append({
            "name": name, "dtype": dtype, "elements": size, "align_bytes": align_bytes,
            "init": init, "output": output, "body": None,
        })  # fmt: skip
        return {"kind": "buffer", "allocation": len(self.allocations) - 1, "shape": list(shape),
                "strides": list(strides), "offset": offset, "dtype": dtype,
                "output": output}  # fmt: skip

    def upload(self, name, dtype, shape, npy, *, output=False):
        """Add a buffer that starts with the elements of a .npy file."""
        self.buffer(name, dtype, shape, {"kind": "tensor", "digest": "sha256:0"}, output=output)
        self.allocations[-1]["body"] = [len(self.uploads), len(npy)]
        self.uploads += npy
        return self

    def descriptor(self, name, dtype, shape, block_shape, init=None, *, output=False,
                   padding="zero"):  # fmt: skip
        """Add a host tensor descriptor over a new buffer."""
        base = self._buffer(name, dtype, shape, init, output, None, 0, None, 128)
        self.arguments[name] = {
            "kind": "descriptor", "base": base, "block_shape": list(block_shape),
            "padding": padding,
        }  # fmt: skip
        return self

    def scalar(self, name, value, dtype):
        """Add a scalar."""
        if isinstance(value, bool):
            tagged = value
        elif isinstance(value, int):
            tagged = {"int": str(value)}
        else:
            tagged = {"float": float(value).hex()}
        self.arguments[name] = {"kind": "scalar", "value": tagged, "dtype": dtype}
        return self

    def group(self, name, *items):
        """Make a tuple of arguments that were added under other names."""
        self.arguments[name] = {
            "kind": "tuple", "items": [self.arguments.pop(item) for item in items]
        }  # fmt: skip
        return self

    def job(self, build, grid=(1, 1, 1), **asked) -> LauncherOrder:
        """Return the job that runs the cubin `build` with these arguments."""
        cubin, abi = read_build(build)
        return LauncherOrder(
            cubin, abi, grid, self.allocations, self.arguments, self.uploads, **asked
        )


ELEMENTS = 98_432
ONES = {"kind": "ones"}


def vector_add(build="add", elements=ELEMENTS, **asked) -> LauncherOrder:
    """Return the vector add of Triton's first tutorial."""
    bound = (
        Bound()
        .buffer("x_ptr", "fp32", [elements], {"kind": "uniform", "seed": 1})
        .buffer("y_ptr", "fp32", [elements], {"kind": "normal", "seed": 2})
        .buffer("output_ptr", "fp32", [elements], output=True)
        .scalar("n_elements", elements, "i32")
    )
    return bound.job(build, (-(-elements // 1024), 1, 1), **asked)


def vector_add_expected(elements=ELEMENTS):
    """Return the exact expected result."""
    import numpy as np

    x = np.random.Generator(np.random.Philox(1)).uniform(0, 1, elements).astype(np.float32)
    y = np.random.Generator(np.random.Philox(2)).normal(0, 1, elements).astype(np.float32)
    return x + y
