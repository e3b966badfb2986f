"""Judges each cell by its budgets, and finds the lines that caused a broken one.

Nothing is measured or written here; every number is compared once.
"""

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonc.diagnostic import POSTED_SOURCE
from tritonc.gate.baseline import Baseline, BaselineEntry
from tritonc.gate.cell_numbers import CellNumbers
from tritonc.gate.cells import Cell, CellKey, matching_version
from tritonc.gate.line_growth import Growth, LineCounts, grown_lines, line_counts
from tritonc.gate.metric_budget import (
    BACKENDS,
    BASELINE,
    CLASSES,
    OPCODES,
    PROVED,
    PTX,
    TIME,
    TRITON,
    MetricBudget,
    number,
)

KEPT, BROKEN, NEW, SKIPPED, FAILED = "kept", "broken", "new", "skipped", "failed"
_LOCAL = "local"  # the class of spill instructions
_SPILLS = frozenset({"spill_bytes", "spilled_registers", "stack_bytes"})


@dataclass(frozen=True, slots=True)
class Check:
    """One budget of one cell: `state` is kept, broken, or new if there is nothing to compare with.

    `skipped` is for times without a GPU. `failed` means that there are no numbers: the kernel did
    not compile, or its launch is not good. `summary` is the result in a sentence, `lines` are its
    causes, and `path` and `line` its location.
    """

    cell: Cell
    metric: str
    state: str
    summary: str
    value: float | None
    reference_value: float | None
    lines: tuple[Growth, ...]
    path: Path
    line: int

    @property
    def is_bad(self) -> bool:
        """True if the check makes the gate fail."""
        return self.state in (BROKEN, FAILED)


@dataclass(frozen=True, slots=True)
class GateJudgement:
    """The result of a run; `missing` are baseline entries without a cell."""

    checks: tuple[Check, ...]
    measured: Mapping[Cell, CellNumbers]
    missing: tuple[CellKey, ...]
    is_strict: bool = False
    """True if new or missing cells count as broken."""

    @property
    def bad(self) -> list[Check]:
        """The checks that make the gate fail."""
        return [check for check in self.checks if check.is_bad]

    @property
    def unjudged(self) -> list[Check]:
        """The checks without anything to compare with, and those of times without a GPU."""
        return [check for check in self.checks if check.state in (NEW, SKIPPED)]

    @property
    def is_good(self) -> bool:
        """True if the gate passes."""
        return not self.bad and not (self.is_strict and (self.unjudged or self.missing))

    def sentence(self) -> str:
        """Return the result in one line."""
        kept = sum(check.state == KEPT for check in self.checks)
        text = f"{_counted(self.measured, 'cell')}, {_counted(self.checks, 'check')}: {kept} kept"
        counts = {"broken": BROKEN, "without a result": FAILED, "new": NEW, "skipped": SKIPPED}
        for words, state in counts.items():
            if count := sum(check.state == state for check in self.checks):
                text += f", {count} {words}"
        return text + (f", {len(self.missing)} missing" if self.missing else "")


def _counted(things: Sized, word: str) -> str:
    """Return the number of things as text: `1 cell`, `2 cells`."""
    return f"{len(things)} {word}{'' if len(things) == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class _Compared:
    """The numbers that a budget compares with."""

    metrics: Mapping[str, float]
    ptx: str | None
    lines: LineCounts
    upper: Mapping[str, float]
    device: str | None
    name: str
    settings: Mapping[str, Any]


class Judge:
    """Compares measured cells with their budgets."""

    def __init__(self, measured: Mapping[Cell, CellNumbers], baseline: Baseline | None) -> None:
        self._measured = measured
        self._baseline = baseline
        self._tritons: dict[tuple[str, str], dict[str, Cell]] = {}
        for cell in measured:
            self._tritons.setdefault(cell.key[:2], {})[cell.triton] = cell

    def judgement(self, missing: Sequence[CellKey], *, is_strict: bool) -> GateJudgement:
        """Return the judgement of all cells, sorted by name."""
        judged = {c: m for c, m in self._measured.items() if not c.is_reference}
        cells = sorted(judged, key=lambda cell: cell.key)
        checks = tuple(check for cell in cells for check in self._checks(cell))
        return GateJudgement(checks, judged, tuple(missing), is_strict)

    def _checks(self, cell: Cell) -> Iterator[Check]:
        measured = self._measured[cell]
        if measured.failure is not None:
            path = cell.kernel.lines.path(measured.file)
            line = measured.line or kernel_line(cell, measured)
            metric = "verdict" if cell.is_launch else "compiles"
            yield Check(cell, metric, FAILED, measured.failure, None, None, (), path, line)
            return
        references = {budget.reference for bounds in cell.budgets.values() for budget in bounds}
        compared = {name: self._compared(cell, name) for name in references if name is not None}
        for metric, bounds in sorted(cell.budgets.items()):
            if metric == PROVED and bounds and not cell.is_launch:
                yield from _proof_checks(cell, measured)
                continue
            for budget in bounds:
                other = compared.get(budget.reference or "")
                for name in _names(cell, metric, measured, other):
                    yield self._check(cell, name, budget, measured, other)

    def _compared(self, cell: Cell, reference: str) -> _Compared | None:
        """Return the numbers of a reference, None if there are none."""
        if reference == BASELINE:
            known = self._baseline.of(cell) if self._baseline is not None else None
            return None if known is None else _of_baseline(known, cell)
        others = self._tritons[cell.key[:2]]
        version = matching_version(reference.removeprefix(TRITON), others)
        if version is None or self._measured[others[version]].failure is not None:
            return None
        return _of_run(others[version], self._measured[others[version]])

    def _check(
        self,
        cell: Cell,
        metric: str,
        budget: MetricBudget,
        measured: CellNumbers,
        compared: _Compared | None,
    ) -> Check:
        value = _value(metric, measured)
        reference = None if compared is None else _reference(metric, compared, measured)
        if metric == PTX:
            state, summary = _ptx(measured, compared)
        elif metric == TIME and measured.has_no_times:
            state, summary = SKIPPED, "this ran on the CPU device, which has no times"
        elif value is None:
            state, summary = FAILED, f"the service does not report {metric} for this"
        elif budget.reference is not None and reference is None:
            state, summary = NEW, f"{number(value)}, with nothing to compare with"
        else:
            state = KEPT if budget.is_kept(value, reference) else BROKEN
            bound = budget.sentence(reference, "" if compared is None else compared.name)
            summary = f"{number(value)} is {'not ' if state == BROKEN else ''}{bound}"
        changed = changed_settings(compared.settings, measured.settings) if compared else ""
        if state == BROKEN and changed:  # no line is to blame for what other settings did
            summary += f"; {changed}"
        is_of_code = state == BROKEN and not changed
        lines = _blamed(cell, metric, measured, compared) if is_of_code else ()
        path = lines[0].path if lines else cell.kernel.path
        line = lines[0].line if lines else kernel_line(cell, measured)
        return Check(cell, metric, state, summary, value, reference, lines, path, line)


def _proof_checks(cell: Cell, measured: CellNumbers) -> Iterator[Check]:
    """Yield a broken check for each answer that is not a proof, or one that is kept."""
    proof, path = measured.proof, cell.kernel.path
    at = kernel_line(cell, measured)
    if proof is None or proof.problem is not None:
        why = "the service proved nothing" if proof is None else str(proof.problem)
        yield Check(cell, PROVED, FAILED, why, None, None, (), path, at)
    elif proof.verdict == "proved":
        summary = f"all {len(proof.accesses)} accesses, for all sizes"
        yield Check(cell, PROVED, KEPT, summary, None, None, (), path, at)
    else:
        for access, check, answer in proof.unproved():
            file = cell.kernel.lines.path(access.file or POSTED_SOURCE)
            sentence = answer.sentence(check).replace("\n", ";\n")  # reports make it one line
            summary = f"{access.kind} of {access.argument}: {sentence}"
            metric = f"{PROVED}.{check}"
            line = access.line if isinstance(access.line, int) else at
            yield Check(cell, metric, BROKEN, summary, None, None, (), file, line)
        if proof.reason:
            summary = f"{proof.verdict}: {proof.reason}"
            yield Check(cell, PROVED, BROKEN, summary, None, None, (), path, at)


def changed_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the constexprs and options that differ, such as `num_warps 4 -> 1`.

    Only names on both sides count: Tritons differ in which options they have.
    """
    return ", ".join(
        f"{name} {before[name]} -> {value}"
        for name, value in now.items()
        if name in before and before[name] != value
    )


def kernel_line(cell: Cell, measured: CellNumbers) -> int:
    """Return the line of the kernel's definition, 1 if unknown."""
    name = measured.entry or cell.kernel.members.get("kernel") or ""
    for line, text in enumerate(cell.kernel.source.splitlines(), 1):
        if name and text.lstrip().startswith(f"def {name}("):
            return line
    return 1


def _names(
    cell: Cell, metric: str, measured: CellNumbers, compared: _Compared | None
) -> Iterator[str]:
    """Yield the metrics of a budget: each class, each case of a launch, or only its own."""
    if metric == TIME and cell.is_launch:
        times = [name for name in measured.metrics if name.partition(".")[0] == TIME]
        yield from sorted(times) or [TIME]
    elif metric == f"{CLASSES}.*" and "instructions" in measured.metrics:
        known = {**measured.metrics, **(compared.metrics if compared else {})}
        named = {name for name, n in known.items() if name.startswith(f"{CLASSES}.") and n}
        yield from sorted(named - cell.budgets.keys())
    elif (metric == TIME) == cell.is_launch and _is_of_backend(metric, cell):
        yield metric


def _is_of_backend(metric: str, cell: Cell) -> bool:
    return cell.target.partition(":")[0] in BACKENDS[metric.partition(".")[0]]


def _value(metric: str, measured: CellNumbers) -> float | None:
    name, _, inner = metric.partition(".")
    if name == TIME:
        return measured.intervals[metric][0] if metric in measured.intervals else None
    if name == OPCODES:
        return measured.opcodes(inner) if "instructions" in measured.metrics else None
    if name == CLASSES and "instructions" in measured.metrics:
        return measured.metrics.get(metric, 0)
    return measured.metrics.get(metric)


def _reference(metric: str, compared: _Compared, measured: CellNumbers) -> float | None:
    if metric.partition(".")[0] == TIME:
        return compared.upper.get(metric) if compared.device == measured.device else None
    if metric.startswith(f"{CLASSES}.") and "instructions" in compared.metrics:
        return compared.metrics.get(metric, 0)
    if metric.startswith(f"{OPCODES}.") and metric not in compared.metrics:
        return None
    return compared.metrics.get(metric)


def _ptx(measured: CellNumbers, compared: _Compared | None) -> tuple[str, str]:
    if measured.ptx is None:
        return FAILED, "the service does not report the PTX of this"
    if compared is None or compared.ptx is None:
        return NEW, "nothing to compare with"
    if measured.ptx == compared.ptx:
        return KEPT, "unchanged"
    return BROKEN, f"the instructions differ from {compared.name}"


def _of_baseline(known: BaselineEntry, cell: Cell) -> _Compared:
    upper = {name: high for name, (_, high) in known.intervals.items()}
    name = "the baseline"
    if known.triton != cell.triton:
        name += f", which has Triton {known.triton}"
    return _Compared(
        known.metrics, known.ptx, known.lines, upper, known.device, name, known.settings
    )


def _of_run(cell: Cell, measured: CellNumbers) -> _Compared:
    upper = {name: high for name, (_, high) in measured.intervals.items()}
    metrics = dict(measured.metrics)
    for metric in cell.budgets:
        if metric.startswith(f"{OPCODES}."):
            metrics[metric] = measured.opcodes(metric.partition(".")[2])
    lines = line_counts(measured.lines, cell.kernel.lines)
    name = f"Triton {cell.triton}"
    return _Compared(metrics, measured.ptx, lines, upper, measured.device, name, measured.settings)


def _blamed(
    cell: Cell, metric: str, measured: CellNumbers, compared: _Compared | None
) -> tuple[Growth, ...]:
    """Return the lines that caused a broken budget, as far as instructions show."""
    name, _, inner = metric.partition(".")
    kind = inner if name == CLASSES else _LOCAL if name in _SPILLS else ""
    before = compared.lines if compared is not None and compared.lines else None
    return grown_lines(measured.lines, before, cell.kernel.lines, kind)
