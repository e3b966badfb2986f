"""Compiles a random kernel, runs it on the CPU device, and compares what is found."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from compiler.front import tasks
from compiler.target import Target
from compiler.ttir_to_numpy.batched_codegen import run_form
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.module_text import TranslatedKernel
from compiler.ttir_to_numpy.task import generic_form
from launch.buffers.allocation import Allocation
from launch.checks.kernel_run import RunOptions
from launch.cpu.grid_run import run_grid
from launch.messages import Finding, RunOrder
from tests.differential.races.kernel import RandomKernel

TARGET = Target("cuda", 90, 32)
NAMES = ("y", "z", "count")


class Fresh:
    """Memory that every run begins with."""

    def __init__(self, kernel: RandomKernel) -> None:
        self.sizes = {"y": kernel.elements, "z": kernel.elements, "count": 2}

    def fresh(self) -> list[Allocation]:
        return [
            Allocation(name, "i32", True, np.full(size, 0 if name == "count" else -7, np.int32))
            for name, size in self.sizes.items()
        ]

    def filled(self) -> list[np.ndarray[Any, Any]]:
        return [np.ones(size, np.bool_) for size in self.sizes.values()]


def findings(kernel: RandomKernel) -> list[Finding]:
    """Return what a launch with `racecheck` finds."""
    order = {
        "kernel": "k", "files": {}, "signature": dict.fromkeys(NAMES, "*i32"), "constexprs": {},
        "hints": {}, "options": {"sanitize_overflow": False}, "stop_after": "source",
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
    }  # fmt: skip
    stages: dict[str, str] = {}
    tasks.TASKS["front"](
        order, kernel.source().encode(), lambda h, body: stages.update({h["stage"]: body.decode()})
    )
    generic, symbol = generic_form(stages["source"], TARGET, "source")
    form = run_form(module_of(generic), TranslatedKernel(symbol, "source", NAMES), {})
    memory = Fresh(kernel)
    arguments = {
        name: {
            "kind": "buffer", "allocation": number, "shape": [size], "strides": [1], "offset": 0,
            "dtype": "i32", "output": True,
        }
        for number, (name, size) in enumerate(memory.sizes.items())
    }  # fmt: skip
    launch = RunOrder(
        ir=(0, 0), stage="source", target=TARGET, files=["user.py"], allocations=[],
        arguments=arguments, parameters=list(arguments), grid=(kernel.programs, 1, 1),
    )  # fmt: skip
    ran = run_grid(form, launch, memory, RunOptions(("racecheck",)))
    assert ran.stopped is None, ran.stopped
    return ran.access_checker.findings


def compare(kernel: RandomKernel) -> dict[str, str]:
    """Return for each kind of finding: found, missed, false alarm or clean."""
    met = {(found.kind, found.scope, found.access) for found in findings(kernel)}
    races = {(kind, scope) for kind, scope, _ in met}
    seen = {
        "between": ("race", "between_programs") in races,
        "within": ("race", "within_program") in races,
        "read_elsewhere": ("warning", "within_program", "read") in met,
    }
    wanted = asdict(kernel.expected())
    words = {(True, True): "found", (True, False): "missed", (False, True): "false alarm"}
    return {kind: words.get((wanted[kind], seen[kind]), "clean") for kind in wanted}
