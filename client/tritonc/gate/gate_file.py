"""The gate file: kernels, the matrix of targets and Tritons, and budgets.

All errors that the file alone reveals are reported together, including budgets that could never be
judged.
"""

import itertools
from dataclasses import dataclass
from pathlib import Path

from tritonc.gate.checkout import MAX_GATE_FILE_BYTES, Checkout
from tritonc.gate.gated_kernel import (
    CONTRACT_SUFFIX,
    BudgetTable,
    GatedKernel,
    KernelTables,
    Matrix,
    ReadArgument,
    budget_table,
)
from tritonc.gate.metric_budget import BACKENDS, NO_SPILLS, PROVED, TIME, Budgets, merged
from tritonc.gate.toml_reading import (
    FileProblem,
    KeyPath,
    TomlTable,
    key_lines,
    key_path,
    line_of,
    toml_of,
)
from tritonc.local_file import bounded_bytes
from tritonc.service_errors import TritoncError

DEFAULT_NAME = "kernels.toml"
ON_A_CPU = ("cpu", "interpreter")
"""Names of the CPU device in a gate file: `interpreter` is its old name."""
MAX_KERNELS, MAX_CELLS = 1000, 10_000


class InvalidGateFile(TritoncError):
    """An unusable gate file; `problems` has all its errors."""

    def __init__(self, path: Path, problems: list[FileProblem]) -> None:
        lines = _lines(path)
        placed = sorted(
            (line_of(key_path(f.place), lines) or 0, f) for f in dict.fromkeys(problems)
        )
        super().__init__("\n".join(_problem_line(path, line, problem) for line, problem in placed))
        self.problems = problems


def _lines(path: Path) -> dict[KeyPath, int]:
    try:
        return key_lines(bounded_bytes(path, MAX_GATE_FILE_BYTES).decode())
    except (OSError, UnicodeDecodeError):
        return {}


def _problem_line(path: Path, line: int, problem: FileProblem) -> str:
    """Return an error with its file, and its line if known."""
    return f"{path}:{line}: {problem}" if line else f"{path}: {problem}"


@dataclass(frozen=True, slots=True)
class GateFile:
    """The content of a gate file; `baseline` is the path of its baseline."""

    path: Path
    baseline: Path
    kernels: tuple[GatedKernel, ...]
    budgets: BudgetTable

    def budgets_of(self, kernel: GatedKernel, target: str, triton: str) -> Budgets:
        """Return the budgets of one cell; the kernel's own take precedence."""
        return merged(self.budgets.of(target, triton), kernel.budgets.of(target, triton))


def read_gate_file(
    path: Path, checkout: Checkout, read_argument: ReadArgument, instead: Matrix | None = None
) -> tuple[GateFile, list[FileProblem]]:
    """Return the content of the file and its errors.

    Raises OSError if it cannot be read or is outside of the checkout, InvalidGateFile if not TOML.
    """
    try:
        root = TomlTable(toml_of(checkout.text(path)), "")
    except ValueError as error:  # of TOML, of its depth, or of UTF-8
        raise InvalidGateFile(path, [FileProblem("", f"this is not TOML: {error}")]) from error
    root.only(("baseline", "matrix", "budgets", "kernels"))
    matrix = root.table("matrix")
    reader = KernelTables(path.parent, checkout, read_argument, matrix, instead or Matrix())
    is_list = isinstance(root.members.get("kernels"), list)
    tables = {} if is_list else root.table("kernels").tables()
    if not tables:
        what = "this is a list of kernels" if is_list else "there is no kernel"
        root.add_problem("kernels", f"{what}; write each as [kernels.NAME]")
    if len(tables) > MAX_KERNELS:
        root.add_problem(
            "kernels", f"{len(tables)} kernels are more than the {MAX_KERNELS} allowed"
        )
    some = itertools.islice(tables.items(), MAX_KERNELS)
    read = [reader.kernel(name, table) for name, table in some]
    kernels = tuple(kernel for kernel in read if kernel is not None)
    baseline = path.parent / (root.text("baseline") or f"{path.stem}.baseline.json")
    budgets = budget_table(root.table("budgets"))
    gate_file = GateFile(path, baseline, kernels, budgets)
    cells = sum(len(item.targets) * max(1, len(item.tritons)) for item in kernels)
    if cells > MAX_CELLS:
        message = f"{cells} kernels for a target and a Triton are more than the {MAX_CELLS} allowed"
        root.add_problem("kernels", message)
    else:
        _check_budgets(gate_file, root)
    return gate_file, root.problems


def _check_budgets(gate_file: GateFile, root: TomlTable) -> None:
    """Note errors for budgets that no cell of the matrix can be judged by."""
    kernels = gate_file.kernels
    for below, budgets in gate_file.budgets.every():
        for metric in _alone(budgets):
            if kernels and not any(_is_reported(metric, kernel) for kernel in kernels):
                root.problems.append(FileProblem(f"budgets.{below}{metric}", _unreported(metric)))
    for kernel in kernels:
        for below, budgets in kernel.budgets.every():
            for metric in _alone(budgets):
                place = f"{kernel.place}.budgets.{below}{metric}"
                if not _is_reported(metric, kernel):
                    root.problems.append(FileProblem(place, _unreported(metric)))
        if kernel.contract is None and _is_proved(gate_file, kernel):
            contract_file = kernel.path.with_suffix(CONTRACT_SUFFIX)
            message = (
                f"`{PROVED}` needs a contract; write {contract_file} "
                "(`tritonc prove --write-contract` infers one), or name another file"
            )
            root.problems.append(FileProblem(f"{kernel.place}.contract", message))


def _is_proved(gate_file: GateFile, kernel: GatedKernel) -> bool:
    cells = itertools.product(kernel.targets, kernel.tritons or ("",))
    return any(gate_file.budgets_of(kernel, *cell).get(PROVED) for cell in cells)


def _alone(budgets: Budgets) -> list[str]:
    """Return the metrics with their own bounds; each backend has other kinds of spills."""
    return [m for m, bounds in budgets.items() if any(b.written != NO_SPILLS for b in bounds)]


def _is_reported(metric: str, kernel: GatedKernel) -> bool:
    name = metric.partition(".")[0]
    if name == TIME:
        return kernel.launch is not None and kernel.launch.get("device") not in ON_A_CPU
    backends = {target.partition(":")[0] for target in kernel.targets}
    return not backends or bool(backends & set(BACKENDS[name]))


def _unreported(metric: str) -> str:
    name = metric.partition(".")[0]
    if name == TIME:
        return "this cannot be judged: times need a `launch`, on a `device` that is a GPU"
    backends = " and ".join(f"{backend}:..." for backend in BACKENDS[name])
    return f"this cannot be judged: only targets {backends} have it; add one, or remove the budget"
