"""Compares the CPU device's findings in a random kernel with those that its oracle expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from compiler.front import tasks
from launch.checks.kernel_run import KernelRun, RunOptions
from launch.cpu.grid_run import run_grid
from launch.cpu.run_kernel import tuning_findings, undefined_values
from launch.messages import Finding, RunOrder, TuningOrder
from tests.differential.races.kernel import RandomKernel, kernel_of
from tests.differential.small_launches import (
    FRONT_TARGET,
    SmallMemory,
    small_form,
    small_order,
)
from tests.differential.tuning.kernel import TunedKernel, tuned_kernel_of
from tests.differential.undefined.kernel import masked_kernel_of

FOUND, MISSED, FALSE_ALARM, CLEAN = "found", "missed", "false alarm", "clean"
Counts = Counter[tuple[str, str]]
"""Kernels by the kind of a finding and the outcome."""
Outcomes = dict[str, str]
"""One of these words for each kind of finding."""


def _outcome(expected: bool, seen: bool) -> str:
    words = {(True, True): FOUND, (True, False): MISSED, (False, True): FALSE_ALARM}
    return words.get((expected, seen), CLEAN)


def undefined_outcomes(seed: int) -> Outcomes:
    """Look for lanes without a value that matter."""
    kernel = masked_kernel_of(seed)
    contents = kernel.contents()
    form = small_form(kernel.source(), list(contents))
    order = small_order({name: len(given) for name, given in contents.items()}, kernel.programs)
    memory = SmallMemory(contents)
    ran = _finished(run_grid(form, order, memory, RunOptions()))
    found = undefined_values(form, order, memory, ran, 0.0)
    return {"undefined": _outcome(kernel.depends(), bool(found))}


def race_findings(kernel: RandomKernel) -> Sequence[Finding]:
    """Return what a launch with `racecheck` finds."""
    contents = {"y": [-7] * kernel.elements, "z": [-7] * kernel.elements, "count": [0, 0]}
    form = small_form(kernel.source(), list(contents))
    order = small_order({name: len(given) for name, given in contents.items()}, kernel.programs)
    ran = run_grid(form, order, SmallMemory(contents), RunOptions(("racecheck",)))
    return _finished(ran).access_checker.findings


def race_outcomes(seed: int) -> Outcomes:
    """Look for races between programs and within one, and for reads of another thread's write."""
    kernel = kernel_of(seed)
    met = {(found.kind, found.scope, found.access) for found in race_findings(kernel)}
    races = {(kind, scope) for kind, scope, _ in met}
    seen = {
        "between": ("race", "between_programs") in races,
        "within": ("race", "within_program") in races,
        "read_elsewhere": ("warning", "within_program", "read") in met,
    }
    wanted = asdict(kernel.expected())
    return {kind: _outcome(wanted[kind], seen[kind]) for kind in wanted}


def tuning_outcomes(seed: int) -> Outcomes:
    """Look for changes by tuning, and for configurations that compute something else."""
    kernel = tuned_kernel_of(seed)
    read = tasks.TASKS["autotune"](
        {"kernel": "k", "files": {}, "target": FRONT_TARGET},
        kernel.source().encode(),
        lambda *_: None,
    )
    ran, findings = _tuned(kernel, kernel.block, _order_of(read))
    blocks = {int(config["values"]["B"]["int"]) for config in read["configs"]}
    assert blocks == set(kernel.blocks), read["configs"]
    differs = any(_tuned(kernel, block, None)[0] != ran for block in blocks)
    expected = kernel.has_wrong_configuration()
    outcomes = {"wrong configuration": _outcome(expected, differs)}
    if not expected:  # a wrong configuration may show in the other check, or not
        outcomes["tuning"] = _outcome(kernel.has_side_effect(), bool(findings))
    return outcomes


def _order_of(read: dict[str, Any]) -> TuningOrder:
    return TuningOrder(
        kernel=read["kernel"],
        file="user.py",
        line=read["line"],
        configurations=len(read["configs"]),
        reset_to_zero=read["reset_to_zero"],
        restore_value=read["restore_value"],
    )


def _tuned(
    kernel: TunedKernel, block: int, tuning: TuningOrder | None
) -> tuple[list[list[int]], list[Finding]]:
    """Run one configuration; return what it leaves, and what tuning it changes."""
    contents = dict(kernel.contents)
    form = small_form(kernel.source(), list(contents), {"B": block})
    sizes = {name: len(given) for name, given in contents.items()}
    order: RunOrder = small_order(sizes, -(-kernel.elements // block), tuning)
    memory = SmallMemory(contents)
    ran = _finished(run_grid(form, order, memory, RunOptions()))
    left = [allocation.memory.tolist() for allocation in ran.allocations]
    return left, [] if tuning is None else tuning_findings(form, order, memory, ran)


def _finished(ran: KernelRun) -> KernelRun:
    assert ran.stopped is None, ran.stopped
    return ran


OUTCOMES: dict[str, Callable[[int], Outcomes]] = {
    "undefined": undefined_outcomes,
    "races": race_outcomes,
    "tuning": tuning_outcomes,
}
"""Functions that create the kernel of a seed and compare it, by the name of its class."""


def tried(name: str, seeds: range) -> tuple[Counts, list[str]]:
    """Try the kernels of these seeds; return counts of outcomes, and how to repeat the bad ones."""
    counts: Counts = Counter()
    bad: list[str] = []
    for seed in seeds:
        for kind, outcome in OUTCOMES[name](seed).items():
            counts[kind, outcome] += 1
            if outcome in {FALSE_ALARM, MISSED}:
                bad.append(f"{kind} {outcome}: {name} --seed {seed} --count 1")
    return counts, bad
