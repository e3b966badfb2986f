"""Compiles kernels with two Tritons, and finds what became worse, why, and what helps.

It uses the cells and measurements of the gate.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tritonc._sync.client import Client
from tritonc.gate.cell_numbers import CellNumbers
from tritonc.gate.cells import Cell
from tritonc.gate.gated_kernel import GatedKernel
from tritonc.gate.measure_cells import AT_ONCE, CellMeasuring, Say
from tritonc.gate.metric_budget import Budgets
from tritonc.service_errors import ProblemError
from tritonc.upgrade.kernel_change import KernelChange, keeps_budget
from tritonc.upgrade.proposals import MAX_TRIED, Proposal, proposals

MEASURED: Budgets = {"instructions": ()}
"""Budgets without bounds: with them, instructions are counted."""
MAX_EXPLAINED = 20
_NOT_DERIVABLE = 422
_MACHINE_CODE = ("sass", "amdgcn")
_MAX_SHOWN = 3
_OPERATION = re.compile(r"(?m)^\s*(?:%[\w#:, %]+ = )?\"?([a-z][a-z_0-9]*\.[a-z][\w.]*)")
_LAYOUT = re.compile(r"(?m)^#\w+ = #(\w+\.\w+<.*>)$")
_LLVM = re.compile(r"(?m)^\s+(?:%[\w.]+ = )?(?:tail )?([a-z]+)\b(?:[^@\n]*@([\w.]+))?")


@dataclass(frozen=True, slots=True)
class _ResponsiblePass:
    """A pass, its stage, and what differs after it: `ttg.convert_layout 1 -> 4`."""

    stage: str
    name: str
    differences: tuple[str, ...]

    def __str__(self) -> str:
        """Return it in one line."""
        differences = ", ".join(self.differences)
        return f"pass {self.name} ({self.stage}): {differences}"


@dataclass(frozen=True, slots=True)
class UpgradeRow:
    """A change with its cause, and the proposal that restores the old budget, if one does.

    `is_identical` is True if the machine code is the same text; `untried` settings are beyond the
    limit of those that are tried.
    """

    change: KernelChange
    is_identical: bool = False
    responsible: _ResponsiblePass | None = None
    proposal: Proposal | None = None
    proposed: CellNumbers | None = None
    untried: int = 0


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The rows, worst first; `unjudged` failed with both Tritons. `explained` of them are worse."""

    rows: tuple[UpgradeRow, ...]
    unjudged: tuple[KernelChange, ...] = field(default_factory=tuple)

    @property
    def worse(self) -> list[UpgradeRow]:
        """The rows that became worse."""
        return [row for row in self.rows if row.change.is_worse]


def run_upgrade(
    client: Client,
    kernels: Sequence[GatedKernel],
    tritons: tuple[str, str],
    wait_s: float,
    say: Say,
) -> Upgrade:
    """Return the upgrade of all kernels, each for its targets. Raises the errors of the client."""
    measuring = CellMeasuring(client, wait_s, say)
    cells = [
        Cell(kernel, target, triton, MEASURED)
        for kernel in kernels
        for target in kernel.targets
        for triton in tritons
    ]
    measured = measuring.compilations(cells, {})
    numbers = {(cell.kernel, cell.target, cell.triton): n for cell, n in measured.items()}
    changes = [
        KernelChange(cell, numbers[cell.kernel, cell.target, tritons[0]], new)
        for cell, new in measured.items()
        if cell.triton == tritons[1]
    ]
    both_failed = [c for c in changes if c.old.failure and c.new.failure]
    ranked = sorted((c for c in changes if c not in both_failed), key=KernelChange.rank)
    worst = [change for change in ranked if change.is_worse][:MAX_EXPLAINED]
    by_cell = _proposed(measuring, worst)

    def compared(change: KernelChange) -> UpgradeRow:
        return UpgradeRow(
            change,
            change.may_be_identical and _is_identical(client, change),
            _responsible(client, change) if change in worst else None,
            *by_cell.get(change.cell, (None, None, 0)),
        )

    rows: list[UpgradeRow] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for row in pool.map(compared, ranked):
            rows.append(row)
            say(f"compared {len(rows)} of {len(ranked)} kernels")
    return Upgrade(tuple(rows), tuple(both_failed))


def _proposed(
    measuring: CellMeasuring, worst: Iterable[KernelChange]
) -> dict[Cell, tuple[Proposal | None, CellNumbers | None, int]]:
    """Return the first setting that restores the old budget, and how many were not tried."""
    asked = {
        change.cell: list(proposals(change.cell, change.old))
        for change in worst
        if change.old.failure is None
    }
    tried = [proposal for every in asked.values() for proposal in every[:MAX_TRIED]]
    measured = measuring.compilations([proposal.cell for proposal in tried], {})
    olds = {change.cell: change.old for change in worst}
    by_cell: dict[Cell, tuple[Proposal | None, CellNumbers | None, int]] = {}
    for cell, every in asked.items():
        by_cell[cell] = None, None, len(every[MAX_TRIED:])
        for proposal in every[:MAX_TRIED]:
            numbers = measured.get(proposal.cell)
            if numbers is not None and keeps_budget(olds[cell], numbers):
                by_cell[cell] = proposal, numbers, by_cell[cell][2]
                break
    return by_cell


def _is_identical(client: Client, change: KernelChange) -> bool:
    stages = client.diff(str(change.old.key), str(change.new.key), wait_s=60).stages
    last = [stage for stage in stages if stage.stage in _MACHINE_CODE]
    return bool(last) and all(stage.same for stage in last)


def _responsible(client: Client, change: KernelChange) -> _ResponsiblePass | None:
    """Return the pass that makes the difference, None if none does or passes are unavailable."""
    answers: list[Mapping[str, object]] = []
    for numbers in (change.old, change.new):
        if numbers.failure is not None or numbers.key is None:
            return None
        try:
            answers.append(client.passes(numbers.key, wait_s=120))
        except ProblemError as error:
            if error.status != _NOT_DERIVABLE:
                raise
            return None
    return responsible_pass(*answers)


# The first pass of the compiler whose result differs between two Tritons.
#
# Two Tritons print modules differently, so texts are not compared. Operations and layouts are
# counted: the pass is the first of equal name after which the counts differ more than before it.


def responsible_pass(old: Mapping[str, Any], new: Mapping[str, Any]) -> _ResponsiblePass | None:
    """Return the first pass that makes a difference between two answers of `Client.passes`.

    None means that Triton's own passes agree: the assembler, or LLVM's code generation, differs.
    """
    before = _by_pass(old)
    known: Counter[str] = Counter()
    for place, counts in _by_pass(new).items():
        if place not in before:
            continue
        delta = Counter(counts)
        delta.subtract(before[place])
        changed = {n: c for n, c in delta.items() if c and c != known[n]}
        if changed and sum(map(abs, delta.values())) > sum(map(abs, known.values())):
            largest = sorted(changed, key=lambda n: (-abs(changed[n]), n))[:_MAX_SHOWN]
            shown = tuple(f"{n} {before[place][n]} -> {counts[n]}" for n in largest)
            return _ResponsiblePass(place[0], place[1], shown)
        known = delta
    return None


def _by_pass(answer: Mapping[str, Any]) -> dict[tuple[str, str, int], Counter[str]]:
    """Return the counts after each pass, by stage, name and how many of that name came before."""
    counts_by_pass: dict[tuple[str, str, int], Counter[str]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    counts: Counter[str] = Counter()
    for step in _steps(answer):
        stage, name = str(step["stage"]), str(step["name"])
        if step.get("after") is not None:
            counts = Counter(_things(str(step["after"])))
        counts_by_pass[stage, name, seen[stage, name]] = counts
        seen[stage, name] += 1
    return counts_by_pass


def _steps(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    steps = answer.get("passes")
    return [step for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []


def _things(text: str) -> Iterator[str]:
    """Yield the operations and the layouts of a module, or the instructions of LLVM."""
    if text.lstrip().startswith((";", "source_filename", "target ", "define ", "@")):
        for match in _LLVM.finditer(text):
            yield " ".join(filter(None, match.groups()))
        return
    yield from _OPERATION.findall(text)
    yield from _LAYOUT.findall(text)
