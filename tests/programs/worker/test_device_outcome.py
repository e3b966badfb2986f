"""Outcomes of a program on a GPU from its launcher's report: `add(x, y)` of 1,024 elements."""

import struct
from dataclasses import asdict

import pytest

from launch.messages import Finding
from launch.request.verdict import RunEnding
from programs.tape.read_tape import read_tape
from programs.worker.gpu.device_outcome import replayed_of
from tests.programs.unit.recorded import sent, vector_add
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LaunchOutcome
from worker.launch.gpu.iteration_findings import of_module

pytestmark = pytest.mark.unit

TAPE = read_tape(sent(vector_add()))
FIRST, SECOND = (struct.pack("<1024f", *[value] * 1024) for value in (1.0, 2.0))
BOTH = {"0:0": FIRST, "1:0": SECOND}
REPORT = {
    "ending": "finished", "findings": [], "peak_bytes": 12288,
    "deterministic": None, "parameters": [],
}  # fmt: skip
TIMING = {
    "median_us": 10.0, "mean_us": 10.0, "min_us": 9.0, "p20_us": 9.5, "p80_us": 10.5, "std_us": 0.5,
    "repeats": 20, "noisy": False,
}  # fmt: skip
FINDING = asdict(Finding(kind="out_of_bounds", message="m"))


def of(outcome):
    return replayed_of(outcome, TAPE, "candidate", 60.0)


def finished(outputs=BOTH, **report):
    return of(LaunchOutcome(LaunchEnding.OK, result={**REPORT, **report}, outputs=outputs))


def test_both_calls_and_what_a_call_left_in_its_inputs_are_by_path():
    replayed = finished({**BOTH, "input:1:0": FIRST})

    assert replayed.is_whole
    assert replayed.calls[0]["0"].data == FIRST
    assert replayed.calls[1]["0"].data == SECOND
    assert replayed.calls[1]["inputs[0]"].data == FIRST
    assert "inputs[0]" not in replayed.calls[0]


def test_unwritten_elements_are_reported_with_their_output():
    bits = b"\x80" + b"\0" * 127
    outcome = LaunchOutcome(LaunchEnding.OK, result=REPORT, outputs=BOTH, unwritten={"0:0": bits})

    assert of(outcome).calls[0]["0"].unwritten == bits


def test_times_and_the_fastest_variants_are_read():
    entries = [{"op": 0, "us": 1.0}, {"op": 1, "us": 9.0}]
    replayed = finished(timing=TIMING, entries=entries, method="graph", variants={"1": 2})

    assert replayed.times.timing.median_us == 10.0
    assert replayed.times.coverage == 0.9
    assert replayed.variants == {1: 2}


def test_why_a_program_has_no_time_is_said_and_no_longer_than_it_is_read():
    assert finished(timing=None, timing_note="It draws.").untimed == "It draws."
    assert len(finished(timing=None, timing_note="x" * 9000).untimed) == 2000
    assert finished(timing=TIMING, method="graph").untimed == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"outputs": {"0:0": FIRST}},
        {"outputs": {"0:0": FIRST, "1:0": SECOND[:-4]}},
        {"outputs": {**BOTH, "one:0": FIRST}},
        {"outputs": {**BOTH, "0:٣": FIRST}},
        {"ending": "perfect"},
        {"findings": [FINDING | {"file": "f" * 1025}]},
        {"findings": [FINDING | {"line": 1 << 64}]},
        {"findings": [FINDING | {"index": [0] * 65}]},
        {"findings": [FINDING] * 65},
        {"peak_bytes": -1},
        {"parameters": ["0" * 65]},
        {"timing": {"median_us": "fast"}},
        {"timing": TIMING, "entries": [{"op": 99, "us": 1.0}]},
        {"timing": TIMING, "entries": [{"op": 0, "us": float("nan")}]},
        {"timing": TIMING, "entries": [{"op": 0, "us": 1.0}, {"op": 0, "us": 2.0}]},
        {"timing": TIMING, "entries": 7},
        {"timing": [TIMING]},
        {"timing": TIMING, "entries": [{"op": 0, "us": 10**400}]},
        {"variants": {"²": 0}},
        {"variants": {"1" * 5000: 0}},
    ],
)
def test_what_no_launcher_says_is_not_believed(wrong):
    replayed = finished(**wrong)

    assert replayed.ending is RunEnding.NOT_RUN
    assert replayed.problem.slug == "replay_crashed"
    assert replayed.calls == []


def test_a_finding_of_a_launcher_is_read_and_a_long_message_clipped():
    reported = {"message": "x" * 100_000, "index": [0] * 64}
    (finding,) = finished(findings=[FINDING | reported], ending="crashed").findings

    assert (finding.kind, finding.index) == ("out_of_bounds", [0] * 64)
    assert len(finding.message) < 10_000


def test_a_fault_is_at_the_line_of_the_launch_that_was_under_way():
    fault = {
        "kind": "illegal_access",
        "error": "CUDA_ERROR_ILLEGAL_ADDRESS",
        "message": "m",
        "op": 1,
    }
    replayed = of(LaunchOutcome(LaunchEnding.FAULT, fault=fault))

    (finding,) = replayed.findings
    assert replayed.ending is RunEnding.FAULT
    assert (finding.kind, finding.file, finding.line) == ("illegal_access", "user.py", 20)


def test_a_fault_that_is_nowhere_has_no_line():
    fault = {"kind": "misaligned_access", "error": None, "message": "m", "op": None}
    (finding,) = of(LaunchOutcome(LaunchEnding.FAULT, fault=fault)).findings

    assert (finding.kind, finding.line) == ("misaligned_access", None)


def test_the_op_that_a_lost_launcher_began_last_is_named():
    outcome = LaunchOutcome(
        LaunchEnding.SIGNAL, "killed by signal 11", stages=("run", "op-0", "op-2")
    )
    (finding,) = of(outcome).findings

    assert (finding.kind, finding.line) == ("crashed", 18)
    assert "aten.empty_like.default" in finding.message


@pytest.mark.parametrize(
    ("slug", "ending", "problem"),
    [
        ("out_of_memory", RunEnding.OUT_OF_MEMORY, None),
        ("forged_tape", RunEnding.NOT_RUN, "invalid_tape"),
        ("unsupported_op", RunEnding.NOT_RUN, "not_recordable"),
        ("malformed_job", RunEnding.NOT_RUN, "invalid_argument"),
        ("device_error", RunEnding.NOT_RUN, "worker_lost"),
        ("module_not_loadable", RunEnding.NOT_RUN, "worker_lost"),
    ],
)
def test_what_a_launcher_could_not_do_has_a_name(slug, ending, problem):
    failure = {"slug": slug, "message": "why"}
    replayed = of(LaunchOutcome(LaunchEnding.FAILURE, failure=failure))

    assert replayed.ending is ending
    assert (None if replayed.problem is None else replayed.problem.slug) == problem


def test_a_replay_that_does_not_end_is_a_timeout_with_its_limit():
    replayed = of(LaunchOutcome(LaunchEnding.DEADLINE))

    assert replayed.ending is RunEnding.TIMEOUT
    assert "60 s" in replayed.findings[0].message


def test_what_modules_of_kernels_could_keep_is_reported():
    variable = {"name": "seen", "size_bytes": 4, "changed": True}
    state = {"problem": None, "variables": [variable], "unnamed_bytes": 0, "uses_heap": False}
    (kept,) = finished(module_state={"0": state}).module_states

    (finding,) = of_module(kept, {"user.py": "x = 1\nseen = 2\n"})
    assert (finding.kind, finding.file, finding.line) == ("state_kept", "user.py", 2)


def test_memory_that_a_call_changed_without_an_op_is_reported():
    (finding,) = finished(changed_storages=[TAPE.tensors[TAPE.inputs[0].id].storage]).kept

    assert finding.kind == "state_kept"
    assert "inputs[0]" in finding.message


def test_a_changed_storage_that_the_tape_does_not_have_is_misreported():
    assert finished(changed_storages=[999]).problem.slug == "replay_crashed"


def in_turns(**report):
    result = {**REPORT, "timing": TIMING, "method": "graph", **report}
    outcome = LaunchOutcome(LaunchEnding.OK, result=result, outputs=BOTH)
    return replayed_of(outcome, TAPE, "candidate", 60.0, TAPE)


def test_the_times_of_a_reference_are_those_of_the_same_turns():
    replayed = in_turns(turns={"timing": {**TIMING, "median_us": 30.0}, "method": "events"})

    assert replayed.times.timing.median_us == 10.0
    assert replayed.reference_times.timing.median_us == 30.0
    assert replayed.reference_times.timing.method == "events"


def test_a_reference_without_times_has_the_note_of_its_program():
    replayed = in_turns(timing=None, timing_note="Its reference cannot run.")

    assert (replayed.times, replayed.reference_times) == (None, None)
    assert replayed.untimed == replayed.reference_untimed == "Its reference cannot run."


def test_a_turn_that_does_not_match_the_reference_is_a_mismatch_of_its_output():
    turn = {"repeat": 3, "call": 1, "outputs": [0]}
    replayed = in_turns(turns={"timing": TIMING}, wrong_turns=[turn])

    (finding,) = replayed.wrong_turns
    assert (finding.kind, finding.argument) == ("mismatch", "0")
    assert "Timed run 3" in finding.message


@pytest.mark.parametrize(
    "said",
    [
        {"turns": [1]},
        {"turns": {"timing": {"median_us": "fast"}}},
        {"wrong_turns": [{"repeat": 3, "call": 1, "outputs": [7]}]},
        {"wrong_turns": [{"repeat": 3, "call": 2, "outputs": [0]}]},
        {"changed_storages": [-1]},
    ],
)
def test_turns_that_no_launcher_reports_are_misreported(said):
    assert in_turns(**said).problem.slug == "replay_crashed"
