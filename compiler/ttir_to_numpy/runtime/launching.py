"""Runs a kernel: its programs one after the other, the first axis of the grid fastest."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np

from compiler.ttir_to_numpy.runtime.descriptors import descriptor_of
from compiler.ttir_to_numpy.runtime.memory import memory


def program_id(axis: int) -> Any:
    """Return the number of the program that runs, along `axis`."""
    return np.int32(memory.program[axis])


def num_programs(axis: int) -> Any:
    """Return how many programs there are along `axis`."""
    return np.int32(memory.programs[axis])


def launch(kernel: Any, grid: Any, *arguments: Any, **named: Any) -> None:
    """Run `kernel` for every program of `grid`; arrays are changed in place.

    The arguments are those of its signature: arrays for pointers, numbers for the rest.
    """
    bound = inspect.signature(kernel).bind(*arguments, **named).arguments
    types = {name: kind.strip("\"'") for name, kind in kernel.__annotations__.items()}
    memory.clear()
    values = [argument_of(name, value, types[name]) for name, value in bound.items()]
    memory.programs = (*grid, 1, 1)[:3]
    axes = [range(int(size)) for size in reversed(memory.programs)]
    with np.errstate(all="ignore"):
        for numbers in itertools.product(*axes):
            memory.program = tuple(reversed(numbers))
            kernel(*values)


def argument_of(name: str, value: Any, kind: str) -> Any:
    """Return what a kernel gets for `value`: a pointer, a descriptor, or a number of its type."""
    if kind.startswith("*"):
        return memory.pointer(name, value, dtype_named(kind[1:]))
    if kind.startswith("tensordesc"):
        element, _, block = kind[len("tensordesc<") : -2].partition("[")
        shape = [int(size) for size in block.split(",")]
        return descriptor_of(name, value, dtype_named(element), shape)
    return np.array(value).astype(dtype_named(kind))[()]


def dtype_named(kind: str) -> Any:
    """Return the dtype of one of Triton's types. A pointer is kept as its address."""
    known = {
        "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
        "fp16": np.float16, "fp32": np.float32, "fp64": np.float64,
    }  # fmt: skip
    if kind in known or kind.startswith("*"):
        return np.dtype(known.get(kind, np.int64))
    import ml_dtypes

    names = {
        "bf16": "bfloat16", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2",
        "fp8e4b8": "float8_e4m3fnuz", "fp8e5b16": "float8_e5m2fnuz",
        "fp8e4b15": "float8_e4m3b11fnuz",
    }  # fmt: skip
    return np.dtype(getattr(ml_dtypes, names[kind]))
