"""How much of a program's work its own kernels do, in elementary operations.

A kernel may compute what has no use, and nothing shows which of its operations matter. So kernels
are credited no more than the reference's work less what torch does: a kernel that only copies what
torch computed has done nothing, whatever loops are in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from programs.tape.aten_work import aten_work
from programs.tape.flow import Flow
from programs.tape.schema import AtenOp, Tape, TapeLaunch, tensors_of

LaunchesWork = Mapping[int, int | None]
"""By the index of a launch among a tape's ops, its operations; None, or no entry: not known."""


@dataclass(frozen=True, slots=True)
class ProgramWork:
    """The operations of a first call from which its results follow."""

    aten: Mapping[int, float]
    """By op, what torch does."""
    kernels: int | None
    """What launches do; None: of one of them it is not known."""
    launches: int
    """How many there are."""

    @property
    def by_torch(self) -> float:
        """All that torch does."""
        return sum(self.aten.values())

    @property
    def total(self) -> float | None:
        """All that is done, None where it is not known."""
        return None if self.kernels is None else self.by_torch + self.kernels


@dataclass(frozen=True, slots=True)
class WorkShares:
    """What is credited to kernels, and what torch does, of one program."""

    by_kernels: float
    by_torch: float

    @property
    def coverage(self) -> float | None:
        """The share that kernels do; None: there is no work."""
        total = self.by_kernels + self.by_torch
        return self.by_kernels / total if total > 0 else None


def program_work(tape: Tape, flow: Flow, launches: LaunchesWork) -> ProgramWork:
    """Return what the first call of a program does for what it returns, or leaves in its inputs."""
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
    """Return who does the work, beside a reference's; None: that is not known.

    Without a reference that does anything all that kernels do is credited to them. Where what they
    do is not known they are credited all that the reference's work leaves.
    """
    left = max(0.0, reference - program.by_torch) if reference else None
    known = [most for most in (program.kernels, left) if most is not None]
    return WorkShares(min(known), program.by_torch) if known else None


def _needed(tape: Tape, flow: Flow) -> list[int]:
    """Return the ops of the first call from which what it returns, or leaves, may follow."""
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
