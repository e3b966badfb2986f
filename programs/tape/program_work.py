"""Counts how much of a program's work its own kernels do, in elementary operations.

A kernel may compute useless values, and nothing shows which of its operations matter. So kernels
get credit for at most the reference's work minus torch's. A kernel that only copies what torch
computed gets none, whatever loops it has.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from programs.tape.aten_work import aten_work
from programs.tape.flow import Flow
from programs.tape.schema import AtenOp, Tape, TapeLaunch, tensors_of

LaunchesWork = Mapping[int, int | None]
"""The operations of each launch, by its index among the ops; None, or no entry, if unknown."""


@dataclass(frozen=True, slots=True)
class ProgramWork:
    """The operations of a first call on which its results depend."""

    aten: Mapping[int, float]
    """The operations of torch, by op."""
    kernels: int | None
    """The operations of all launches; None if those of one are unknown."""
    launches: int
    """The number of launches."""

    @property
    def by_torch(self) -> float:
        """The operations of all torch ops."""
        return sum(self.aten.values())

    @property
    def total(self) -> float | None:
        """The operations of torch and kernels, None if unknown."""
        return None if self.kernels is None else self.by_torch + self.kernels


@dataclass(frozen=True, slots=True)
class WorkShares:
    """The operations credited to a program's kernels, and those of torch."""

    by_kernels: float
    by_torch: float

    @property
    def coverage(self) -> float | None:
        """The share of the kernels; None if there is no work."""
        total = self.by_kernels + self.by_torch
        return self.by_kernels / total if total > 0 else None


def program_work(tape: Tape, flow: Flow, launches: LaunchesWork) -> ProgramWork:
    """Return the work of the first call for its outputs, and for inputs that it changes."""
    aten: dict[int, float] = {}
    kernels: int | None = 0
    number = 0
    for index in _needed(tape, flow):
        op = tape.ops[index]
        if isinstance(op, AtenOp):
            aten[index] = aten_work(op, tape.tensors)
        elif isinstance(op, TapeLaunch):
            number += 1
            done = launches.get(index)
            kernels = None if kernels is None or done is None else kernels + done
    return ProgramWork(aten, kernels, number)


def shares(program: ProgramWork, reference: float | None) -> WorkShares | None:
    """Return the shares of kernels and torch, given a reference's work; None if unknown.

    Without a reference that does any work, kernels get credit for all their operations. If these
    are unknown, they get credit for the reference's work minus torch's.
    """
    left = max(0.0, reference - program.by_torch) if reference else None
    known = [most for most in (program.kernels, left) if most is not None]
    return WorkShares(min(known), program.by_torch) if known else None


def _needed(tape: Tape, flow: Flow) -> list[int]:
    """Return the ops of the first call on which its outputs, or changed inputs, may depend."""
    ids = [*tensors_of(tape.outputs)]
    for structure in tape.inputs:
        ids.extend(tensors_of(structure))
    wanted = {tape.tensors[id_].storage for id_ in ids}
    found = []
    for index in reversed(range(len(tape.ops))):
        access = flow.accesses[index]
        if tape.ops[index].phase == "run" and not wanted.isdisjoint(access.writes):
            found.append(index)
            wanted -= access.renews
            wanted |= access.reads
    return found
