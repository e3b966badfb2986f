"""Devices that run a case on this machine, from its folder to the final buffers."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from compiler.messages.orders import NumpyOrder
from compiler.target import Target
from tests.gpu.oracle.watched import plain

Buffers = dict[str, np.ndarray]


def artifact(case: dict[str, Any], folder: Path) -> Buffers:
    """Run the artifact `numpy`, made again from the stage `source`."""
    from compiler.ttir_to_numpy.task import numpy

    source = json.loads((folder / "request.json").read_text())["source"]
    parameters = list(case["guess"]["signature"])
    order = NumpyOrder(
        stage="source", target=Target("cuda", 90, 32), files={"user.py": source},
        parameters=parameters,
    )  # fmt: skip
    texts: list[bytes] = []
    numpy(order, (folder / "source.ttir").read_bytes(), lambda _, body: texts.append(body))
    after = plain(texts[0].decode(), case["kernel"], case)
    return {one["name"]: memory for one, memory in zip(case["allocations"], after, strict=True)}


def cpu(case: dict[str, Any], folder: Path, checks: Sequence[str] = (), **asked: Any) -> Buffers:
    """Run the launch like the CPU device, many programs at once.

    Raises AssertionError for a finding, which no case should have.
    """
    from launch.checks.kernel_run import RunOptions
    from launch.cpu.argument_arena import OrderedMemory
    from launch.cpu.grid_run import run_grid
    from launch.cpu.translation import translated
    from launch.messages import RunOrder

    ir = (folder / "source.ttir").read_bytes()
    order = RunOrder(
        ir=[0, len(ir)], stage="source", target=Target("cuda", 90, 32), files=["user.py"],
        allocations=case["allocations"], arguments=case["arguments"], grid=case["grid"],
        parameters=list(case["guess"]["signature"]), checks=list(checks), **asked,
    )  # fmt: skip
    memory, how = OrderedMemory(order, ir), RunOptions(checks=list(checks))
    ran = run_grid(translated(order, ir.decode()), order, memory, how)
    findings = [*ran.access_checker.findings, *([ran.stopped] if ran.stopped else [])]
    if findings:
        raise AssertionError(str(findings[0]))
    return {one.name: one.memory for one in ran.allocations}


def one_by_one(case: dict[str, Any], folder: Path) -> Buffers:
    """Run it one program after the other."""
    return cpu(case, folder, batch_elements=1)


def checked(case: dict[str, Any], folder: Path) -> Buffers:
    """Run it with all access checks."""
    return cpu(case, folder, checks=("racecheck", "initcheck"))


DEVICES: Mapping[str, Callable[[dict[str, Any], Path], Buffers]] = {
    "artifact": artifact, "cpu": cpu, "one_by_one": one_by_one, "checked": checked,
}  # fmt: skip
