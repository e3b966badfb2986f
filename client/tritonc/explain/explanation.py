"""Collects why a kernel costs what it costs: its resources, lines, stages, and what was tried."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tritonc._sync.client import Client
from tritonc.compilation import Compilation
from tritonc.gate.cell_numbers import CellNumbers, LineMix, compilation_measured
from tritonc.gate.cells import Cell
from tritonc.gate.measure_cells import CellMeasuring, Say
from tritonc.gate.metric_budget import CLASSES, OPCODES
from tritonc.service_errors import UnexpectedAnswer
from tritonc.upgrade.kernel_change import spilled
from tritonc.upgrade.proposals import Proposal, proposals

Place = tuple[str, int]
"""A file by the service's name, and a line."""


@dataclass(frozen=True, slots=True)
class CostFinding:
    """A sentence on a source line; `place` is None where no line is known."""

    place: Place | None
    message: str

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "CostFinding":
        """Parse a finding. Raises KeyError or TypeError if it is malformed."""
        file, line = body["file"], body["line"]
        place = None if file is None or line is None else (str(file), int(line))
        return cls(place, str(body["message"]))


def findings(bodies: Iterable[Mapping[str, Any]]) -> tuple[CostFinding, ...]:
    """Parse findings. Raises KeyError or TypeError if they are malformed."""
    return tuple(map(CostFinding.from_json, bodies))


SPILL = "local"  # the class of instructions
MAX_REGISTERS = 255  # of a thread, on NVIDIA's GPUs
REGISTERS_PER_BLOCK = 65536
MAX_TRIED = 24
_OPCODES_BY_SPEED = (r"v_s?w?mfma|v_s?wmma|[A-Z]MMA", r"[A-Z]GMMA", r"UTC[A-Z]*MMA")
"""Opcodes that multiply matrices: those of `mma.sync`, wgmma, and tcgen05."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The numbers with one changed setting."""

    proposal: Proposal
    numbers: CellNumbers


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that is known of a compilation; `trials` are ranked, best first.

    `best` is the setting that needs least, None if the present ones do.
    """

    compilation: Compilation
    cell: Cell
    numbers: CellNumbers
    trials: tuple[Trial, ...]
    products: tuple[CostFinding, ...]
    tma: str | None
    narrow: tuple[CostFinding, ...]
    uncoalesced: tuple[CostFinding, ...]
    conversions: tuple[CostFinding, ...]
    document: Mapping[str, Any]
    """The findings as the service answers them."""

    @property
    def best(self) -> Trial | None:
        """The best trial, if it is better than the present settings."""
        first = self.trials[0] if self.trials else None
        is_better = first is not None and _cost(first.numbers, self.numbers) < _cost(
            self.numbers, self.numbers
        )
        return first if is_better else None

    def costly_lines(self) -> list[LineMix]:
        """Return the lines: those with most spill instructions first, then the longest."""
        return sorted(
            self.numbers.lines,
            key=lambda mix: (-mix.by_class.get(SPILL, 0), -sum(mix.by_class.values())),
        )

    def classes(self) -> list[tuple[str, int]]:
        """Return the instructions by class, most first."""
        prefix = f"{CLASSES}."
        counts = {n.removeprefix(prefix): int(c) for n, c in self.numbers.metrics.items() if c}
        named = {n.removeprefix(prefix) for n in self.numbers.metrics if n.startswith(prefix)}
        return sorted(
            ((n, c) for n, c in counts.items() if n in named), key=lambda pair: (-pair[1], pair[0])
        )

    def register_limit(self) -> tuple[int, str] | None:
        """Return how many registers a thread could have on NVIDIA's GPUs, and the reason."""
        resources = self.compilation.resources
        threads, maxnreg = resources.get("threads"), self.numbers.settings.get("maxnreg")
        if resources.get("backend") != "cuda":
            return None
        limits = [(MAX_REGISTERS, "the hardware limit of a thread")]
        if isinstance(threads, int) and threads > 0:
            by_threads = REGISTERS_PER_BLOCK // threads // 8 * 8
            limits.append((by_threads, f"the most with {threads} threads"))
        if isinstance(maxnreg, int):
            limits.append((maxnreg, "set by maxnreg"))
        return min(limits)


def explained(
    client: Client, cell: Cell, compilation: Compilation, wait_s: float, say: Say
) -> Explanation:
    """Return the explanation of a compilation that succeeded; `cell` is its request.

    Raises the errors of the client, and UnexpectedAnswer.
    """
    measuring = CellMeasuring(client, wait_s, say)
    try:
        first = compilation_measured(compilation)
        numbers = measuring.with_instructions({cell: first})[cell]
        tried = list(proposals(cell, numbers))[:MAX_TRIED]
        measured = measuring.compilations([item.cell for item in tried], {})
        document = client.explain(compilation.key, wait_s=wait_s)
        return Explanation(
            compilation,
            cell,
            numbers,
            _trials(tried, measured, numbers),
            findings(document["matrix_products"]),
            document["tma"]["message"],
            findings(document["not_vectorised"]),
            findings(document.get("uncoalesced", [])),
            findings(document["layout_conversions"]),
            document,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnexpectedAnswer(f"an answer on {cell.title} is malformed: {error!r}") from error


def _trials(
    tried: Sequence[Proposal], measured: Mapping[Cell, CellNumbers], now: CellNumbers
) -> tuple[Trial, ...]:
    made = [Trial(item, measured[item.cell]) for item in tried if item.cell in measured]
    return tuple(sorted(made, key=lambda trial: _rank(trial, now)))


def _rank(trial: Trial, now: CellNumbers) -> tuple[float, ...]:
    """Return a sort key: among equal costs, options come first, as they leave the work as it is.

    Instructions of other blocks are not comparable: a program with less work has fewer.
    """
    proposal, is_block = trial.proposal, trial.proposal.member == "constexprs"
    shrunk = proposal.before / proposal.value if is_block else 0
    instructions = trial.numbers.metrics.get("instructions", 0)
    return (*_cost(trial.numbers, now), is_block, shrunk, instructions)


def _cost(numbers: CellNumbers, now: CellNumbers) -> tuple[float, ...]:
    """Return what to keep low: failure, a slower unit for matrices, spills, lost occupancy."""
    return (
        numbers.failure is not None,
        _speed(numbers) < _speed(now),
        spilled(numbers),
        -numbers.metrics.get("occupancy", 0),
    )


def matrix_opcodes(numbers: CellNumbers) -> str:
    """Return the instructions that multiply matrices, `8 HGMMA`; "" if there are none."""
    pattern = re.compile("|".join(_OPCODES_BY_SPEED))
    counts: Counter[str] = Counter()
    for name, count in numbers.metrics.items():
        opcode = name.removeprefix(f"{OPCODES}.")
        if opcode != name and (match := pattern.match(opcode)):
            counts[match[0]] += int(count)
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def _speed(numbers: CellNumbers) -> int:
    """Return the place of the fastest of these opcodes that a kernel has, 0 for none."""
    opcodes = matrix_opcodes(numbers)
    places = enumerate(_OPCODES_BY_SPEED, 1)
    return max((at for at, names in places if re.search(rf"\b(?:{names})", opcodes)), default=0)
