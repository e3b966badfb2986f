"""Finds the lines and ops at which a program leaves work to torch, and their share of it."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from programs.tape.flow import Flow
from programs.tape.overload_effects import kind_of, name_of
from programs.tape.program_work import ProgramWork, shares
from programs.tape.schema import AtenOp, ProgramLine, Tape

MOST_LEFT = 0.25
"""The share of the work that torch may do without a flag."""
_WORTH_A_LINE = 0.1
"""The least share of the work of a line that is named, unless it is the largest."""


@dataclass(frozen=True, slots=True)
class LeftToTorch:
    """Work of torch at one line."""

    message: str
    place: ProgramLine | None


def left_to_torch(
    tape: Tape, flow: Flow, work: ProgramWork, reference: float | None
) -> Iterator[LeftToTorch]:
    """Yield the lines at which torch does too much of the work; `reference` is the necessary work.

    If the amount of work is unknown, or no kernel does any of it (which has its own flag), yield
    each matrix product, convolution, attention and recurrent network that depends on inputs.
    """
    found = shares(work, reference) if work.launches else None
    if found is None:
        yield from _by_kind(tape, flow)
        return
    total = found.by_kernels + found.by_torch
    if total == 0 or found.by_torch <= MOST_LEFT * total:
        return
    lines: dict[tuple[ProgramLine | None, str], float] = defaultdict(float)
    for index, operations in work.aten.items():
        op = tape.ops[index]
        assert isinstance(op, AtenOp)
        lines[op.place, name_of(op)] += operations
    ordered = sorted(lines.items(), key=lambda one: -one[1])
    for number, ((place, name), operations) in enumerate(ordered):
        if number == 0 or operations >= _WORTH_A_LINE * total:
            message = (
                f"torch does {found.by_torch / total:.0%} of the work that outputs depend on, "
                f"{operations / total:.0%} of it by {name} here: compute it in a kernel of this "
                "program"
            )
            yield LeftToTorch(message, place)


def _by_kind(tape: Tape, flow: Flow) -> Iterator[LeftToTorch]:
    for index, op in enumerate(tape.ops):
        is_heavy = isinstance(op, AtenOp) and op.phase == "run" and kind_of(op) == "heavy"
        if not is_heavy or index not in flow.live or not isinstance(op, AtenOp):
            continue
        if flow.depends_on_inputs(flow.op_sources[index]):
            message = (
                f"torch computes {name_of(op)} here, and outputs depend on it: compute it in a "
                "kernel of this program"
            )
            yield LeftToTorch(message, op.place)
