"""A record's account of how a program's kernels may change their parameters."""

from __future__ import annotations

import pytest

from programs.tape.kernel_effects import KernelEffects
from programs.tape.read_tape import read_tape
from programs.worker.kernel_compiles import BuiltKernel
from programs.worker.kernel_jobs import KernelUse
from programs.worker.program_kernels import ProgramKernels
from tests.programs.unit.recorded import sent, vector_add

COPY = KernelEffects(frozenset({"y", "x"}), frozenset({"out"}))
LONG = KernelEffects(frozenset({"x" * 5000}), frozenset({"out"}))


class Job:
    """Fakes a compile job: only its key matters here."""

    def __init__(self, key: str) -> None:
        self.key = key


def kernels(*effects: KernelEffects | None) -> ProgramKernels:
    """Return a kernel of a tape, compiled once for each effect."""
    tape = read_tape(sent(vector_add()))
    uses = [KernelUse("k0", Job(str(number))) for number in range(len(effects))]
    built = {
        str(number): BuiltKernel(None, ttir="module {}", effects=one)
        for number, one in enumerate(effects)
    }
    return ProgramKernels(tape, uses, built, {})


@pytest.mark.parametrize(
    ("effects", "reads", "writes"),
    [(COPY, ["x", "y"], ["out"]), (None, None, None), (LONG, None, ["out"])],
    ids=["known", "not known", "more than a record names"],
)
def test_a_kernel_says_which_parameters_it_may_read_and_write(
    effects: KernelEffects | None, reads: list[str] | None, writes: list[str] | None
) -> None:
    [answered] = kernels(effects).answered

    assert (answered.reads, answered.writes) == (reads, writes)


def test_what_a_kernel_may_do_in_one_way_of_several_it_may_do() -> None:
    other = KernelEffects(frozenset({"out"}), frozenset())

    assert kernels(COPY, other).effects() == {
        "k0": KernelEffects(frozenset({"x", "y", "out"}), frozenset({"out"}))
    }
    assert kernels(COPY, None, other).effects() == {"k0": None}
