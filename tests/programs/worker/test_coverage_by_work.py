"""Coverage by work: the share of a program's work that its kernels do, without timings."""

from __future__ import annotations

import pytest

from launch.request.launch_record import Device
from launch.request.verdict import Verdict
from programs.tape.kernel_effects import KernelEffects
from programs.tape.program_work import WorkShares
from programs.worker.kernel_compiles import BuiltKernel
from programs.worker.kernel_jobs import KernelUse
from programs.worker.launches_work import coverage_by_work, launches_work
from programs.worker.program_kernels import ProgramKernels
from programs.worker.program_outcome import CaseOutcome, with_cases, with_run
from tests.programs.unit.queued_programs import queued
from tests.programs.unit.tape_maker import TapeMaker, t

pytestmark = pytest.mark.unit

CPU = Device(target=None, interpreter=True)
JOB = queued(device=CPU)
EFFECTS = KernelEffects(frozenset({"a"}), frozenset({"out"}))
SCALES = """module {
tt.func public @copy_kernel(%a: !tt.ptr<f32> loc("a"(#loc)), %out: !tt.ptr<f32> loc("out"(#loc))) {
%v = tt.load %a : tensor<64x!tt.ptr<f32>>
%w = arith.mulf %v, %v : tensor<64xf32>
tt.store %out, %w : tensor<64x!tt.ptr<f32>>
}
}
"""
LOOPS = SCALES.replace(
    "%w = arith.mulf %v, %v : tensor<64xf32>\n",
    "%n = tt.load %a : !tt.ptr<i32>\n"
    "%w = scf.for %i = %n to %n step %n iter_args(%s = %v) -> (tensor<64xf32>)  : i32 {\n"
    "%x = arith.mulf %s, %s : tensor<64xf32>\nscf.yield %x : tensor<64xf32>\n}\n",
)


class Job:
    """Fakes a compile job: only its key matters here."""

    key = "key"


def kernels(torch_ops: int, launches: bool, ttir: str = SCALES) -> ProgramKernels:
    """Return a program with this many ops on a vector of 64, followed by a launch."""
    maker = TapeMaker()
    x = result = maker.tensor()
    for _ in range(torch_ops):
        result = maker.op("neg.default", t(result))
    uses = {}
    if launches:
        out = maker.empty()
        maker.launch(result, out)
        uses = {len(maker.ops) - 1: KernelUse("k0", Job())}
        result = out
    built = {"key": BuiltKernel(None, ttir=ttir, effects=EFFECTS)}
    return ProgramKernels(maker.tape([x], [result]), list(uses.values()), built, uses)


def coverage(program: ProgramKernels, reference: ProgramKernels) -> float | None:
    found, unknown = coverage_by_work(program, reference)
    assert unknown is None
    return None if found is None else found.coverage


def test_a_kernel_that_does_it_all_has_all_of_the_work() -> None:
    assert coverage(kernels(0, launches=True), kernels(2, launches=False)) == 1


def test_torch_has_what_it_does_beside_the_kernel() -> None:
    assert coverage(kernels(1, launches=True), kernels(3, launches=False)) == 2 / 3


def test_torch_alone_has_all_of_it() -> None:
    assert coverage(kernels(2, launches=False), kernels(2, launches=False)) == 0


def test_the_work_of_a_reference_s_kernels_is_counted() -> None:
    assert coverage(kernels(1, launches=True), kernels(1, launches=True)) == 2 / 3


def test_it_is_not_known_without_a_reference() -> None:
    assert coverage_by_work(kernels(1, launches=True), None) == (None, None)


@pytest.mark.parametrize(
    ("program", "reference", "why"),
    [
        (kernels(1, True, LOOPS), kernels(1, False), "a kernel of the program cannot be counted"),
        (kernels(1, True), kernels(1, True, LOOPS), "a kernel of the reference cannot be counted"),
        (kernels(0, True), kernels(0, False), "no work that can be counted"),
    ],
)
def test_where_it_is_not_known_there_is_a_reason(
    program: ProgramKernels, reference: ProgramKernels, why: str
) -> None:
    found, unknown = coverage_by_work(program, reference)
    assert found is None
    assert unknown is not None
    assert unknown.startswith("coverage is null: ")
    assert why in unknown


def test_launches_behind_too_much_text_have_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    program = kernels(1, launches=True)
    assert list(launches_work(program).values()) == [2 * 64]

    monkeypatch.setattr("programs.worker.launches_work._MOST_STEPS", 9)
    assert launches_work(program) == {}


def test_a_record_says_what_coverage_is_a_share_of() -> None:
    run = CaseOutcome(verdict=Verdict.PASSED, work=WorkShares(3.0, 1.0), is_compiled=True)
    program = with_run(JOB, run)

    assert (program.coverage, program.coverage_measure) == (0.75, "work")
    assert program.reward is not None
    assert program.reward.coverage == 0.75


def test_of_cases_it_is_that_of_all_work() -> None:
    shares = [WorkShares(1.0, 1.0), WorkShares(8.0, 0.0)]
    runs = [CaseOutcome(verdict=Verdict.PASSED, work=one, is_compiled=True) for one in shares]
    program = with_cases(JOB, ["small", "large"], runs)

    assert (program.coverage, program.coverage_measure) == (0.9, "work")
    assert program.cases is not None
    assert [one.coverage for one in program.cases] == [0.5, 1.0]
    assert [one.coverage_measure for one in program.cases] == ["work", "work"]


def test_the_work_of_a_kernel_with_a_long_ttir_is_not_counted(monkeypatch) -> None:
    program = kernels(1, launches=True)
    monkeypatch.setattr("programs.worker.launches_work._MOST_TTIR_CHARS", len(SCALES) - 1)

    assert list(launches_work(program).values()) == [None]
