"""The file that a gate reads: kernels, the matrix of targets and Tritons, budgets.

Everything that the file alone shows to be wrong is told at once, also budgets that nothing could
ever be judged by.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tritonc.gate.checkout import Checkout
from tritonc.gate.gated_kernel import (
    BudgetTable,
    GatedKernel,
    KernelTables,
    Matrix,
    ReadArgument,
    budget_table,
)
from tritonc.gate.metric_budget import BACKENDS, NO_SPILLS, TIME, Budgets, merged
from tritonc.gate.toml_lines import KeyPath, key_lines, key_path, line_of
from tritonc.gate.toml_reading import FileFault, TomlTable
from tritonc.service_errors import TritoncError

DEFAULT_NAME = "kernels.toml"
ON_A_CPU = ("cpu", "interpreter")
"""The CPU device as a gate file may write it: `interpreter` is its old name."""
MAX_KERNELS = 1000


class GateFileWrong(TritoncError):
    """A gate file that nothing can be judged by; `faults` are all that was found."""

    def __init__(self, path: Path, faults: list[FileFault]) -> None:
        lines = _lines(path)
        placed = sorted((line_of(key_path(f.place), lines) or 0, f) for f in dict.fromkeys(faults))
        super().__init__("\n".join(_told(path, line, fault) for line, fault in placed))
        self.faults = faults


def _lines(path: Path) -> dict[KeyPath, int]:
    try:
        return key_lines(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return {}


def _told(path: Path, line: int, fault: FileFault) -> str:
    """Return a fault behind its file, and its line where that is known."""
    return f"{path}:{line}: {fault}" if line else f"{path}: {fault}"


@dataclass(frozen=True, slots=True)
class GateFile:
    """All that a gate file says; `baseline` is the path of its baseline."""

    path: Path
    baseline: Path
    kernels: tuple[GatedKernel, ...]
    budgets: BudgetTable

    def budgets_of(self, kernel: GatedKernel, target: str, triton: str) -> Budgets:
        """Return the budgets of one cell: the kernel's own before those for all."""
        return merged(self.budgets.of(target, triton), kernel.budgets.of(target, triton))


def read_gate_file(
    path: Path, checkout: Checkout, read_argument: ReadArgument, instead: Matrix | None = None
) -> tuple[GateFile, list[FileFault]]:
    """Return what the file says, and all that is wrong with it.

    Raises OSError if it cannot be read or is not in the checkout, GateFileWrong if it is no TOML.
    """
    try:
        root = TomlTable(tomllib.loads(checkout.text(path)), "")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GateFileWrong(path, [FileFault("", f"this is no TOML: {error}")]) from error
    root.only(("baseline", "matrix", "budgets", "kernels"))
    matrix = root.table("matrix")
    reader = KernelTables(path.parent, checkout, read_argument, matrix, instead or Matrix())
    is_list = isinstance(root.members.get("kernels"), list)
    tables = {} if is_list else root.table("kernels").tables()
    if not tables:
        what = "this is a list of kernels" if is_list else "there is no kernel"
        root.fault("kernels", f"{what}; write each as [kernels.NAME]")
    if len(tables) > MAX_KERNELS:
        root.fault("kernels", f"{len(tables)} kernels are more than {MAX_KERNELS}")
    found = [reader.kernel(name, table) for name, table in tables.items()]
    kernels = tuple(kernel for kernel in found if kernel is not None)
    baseline = path.parent / (root.text("baseline") or f"{path.stem}.baseline.json")
    budgets = budget_table(root.table("budgets"))
    gate_file = GateFile(path, baseline, kernels, budgets)
    _check_budgets(gate_file, root)
    return gate_file, root.faults


def _check_budgets(gate_file: GateFile, root: TomlTable) -> None:
    """Note budgets that no cell of the matrix can be judged by."""
    kernels = gate_file.kernels
    for below, budgets in gate_file.budgets.every():
        for metric in _alone(budgets):
            if kernels and not any(_is_told(metric, kernel) for kernel in kernels):
                root.faults.append(FileFault(f"budgets.{below}{metric}", _untold(metric)))
    for kernel in kernels:
        for below, budgets in kernel.budgets.every():
            for metric in _alone(budgets):
                place = f"{kernel.place}.budgets.{below}{metric}"
                if not _is_told(metric, kernel):
                    root.faults.append(FileFault(place, _untold(metric)))


def _alone(budgets: Budgets) -> list[str]:
    """Return the metrics that are bounded for themselves; of spills each backend has its own."""
    return [m for m, bounds in budgets.items() if any(b.written != NO_SPILLS for b in bounds)]


def _is_told(metric: str, kernel: GatedKernel) -> bool:
    name = metric.partition(".")[0]
    if name == TIME:
        return kernel.launch is not None and kernel.launch.get("device") not in ON_A_CPU
    backends = {target.partition(":")[0] for target in kernel.targets}
    return not backends or bool(backends & set(BACKENDS[name]))


def _untold(metric: str) -> str:
    name = metric.partition(".")[0]
    if name == TIME:
        return "this cannot be judged: times need a `launch`, on a `device` that is a GPU"
    backends = " and ".join(f"{backend}:..." for backend in BACKENDS[name])
    return f"this cannot be judged: only targets {backends} have it, and there is none of them"
