"""One run of the gate, from its file to the judgement.

Errors in the file, in the baseline, and in the requests to the service are collected as long as
possible and reported together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tritonc._sync.client import Client
from tritonc.gate.baseline import Baseline, InvalidBaseline, missing_baseline, read_baseline
from tritonc.gate.cell_numbers import CellNumbers
from tritonc.gate.cells import Cell, InspectedKernels, OfferedTritons, cells_of, completed_members
from tritonc.gate.checkout import Checkout, LeavesCheckout
from tritonc.gate.gate_file import DEFAULT_NAME, GateFile, InvalidGateFile, read_gate_file
from tritonc.gate.gate_judgement import GateJudgement, Judge
from tritonc.gate.gated_kernel import Matrix, ReadArgument
from tritonc.gate.measure_cells import CellMeasuring, Say
from tritonc.gate.toml_reading import FileProblem, alike
from tritonc.service_errors import (
    ProblemError,
    ServerUnavailable,
    TritoncError,
    UnexpectedAnswer,
    WaitExpired,
)

BaselineFile = tuple[Path, Baseline]
"""A baseline and its path."""

NOT_SERVED = (ProblemError, ServerUnavailable, UnexpectedAnswer, WaitExpired)


class GateNotRun(TritoncError):
    """Nothing was judged; the message lists all reasons, one per line."""


@dataclass(frozen=True, slots=True)
class GateRun:
    """The settings of a run: the file, and overrides from the command line.

    `kernels` are the names to judge, empty for all. `is_update` writes a new baseline,
    so the old one may be missing. Only files of the `checkout` are read. `say_inferred` gets a
    line for each kernel whose types were inferred.
    """

    path: Path
    checkout: Checkout
    read_argument: ReadArgument
    matrix: Matrix
    kernels: tuple[str, ...] = ()
    baseline: Path | None = None
    is_update: bool = False
    is_strict: bool = False
    say_inferred: Say = print
    wait_s: float = 900

    @property
    def is_part(self) -> bool:
        """True if only a part of the file is judged."""
        return bool(self.kernels or self.matrix.targets or self.matrix.tritons)

    def baseline_led(self, path: Path) -> Path:
        """Return the resolved path of the baseline. Raises LeavesCheckout.

        The command line may name a path outside of the checkout, but the gate file may not.
        """
        is_of_file = self.baseline is None
        return self.checkout.inside(path) if is_of_file else self.checkout.named(path)


def run_gate(client: Client, asked: GateRun, say: Say) -> tuple[GateJudgement, BaselineFile]:
    """Return the judgement, and the path and content of the baseline, updated if requested.

    Raises GateNotRun if nothing can be judged.
    """
    gate_file, problems = _read(asked)
    path = asked.baseline or gate_file.baseline
    baseline = _baseline(path, asked, problems)
    cells = _cells(client, gate_file, problems)
    if not asked.is_update and baseline is None:
        problems += missing_baseline(cells, path)
    _stop_at(problems, asked)
    measured = _measured(client, asked, cells, say)
    missing = [] if asked.is_part or asked.is_update else (baseline or Baseline({})).missing(cells)
    judged = {cell: numbers for cell, numbers in measured.items() if not cell.is_reference}
    if asked.is_update:
        baseline = (baseline or Baseline({})).updated(judged, keep_others=asked.is_part)
    judgement = Judge(measured, baseline).judgement(missing, is_strict=asked.is_strict)
    return judgement, (path, baseline or Baseline({}))


def _read(asked: GateRun) -> tuple[GateFile, list[FileProblem]]:
    try:
        gate_file, problems = read_gate_file(
            asked.path, asked.checkout, asked.read_argument, asked.matrix
        )
    except LeavesCheckout as error:
        raise GateNotRun(str(error)) from error
    except OSError as error:
        raise GateNotRun(
            f"{asked.path}: {error.strerror}{_written_by(asked.path, error)}"
        ) from error
    except InvalidGateFile as error:
        raise GateNotRun(str(error)) from error
    names = {kernel.name for kernel in gate_file.kernels}
    problems += [
        FileProblem(f"kernels.{name}", f"--kernel names no kernel of the file{alike(name, names)}")
        for name in asked.kernels
        if name not in names
    ]
    chosen = tuple(k for k in gate_file.kernels if not asked.kernels or k.name in asked.kernels)
    return replace(gate_file, kernels=chosen), problems


def _written_by(path: Path, error: OSError) -> str:
    """Return how to write a missing gate file, "" for another error."""
    if not isinstance(error, FileNotFoundError):
        return ""
    named = "" if str(path) == DEFAULT_NAME else f" {path}"
    return f"; `tritonc gate{named} --init FOLDER` writes it, for the kernels in FOLDER"


def _baseline(path: Path, asked: GateRun, problems: list[FileProblem]) -> Baseline | None:
    try:
        return read_baseline(path, asked.baseline_led(path))
    except (InvalidBaseline, LeavesCheckout) as error:
        problems.append(FileProblem("baseline", str(error)))
        return Baseline({})


def _cells(client: Client, gate_file: GateFile, problems: list[FileProblem]) -> list[Cell]:
    """Return the cells; an unreachable service is an error like others."""
    try:
        offered = OfferedTritons.from_json(client.targets())
    except NOT_SERVED as error:
        problems.append(FileProblem("", f"the service's targets are unknown: {error}"))
        return []
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        problems.append(FileProblem("", f"this is not tritond, or it has no workers: {error!r}"))
        return []
    cells, more = cells_of(gate_file, offered)
    problems += more
    return cells


def _measured(
    client: Client, asked: GateRun, cells: list[Cell], say: Say
) -> Mapping[Cell, CellNumbers]:
    measuring = CellMeasuring(client, asked.wait_s, say)
    try:
        inspected = measuring.inspected({cell.kernel for cell in cells})
        say_inferred(cells, inspected, asked.say_inferred)
        compiled = measuring.compilations([c for c in cells if not c.is_launch], inspected)
        launched = measuring.launches([c for c in cells if c.is_launch])
    except NOT_SERVED as error:
        _stop_at([*measuring.problems, FileProblem("", str(error))], asked)
        raise
    _stop_at(measuring.problems, asked)
    return {**compiled, **launched}


def say_inferred(cells: list[Cell], inspected: InspectedKernels, say: Say) -> None:
    """Report what was assumed for kernels that have neither signature nor launch."""
    for kernel in dict.fromkeys(cell.kernel for cell in cells):
        if kernel.name in inspected and kernel.launch is None:
            inferred = completed_members(kernel, inspected).inferred
            say(f"note: {kernel.name}: assumes {inferred}")


def _stop_at(problems: list[FileProblem], asked: GateRun) -> None:
    """Raise GateNotRun if there is any problem."""
    if problems:
        raise GateNotRun(str(InvalidGateFile(asked.path, problems)))
