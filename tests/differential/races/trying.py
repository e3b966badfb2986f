"""Compiles a random kernel, runs it on the CPU device, and compares what is found."""

from __future__ import annotations

from dataclasses import asdict

from launch.checks.kernel_run import RunOptions
from launch.cpu.grid_run import run_grid
from launch.messages import Finding
from tests.differential.races.kernel import RandomKernel
from tests.differential.small_launches import SmallMemory, small_form, small_order


def findings(kernel: RandomKernel) -> list[Finding]:
    """Return what a launch with `racecheck` finds."""
    contents = {"y": [-7] * kernel.elements, "z": [-7] * kernel.elements, "count": [0, 0]}
    form = small_form(kernel.source(), list(contents))
    order = small_order({name: len(given) for name, given in contents.items()}, kernel.programs)
    ran = run_grid(form, order, SmallMemory(contents), RunOptions(("racecheck",)))
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
