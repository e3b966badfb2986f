"""Compiles a kernel of int32 pointers, and runs it on the CPU device in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.front import tasks
from compiler.target import Target
from compiler.ttir_to_numpy.batched_codegen import RunForm, run_form
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.module_text import TranslatedKernel
from compiler.ttir_to_numpy.task import generic_form
from launch.buffers.allocation import Allocation
from launch.messages import RunOrder, TuningOrder

TARGET = Target("cuda", 90, 32)
FRONT_TARGET = {"backend": "cuda", "arch": 90, "warp_size": 32}


class SmallMemory:
    """Memory that every run begins with."""

    def __init__(self, contents: Mapping[str, Sequence[int]]) -> None:
        self._contents = {name: np.array(given, np.int32) for name, given in contents.items()}

    def fresh(self) -> list[Allocation]:
        return [
            Allocation(name, "i32", True, given.copy()) for name, given in self._contents.items()
        ]

    def filled(self) -> list[np.ndarray[Any, Any]]:
        return [np.ones(given.size, np.bool_) for given in self._contents.values()]


def small_form(
    source: str, names: Sequence[str], constants: Mapping[str, int] | None = None
) -> RunForm:
    """Return the run form of the kernel `k`, whose parameters are `names` and these constants."""
    constexprs = {name: {"int": str(value)} for name, value in (constants or {}).items()}
    order = {
        "kernel": "k", "files": {}, "signature": dict.fromkeys(names, "*i32"),
        "constexprs": constexprs, "hints": {}, "options": {"sanitize_overflow": False},
        "stop_after": "source", "target": FRONT_TARGET,
    }  # fmt: skip
    stages: dict[str, str] = {}
    tasks.TASKS["front"](
        order, source.encode(), lambda h, body: stages.update({h["stage"]: body.decode()})
    )
    generic, symbol = generic_form(stages["source"], TARGET, "source")
    return run_form(module_of(generic), TranslatedKernel(symbol, "source", tuple(names)), {})


def small_order(
    sizes: Mapping[str, int], programs: int, tuning: TuningOrder | None = None
) -> RunOrder:
    """Return the launch of this many programs on buffers of these sizes."""
    arguments = {
        name: {
            "kind": "buffer", "allocation": number, "shape": [size], "strides": [1], "offset": 0,
            "dtype": "i32", "output": True,
        }
        for number, (name, size) in enumerate(sizes.items())
    }  # fmt: skip
    return RunOrder(
        ir=(0, 0), stage="source", target=TARGET, files=["user.py"], allocations=[],
        arguments=arguments, parameters=list(arguments), grid=(programs, 1, 1),
        tuning=tuning,
    )  # fmt: skip
