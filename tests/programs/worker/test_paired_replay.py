"""Results of a program and its reference that the GPU compared."""

from dataclasses import replace

import pytest

from launch.request.tolerance import default_tolerance
from launch.request.verdict import RunEnding
from programs.gpu.program_order import COMPARE
from programs.program_request import ToleranceRequest
from programs.tape.read_tape import read_tape
from programs.tape.schema import tensors_of
from programs.worker.gpu.device_outcome import both_of
from programs.worker.gpu.program_replays import is_too_large, tolerances_of
from programs.worker.output_tolerances import OutputTolerances, Rounding
from programs.worker.program_comparison import compare, judged
from tests.programs.unit.recorded import sent, vector_add
from worker.gpu.launcher.launcher_order import BESIDE
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LaunchOutcome

pytestmark = pytest.mark.unit

REPORT = {
    "ending": "finished", "findings": [], "peak_bytes": 1,  "deterministic": None,
    "parameters": [],
}  # fmt: skip
SUMMARY = {"shape": [1024], "dtype": "fp32", "min": 0.0, "max": 1.0, "mean": 0.5, "nan": 0,
           "inf": 0, "unwritten": 0}  # fmt: skip


TIMING = {
    "median_us": 10.0, "mean_us": 10.0, "min_us": 9.0, "p20_us": 9.5, "p80_us": 10.5, "std_us": 0.5,
    "repeats": 20, "noisy": False,
}  # fmt: skip


def tape(elements=1024, dtype="fp32"):
    """Return the tape of `add(x, y)` on this many elements."""
    reported = vector_add()
    size = elements * {"fp32": 4, "fp16": 2}[dtype]
    reported["tensors"] = [[dtype, "cuda", [elements], [1], 0, storage] for storage in range(6)]
    reported["storages"] = [size] * 6
    return read_tape(sent(reported))


def numbers(mismatched=0):
    comparison = {
        "matches": not mismatched, "max_abs_error": 0.0, "max_rel_error": 0.0, "compared": 1024,
        "mismatched": mismatched, "nonfinite_mismatched": 0,
    }  # fmt: skip
    return {"summary": SUMMARY, "comparison": comparison}


def both(outputs=None, reference=REPORT, **report):
    outputs = {"0:0": numbers(), "1:0": numbers()} if outputs is None else outputs
    compared = {"outputs": outputs, "reference": reference}
    result = {**REPORT, "compared": compared, **report}
    return both_of(LaunchOutcome(LaunchEnding.OK, result=result), tape(), tape(), 60.0)


async def verdict(ours, theirs):
    pool = None  # nothing was sent, so no child compares
    believed = theirs if theirs.is_whole else None
    compared = await compare(pool, ours, believed)
    return str(judged(ours, theirs, compared)), compared


def test_outputs_are_too_large_from_a_size_on():
    assert not is_too_large(tape(32 << 20))  # twice 128 MiB
    assert is_too_large(tape((32 << 20) + 1))


def test_outputs_are_compared_with_those_of_their_place_shape_and_type():
    default = default_tolerance("fp32")

    assert tolerances_of(tape(), tape(), OutputTolerances()) == {0: default}
    assert tolerances_of(tape(), tape(2048), OutputTolerances()) == {}
    assert tolerances_of(tape(), tape(dtype="fp16"), OutputTolerances()) == {}
    wide = OutputTolerances(ToleranceRequest(rtol=0.5, atol=None))
    asked = tolerances_of(tape(), tape(), wide)[0]
    assert (asked.rtol, asked.atol) == (0.5, default.atol)
    rounded = OutputTolerances(None, {"0": Rounding("fp16", None)})
    assert tolerances_of(tape(), tape(), rounded) == {0: default_tolerance("fp16")}


async def test_a_program_that_matches_has_passed():
    ours, theirs = both()
    found, compared = await verdict(ours, theirs)

    assert found == "passed"
    assert compared.outputs["0"].summary.max == 1.0
    assert compared.outputs["0"].comparison.rtol == default_tolerance("fp32").rtol


async def test_a_program_that_is_wrong_in_its_second_call_is_a_mismatch():
    ours, theirs = both({"0:0": numbers(), "1:0": numbers(mismatched=3)})
    found, compared = await verdict(ours, theirs)

    assert found == "mismatch"
    assert compared.outputs["0"].comparison.mismatched == 3


async def test_a_program_that_returns_less_than_its_reference_is_a_mismatch():
    result = {**REPORT, "compared": {"outputs": {}, "reference": REPORT}}
    outcome = LaunchOutcome(LaunchEnding.OK, result=result)
    ours, theirs = both_of(outcome, tape(), tape(2048), 60.0)
    found, compared = await verdict(ours, theirs)

    assert found == "mismatch"
    assert {one.kind for one in compared.findings} == {"wrong_shape"}


def test_timed_runs_that_differ_and_cannot_be_compared_are_no_time():
    same = TIMING | {"checked_repeats": 20, "differing_repeats": 0}
    ours, _ = both(timing=same, method="graph")
    assert (ours.times.timing.median_us, ours.untimed) == (10.0, "")

    ours, _ = both(timing=same | {"differing_repeats": 3}, method="graph")
    assert ours.times is None
    assert ours.untimed.startswith("3 of 20 timed runs returned other outputs")


def test_an_output_that_was_compared_nowhere_is_not_passed_over():
    ours, _ = both({"0:0": numbers()})

    assert ours.problem.slug == "invalid_argument"
    assert "Output 0 is too large to leave the GPU" in ours.problem.detail


def both_change_the_input(changed):
    result = {
        **REPORT,
        "compared": {
            "outputs": {"0:0": numbers(), "1:0": numbers()},
            "reference": {**REPORT, "inputs_left": ["0:0"]},
        },
    }
    outcome = LaunchOutcome(LaunchEnding.OK, result=result, outputs={"input:0:0": bytes(4096)})
    return both_of(outcome, changed, tape(), 60.0)


def test_an_input_that_both_change_without_a_comparison_is_refused():
    ours, _ = both_change_the_input(tape())

    assert ours.problem.slug == "invalid_argument"
    assert "change inputs[0] in place" in ours.problem.detail


async def test_an_input_that_both_change_and_return_is_compared_as_that():
    returning = tape()
    (given,), returned = returning.inputs[:1], returning.outputs
    at = returning.tensors[tensors_of(given)[0]].storage
    (id_,) = tensors_of(returned)
    tensors = list(returning.tensors)
    tensors[id_] = replace(tensors[id_], storage=at)
    ours, theirs = both_change_the_input(replace(returning, tensors=tuple(tensors)))

    assert (await verdict(ours, theirs))[0] == "passed"


BEGUN = ("run", BESIDE, "run")
FAULT = {"kind": "illegal_access", "message": "m", "op": 1}


def ended(ending, stages=BEGUN, **more):
    """Return the results of both after an order that ended like this."""
    return both_of(LaunchOutcome(ending, stages=stages, **more), tape(), tape(), 60.0)


@pytest.mark.parametrize(
    ("ending", "more", "kind"),
    [
        (LaunchEnding.FAULT, {"fault": FAULT}, "illegal_access"),
        (LaunchEnding.DEADLINE, {}, "timeout"),
        (LaunchEnding.SIGNAL, {"detail": "killed by signal 11"}, "crashed"),
        (LaunchEnding.SILENT, {"detail": "exit status 1"}, "crashed"),
        (LaunchEnding.GARBAGE, {"detail": "no frame"}, "crashed"),
        (LaunchEnding.FAILURE, {"failure": {"slug": "out_of_memory", "message": "m"}},
         "out_of_memory"),
    ],
)  # fmt: skip
async def test_what_ends_a_reference_is_no_fault_of_the_program(ending, more, kind):
    ours, theirs = ended(ending, **more)

    assert (ours.ending, ours.findings, ours.problem) == (RunEnding.FINISHED, [], None)
    assert [one.kind for one in theirs.findings] == [kind]
    assert (await verdict(ours, theirs))[0] == "invalid_reference"


@pytest.mark.parametrize("slug", ["forged_tape", "unsupported_op", "device_error"])
def test_a_reference_that_cannot_run_has_its_own_problem(slug):
    ours, theirs = ended(LaunchEnding.FAILURE, failure={"slug": slug, "message": "m"})

    assert ours.problem is None
    assert theirs.problem.program == "reference"


def test_a_reference_faults_at_its_own_line():
    _, theirs = ended(LaunchEnding.FAULT, fault=FAULT)

    assert theirs.findings[0].line == 20


def test_a_reference_crashes_at_the_op_that_it_began_last():
    stages = ("op-1", "op-3", BESIDE, "op-0", "op-2")
    _, theirs = ended(LaunchEnding.SIGNAL, stages)

    assert "aten.empty_like.default" in theirs.findings[0].message


@pytest.mark.parametrize(
    ("ending", "more", "slug"),
    [
        (
            LaunchEnding.FAILURE,
            {"failure": {"slug": "out_of_memory", "message": "8 GiB"}},
            "invalid_argument",
        ),
        (LaunchEnding.DEADLINE, {"detail": "8 GiB"}, "worker_lost"),
    ],
)
def test_what_ends_a_comparison_is_no_fault_of_either_program(ending, more, slug):
    ours, theirs = ended(ending, (*BEGUN, COMPARE), **more)

    assert (ours.problem.slug, ours.problem.program) == (slug, None)
    assert "8 GiB" in ours.problem.detail
    assert theirs.findings == []


@pytest.mark.parametrize("ending", [LaunchEnding.DEADLINE, LaunchEnding.SIGNAL])
def test_what_ends_a_program_before_its_reference_began_is_its_own(ending):
    ours, theirs = ended(ending, ("run", "timing"))

    assert len(ours.findings) == 1
    assert theirs.findings == []


def test_a_fault_of_the_program_is_its_own():
    ours, theirs = ended(LaunchEnding.FAULT, ("run",), fault=FAULT)

    assert ours.ending is RunEnding.FAULT
    assert theirs.findings == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"outputs": {"zero": numbers()}},
        {"outputs": {"0:0": {"summary": "all", "comparison": None}}},
        {"reference": {}},
        {"compared": None},
    ],
)
def test_what_no_launcher_says_of_both_is_not_believed(wrong):
    ours, _ = both(**wrong)

    assert ours.problem.slug == "replay_crashed"
