"""Compiles kernels with two Tritons, and finds what became worse, why, and what helps.

It uses the cells and measurements of the gate.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tritonc._sync.client import Client
from tritonc.gate.cell_numbers import CellNumbers
from tritonc.gate.cells import Cell
from tritonc.gate.gated_kernel import GatedKernel
from tritonc.gate.measure_cells import AT_ONCE, CellMeasuring, Say
from tritonc.gate.metric_budget import Budgets
from tritonc.service_errors import ProblemError
from tritonc.upgrade.kernel_change import KernelChange, keeps_budget
from tritonc.upgrade.proposals import MOST_TRIED, Proposal, proposals
from tritonc.upgrade.responsible_pass import ResponsiblePass, responsible_pass

MEASURED: Budgets = {"instructions": ()}
"""Budgets without bounds: with them, instructions are counted."""
MOST_EXPLAINED = 20
_NOT_DERIVABLE = 422
_MACHINE_CODE = ("sass", "amdgcn")


@dataclass(frozen=True, slots=True)
class UpgradeRow:
    """A change with its cause, and the proposal that restores the old budget, if one does.

    `is_identical` is True if the machine code is the same text; `untried` settings are beyond the
    limit of those that are tried.
    """

    change: KernelChange
    is_identical: bool = False
    responsible: ResponsiblePass | None = None
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
    worst = [change for change in ranked if change.is_worse][:MOST_EXPLAINED]
    found = _proposed(measuring, worst)

    def compared(change: KernelChange) -> UpgradeRow:
        return UpgradeRow(
            change,
            change.may_be_identical and _is_identical(client, change),
            _responsible(client, change) if change in worst else None,
            *found.get(change.cell, (None, None, 0)),
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
    tried = [proposal for every in asked.values() for proposal in every[:MOST_TRIED]]
    measured = measuring.compilations([proposal.cell for proposal in tried], {})
    olds = {change.cell: change.old for change in worst}
    found: dict[Cell, tuple[Proposal | None, CellNumbers | None, int]] = {}
    for cell, every in asked.items():
        found[cell] = None, None, len(every[MOST_TRIED:])
        for proposal in every[:MOST_TRIED]:
            numbers = measured.get(proposal.cell)
            if numbers is not None and keeps_budget(olds[cell], numbers):
                found[cell] = proposal, numbers, found[cell][2]
                break
    return found


def _is_identical(client: Client, change: KernelChange) -> bool:
    stages = client.diff(str(change.old.key), str(change.new.key), wait_s=60).stages
    last = [stage for stage in stages if stage.stage in _MACHINE_CODE]
    return bool(last) and all(stage.same for stage in last)


def _responsible(client: Client, change: KernelChange) -> ResponsiblePass | None:
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
