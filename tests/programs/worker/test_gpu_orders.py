"""Orders of a program to its launcher: kernels, and the kernel of each variant."""

from dataclasses import replace

import pytest

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.problem import failure_problem
from compiler.target import Target
from launch.request.launch_request import RepeatsRequest
from programs.gpu.program_order import ProgramOrder, ProgramTimingOrder
from programs.tape.read_tape import read_tape
from programs.worker.gpu.gpu_replay import (
    DeviceProgram,
    ReplayTurn,
    order_of,
    scalars_of,
    timing_order,
)
from programs.worker.kernel_compiles import BuiltKernel
from programs.worker.kernel_jobs import KernelUse
from programs.worker.program_kernels import ProgramKernels
from tests.programs.unit.recorded import sent, vector_add

pytestmark = pytest.mark.unit

TURN = ReplayTurn(
    seed=7, determinism=False, timing=None, caller="ada", is_batch=False, timeout_s=60
)
TUNED = [{"BLOCK": 256}, {"BLOCK": 128}, {"BLOCK": 1024}]


class Job:
    """Fakes a compile job: only its key matters here."""

    def __init__(self, key):
        self.key = key


class Compiled:
    """Fakes a succeeded compilation: only what a launch needs."""

    def __init__(self, key, *parameters):
        self.key, self.parameters, self.diagnostics = key, parameters, []
        metadata = {"name": key, "num_warps": 4, "shared": 0}
        self.abi = abi_of(Target("cuda", 90, 32), [], metadata)


def tuned_tape():
    """Return the tape of `add(x, y)` whose kernel has three configs."""
    tape = vector_add()
    for op in tape["ops"]:
        if op["op"] == "launch":
            op["variants"] = [
                {"grid": op["grid"], "constexprs": constants, "options": op["options"]}
                for constants in TUNED
            ]
    return read_tape(sent(tape))


def kernels_of(tape, problems):
    """Return the kernels of a tape's launches; a variant with a problem does not compile."""
    uses = [KernelUse("k0", Job(str(n))) for n in range(len(problems))]
    built = {
        str(n): BuiltKernel(Compiled(str(n)), cubin=None if problem else b"%d" % n, problem=problem)
        for n, problem in enumerate(problems)
    }
    variants = dict.fromkeys((1, 3), uses)
    first = dict.fromkeys((1, 3), uses[0])
    return ProgramKernels(tape, uses, built, first, variants)


def program_order(tape, kernels):
    return order_of(DeviceProgram(tape, b"{}", kernels, None, "candidate"), TURN, 1 << 30)


SHARED = failure_problem("out_of_resources", "too many registers")
STATIC = failure_problem("compile_error", "line 3: BLOCK > 64", reason="static_assert")
OTHER = failure_problem("compile_error", "line 3: static assertion failed, or so it says")


def test_each_launch_names_the_kernel_of_each_of_its_variants():
    tape = tuned_tape()
    order = program_order(tape, kernels_of(tape, [None, None, None]))

    assert order.launches == [["0", "1", "2"], ["0", "1", "2"]]
    assert [order.kernels[name].cubin for name in "012"] == [b"0", b"1", b"2"]
    assert ProgramOrder.from_frame(*order.to_frame()) == order


@pytest.mark.parametrize("problem", [SHARED, STATIC])
def test_a_variant_that_does_not_compile_is_left_out_as_triton_does(problem):
    tape = tuned_tape()
    kernels = kernels_of(tape, [problem, None, problem])

    assert kernels.problem("candidate") is None
    assert program_order(tape, kernels).launches == [["", "0", ""], ["", "0", ""]]
    assert "2 of its configurations did not compile" in kernels.left_out_warnings[0]


@pytest.mark.parametrize("problems", [[SHARED, SHARED, STATIC], [None, OTHER, None]])
def test_a_launch_that_triton_would_not_make_is_a_problem(problems):
    tape = tuned_tape()
    problem = kernels_of(tape, problems).problem("candidate")

    assert problem is not None
    assert "add_kernel" in problem.detail


def test_the_fastest_configuration_is_reported_with_what_it_alone_has():
    tape = tuned_tape()
    kernels = kernels_of(tape, [None, None, None])
    configurations = [one.configuration for one in kernels.answered_with({1: 2, 3: 2})]

    assert [one.number for one in configurations] == [0, 1, 2]
    assert [one.is_fastest for one in configurations] == [False, False, True]
    assert [one.constexprs for one in configurations] == TUNED
    assert [one.configuration.is_fastest for one in kernels.answered] == [None] * 3


def test_a_configuration_that_is_the_fastest_of_some_launch_is_among_the_fastest():
    kernels = kernels_of(tuned_tape(), [None, None, None])
    configurations = [one.configuration.is_fastest for one in kernels.answered_with({1: 0, 3: 1})]

    assert configurations == [True, True, False]


def test_what_is_passed_by_value_has_its_type_by_path():
    def parameter(name, kind, role="runtime"):
        return Parameter(name=name, type=kind, role=role, hints=[], value=None)

    compiled = Compiled(
        "k",
        parameter("x", "*fp32"),
        parameter("n", "i64"),
        parameter("pair", ["fp16", "*i32", ["u8", {"constexpr": 3}]]),
        parameter("block", "tensordesc<fp16[16, 16]>"),
        parameter("BLOCK", None, role="constexpr"),
    )

    assert scalars_of(compiled) == {"n": "i64", "pair.0": "fp16", "pair.2.0": "u8"}


def test_programs_are_timed_unless_they_say_how():
    asked = RepeatsRequest(max_repeats=5, max_ms=20)

    assert timing_order(None) == ProgramTimingOrder()
    expected = replace(ProgramTimingOrder(), min_repeats=5, max_repeats=5, max_ms=20.0)
    assert timing_order(asked) == expected
