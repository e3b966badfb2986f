"""A program and its reference that were compared on the GPU: what that is, and what comes of it."""

from dataclasses import replace

import pytest

from launch.request.tolerance import default_tolerance
from launch.request.verdict import RunEnding
from programs.program_request import ToleranceRequest
from programs.tape.read_tape import read_tape
from programs.tape.schema import tensors_of
from tests.unit.programs.recorded import sent, vector_add
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LaunchOutcome
from worker.programs.gpu.device_outcome import both_of
from worker.programs.gpu.replay_beside import is_too_large, tolerances_of
from worker.programs.program_comparison import compare, judged

pytestmark = pytest.mark.unit

REPORT = {
    "ending": "finished", "findings": [], "peak_bytes": 1, "restrided": 0, "deterministic": None,
    "parameters": [],
}  # fmt: skip
SUMMARY = {"shape": [1024], "dtype": "fp32", "min": 0.0, "max": 1.0, "mean": 0.5, "nan": 0,
           "inf": 0, "unwritten": 0}  # fmt: skip


TIMING = {
    "median_us": 10.0, "mean_us": 10.0, "min_us": 9.0, "p20_us": 9.5, "p80_us": 10.5, "std_us": 0.5,
    "repeats": 20, "noisy": False,
}  # fmt: skip


def tape(elements=1024, dtype="fp32"):
    """Return the tape of `add(x, y)` on so many elements."""
    told = vector_add()
    size = elements * {"fp32": 4, "fp16": 2}[dtype]
    told["tensors"] = [[dtype, "cuda", [elements], [1], 0, storage] for storage in range(6)]
    told["storages"] = [size] * 6
    return read_tape(sent(told))


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

    assert tolerances_of(tape(), tape(), None) == {0: default}
    assert tolerances_of(tape(), tape(2048), None) == {}
    assert tolerances_of(tape(), tape(dtype="fp16"), None) == {}
    asked = tolerances_of(tape(), tape(), ToleranceRequest(rtol=0.5, atol=None))[0]
    assert (asked.rtol, asked.atol) == (0.5, default.atol)


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


def test_timed_runs_that_differ_and_cannot_be_compared_are_no_time():
    same = TIMING | {"checked_repeats": 20, "differing_repeats": 0}
    ours, _ = both(timing=same, method="graph")
    assert (ours.times.timing.median_us, ours.untimed) == (10.0, "")

    ours, _ = both(timing=same | {"differing_repeats": 3}, method="graph")
    assert ours.times is None
    assert ours.untimed.startswith("3 of 20 timed runs returned something else")


def test_an_output_that_was_compared_nowhere_is_not_passed_over():
    ours, _ = both({"0:0": numbers()})

    assert ours.problem.slug == "invalid_argument"
    assert "Output 0 is too large to be sent" in ours.problem.detail


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


def test_an_input_that_both_change_and_nobody_compares_is_not_passed_over():
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


async def test_a_fault_of_the_reference_is_none_of_the_programs():
    fault = {"kind": "illegal_access", "message": "m", "op": 1, "program": "reference"}
    ours, theirs = both_of(LaunchOutcome(LaunchEnding.FAULT, fault=fault), tape(), tape(), 60.0)

    assert ours.ending is RunEnding.FINISHED
    assert theirs.findings[0].line == 20
    assert (await verdict(ours, theirs))[0] == "invalid_reference"


async def test_a_reference_that_has_too_little_memory_is_none_of_the_programs():
    failure = {"slug": "out_of_memory", "message": "m", "program": "reference"}
    outcome = LaunchOutcome(LaunchEnding.FAILURE, failure=failure)
    ours, theirs = both_of(outcome, tape(), tape(), 60.0)

    assert (ours.ending, ours.findings) == (RunEnding.FINISHED, [])
    assert [one.kind for one in theirs.findings] == ["out_of_memory"]
    assert (await verdict(ours, theirs))[0] == "invalid_reference"


def test_a_fault_of_the_program_is_its_own():
    fault = {"kind": "illegal_access", "message": "m", "op": 1}
    ours, theirs = both_of(LaunchOutcome(LaunchEnding.FAULT, fault=fault), tape(), tape(), 60.0)

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
