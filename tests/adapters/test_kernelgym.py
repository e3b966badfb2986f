"""KernelGYM's tasks become programs, and answers become its results."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.evaluators.kernelgym_result import (
    KernelGymResult,
    result_of,
    status_answer,
    status_of,
)
from adapters.evaluators.kernelgym_routes import fitting
from adapters.evaluators.kernelgym_task import (
    EXAMPLE,
    KernelGymTask,
    not_applied,
    program_of,
    refuse_other_work,
)
from compiler.rejection import RequestRejected
from programs.program_job import program_problem
from programs.program_request import ProgramRequest
from service.http.answer_parts import AnswerRoom


def task(**changed: Any) -> KernelGymTask:
    return KernelGymTask.model_validate(EXAMPLE | changed)


def program(**changed: Any) -> dict[str, Any]:
    """Return an answer of /v1/programs that passed, with these changes."""
    passed = {
        "id": "p1",
        "url": "/v1/programs/p1",
        "state": "completed",
        "verdict": "passed",
        "queue_position": None,
        "flags": [],
        "findings": [],
        "outputs": {},
        "kernels": [{"name": "add_kernel", "file": "user.py", "line": 5, "problem": None}],
        "reward": {
            "compiled": True,
            "correct": True,
            "speedup": None,
            "coverage": None,
            "flags": [],
            "serious": [],
        },
        "problem": None,
    }
    return passed | changed


def rewarded(
    *flags: str, compiled: bool = True, correct: bool = False, serious: tuple[str, ...] = ()
) -> dict[str, Any]:
    numbers = {"speedup": None, "coverage": None}
    kinds = {"flags": [*flags, *serious], "serious": [*serious]}
    return {"compiled": compiled, "correct": correct, **kinds, **numbers}


def timed(**changed: Any) -> dict[str, Any]:
    """Return an answer of a program that passed on a GPU, twice as fast as its reference."""
    return program(
        device={"target": "cuda:90", "model": "NVIDIA H200", "interpreter": False},
        timing={"median_us": 16.688},
        reference={"timing": {"median_us": 25.0}},
        reward=rewarded(correct=True) | {"speedup": 2.0, "coverage": 0.9},
    ) | dict(changed)


def failed(slug: str, **members: Any) -> dict[str, Any]:
    about = members.pop("program", "candidate")
    problem = program_problem(slug, "it raised ValueError: no", program=about).model_dump()
    reward = rewarded(compiled=False)
    return program(state="failed", verdict=None, reward=reward, problem=problem | members)


def test_a_task_is_a_program_with_kernelbenchs_classes_and_tolerances() -> None:
    body = program_of(task(entry_point="Net", timeout=90, priority="low"), on_gpu=False)
    assert body["entry"] == {"kind": "model", "class": "NetNew"}
    assert body["reference"]["entry"] == {"kind": "model", "class": "Net"}
    assert body["tolerance"] == {"rtol": 1e-2, "atol": 1e-2}
    assert (body["timeout_s"], body["priority"]) == (90, "batch")
    assert "seed" not in body, "a secret one is drawn where the task has none"
    assert program_of(task(seed=7), on_gpu=False)["seed"] == 7
    assert (body["device"], body["timing"]) == ("cpu", None)


@pytest.mark.parametrize(("calls", "trials"), [(1, 1), (2, 1), (5, 3), (20, 10)])
def test_so_many_correct_trials_are_calls_on_values_of_their_own(calls: int, trials: int) -> None:
    body = program_of(task(num_correct_trials=calls), on_gpu=False)
    assert body["trials"] == trials
    assert ProgramRequest.model_validate(body).trials == trials


def test_where_programs_run_on_a_gpu_its_trials_are_timed() -> None:
    sent = task(num_perf_trials=30, num_warmup=5, run_performance=True, device_preference="cuda:1")
    refuse_other_work(sent, on_gpu=True)
    body = program_of(sent, on_gpu=True)
    assert body["device"] == "auto"
    assert (body["timing"]["warmup_repeats"], body["timing"]["min_repeats"]) == (5, 30)
    assert body["timing"]["max_repeats"] == 30
    assert not_applied(sent, on_gpu=True).keys() == {"device_preference"}
    untimed = not_applied(task(run_performance=False), on_gpu=True)
    assert untimed["run_performance"] == "programs on a GPU are always timed"


def test_a_program_that_was_timed_has_runtimes_in_milliseconds() -> None:
    result = result_of("t1", timed(), {})
    assert (result.kernel_runtime, result.reference_runtime) == (0.016688, 0.025)
    assert result.speedup == 2.0
    assert result.metadata is not None
    assert (result.metadata["device"], result.metadata["coverage"]) == ("NVIDIA H200", 0.9)
    running = status_answer("t1", timed(state="running", verdict=None))
    assert running.assigned_device == "NVIDIA H200"


def test_a_wrong_program_has_no_speedup() -> None:
    wrong = timed(verdict="mismatch", reward=rewarded())
    result = result_of("t1", wrong, {})
    assert (result.speedup, result.kernel_runtime, result.reference_runtime) == (None, None, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("backend", "cuda"),
        ("toolkit", "kernel_simple"),
        ("workflow", "kernel_simple"),
        ("cases_code", "def get_cases(): return []"),
        ("cases", [1]),
        ("reference_code", None),
        ("resources", {"gpus": 2}),
        ("run_correctness", False),
        ("measure_performance", True),
        ("run_performance", True),
    ],
)
def test_what_would_be_another_evaluation_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(RequestRejected) as refused:
        refuse_other_work(task(**{field: value}), on_gpu=False)
    assert [error.pointer for error in refused.value.errors] == [f"/{field}"]


def test_fields_without_effect_are_returned() -> None:
    sent = task(num_perf_trials=100, enable_profiling=True, is_valid=None, timeout=3600)
    assert not_applied(sent, on_gpu=False).keys() == {
        "num_perf_trials",
        "enable_profiling",
        "timeout",
    }


def test_a_program_that_passed_is_correct_and_nothing_is_said_of_times() -> None:
    result = result_of("t1", program(), {"num_perf_trials": "why"}, "2026-11-22T00:00:00+00:00")
    assert (result.status, result.compiled, result.correctness) == ("completed", True, True)
    assert (result.speedup, result.kernel_runtime, result.reference_runtime) == (None, None, None)
    assert (result.decoy_kernel, result.error_message) == (False, None)
    assert result.metadata is not None
    assert result.metadata["not_applied"] == {"num_perf_trials": "why"}


def test_a_mismatch_is_a_correctness_error_with_its_line() -> None:
    finding = {"kind": "mismatch", "message": "3 of 64 elements", "file": "user.py", "line": 9}
    wrong = program(verdict="mismatch", findings=[finding], reward=rewarded())
    result = result_of("t1", wrong, {})
    assert (result.status, result.compiled, result.correctness) == ("completed", True, False)
    assert result.error_code == "CORRECTNESS_ERROR"
    assert result.error_message == "verdict: mismatch\nuser.py:9: mismatch: 3 of 64 elements"


def test_a_mismatch_says_by_how_much_and_where_first() -> None:
    first = {"index": [0, 3], "actual": 1.5, "expected": "NaN"}
    comparison = {"matches": False, "mismatched": 12, "first_mismatch": first}
    outputs = {"0": {"comparison": {"matches": True}}, "1": {"comparison": comparison}}
    wrong = program(
        verdict="mismatch", outputs=outputs, reward=rewarded(), timings_ms={"run": 1234.5}
    )
    result = result_of("t1", wrong, {})
    assert result.error_message == (
        "verdict: mismatch\noutput 1: 12 elements differ; first at [0, 3]: 1.5, expected NaN"
    )
    assert result.processing_time == 1.234


def test_a_program_without_a_kernel_is_a_decoy_though_it_is_right() -> None:
    flag = {"kind": "no_kernel", "message": "it launches none", "file": None, "line": None}
    result = result_of("t1", program(flags=[flag], reward=rewarded("no_kernel")), {})
    assert (result.correctness, result.decoy_kernel) == (False, True)
    assert "no_kernel" in (result.error_message or "")


@pytest.mark.parametrize("kind", ["torch_did_the_work", "cached_result", "state_kept"])
def test_a_program_whose_result_no_kernel_of_the_call_makes_is_a_decoy(kind: str) -> None:
    result = result_of("t1", program(reward=rewarded(serious=(kind,))), {})
    assert (result.correctness, result.decoy_kernel) == (False, True)
    assert result.error_message == f"verdict: passed, but incorrect by its flags: {kind}"


def test_a_decoy_that_the_operator_allows_is_none() -> None:
    allowed = program(reward=rewarded("torch_did_the_work", correct=True))
    assert result_of("t1", allowed, {}).decoy_kernel is False


def test_a_kernel_that_does_not_compile_is_a_compilation_error() -> None:
    why = {"detail": "module 'triton.language' has no attribute 'arnge'"}
    kernel = {"name": "k", "file": "user.py", "line": 5, "problem": why}
    broken = program(verdict="not_checked", kernels=[kernel], reward=rewarded(compiled=False))
    result = result_of("t1", broken, {})
    assert (result.status, result.compiled, result.error_code) == (
        "completed",
        False,
        "COMPILATION_ERROR",
    )
    assert "user.py:5: kernel k does not compile: module" in (result.error_message or "")


@pytest.mark.parametrize(
    ("answer", "status", "error_code"),
    [
        (failed("not_recordable", reason="program_error"), "completed", "RUNTIME_ERROR"),
        (failed("not_recordable", reason="no_entry"), "completed", "COMPILATION_ERROR"),
        (failed("not_recordable", reason="data_pointer"), "completed", "COMPILATION_ERROR"),
        (failed("not_recordable", reason="value_dependent"), "completed", "COMPILATION_ERROR"),
        (failed("syntax_error"), "completed", "COMPILATION_ERROR"),
        (failed("missing_module"), "completed", "COMPILATION_ERROR"),
        (failed("compile_error"), "completed", "COMPILATION_ERROR"),
        (failed("out_of_resources"), "completed", "COMPILATION_ERROR"),
        (failed("extra_argument"), "completed", "COMPILATION_ERROR"),
        (failed("syntax_error", program="reference"), "failed", "SYSTEM_ERROR"),
        (failed("needs_gpu"), "failed", "SYSTEM_ERROR"),
        (
            failed("not_recordable", reason="program_error", program="reference"),
            "failed",
            "SYSTEM_ERROR",
        ),
        (failed("record_timeout"), "timeout", "TIMEOUT_ERROR"),
        (failed("worker_lost"), "failed", "SYSTEM_ERROR"),
    ],
)
def test_a_candidate_is_charged_with_its_own_faults_only(
    answer: dict[str, Any], status: str, error_code: str
) -> None:
    result = result_of("t1", answer, {})
    assert (result.status, result.error_code) == (status, error_code)
    assert result.correctness is False


def test_a_finished_task_says_when_it_ended() -> None:
    submitted = "2026-11-22T00:00:00+00:00"
    timed_ms = result_of("t1", program(timings_ms={"total": 1500.0}), {}, submitted)
    assert timed_ms.completed_at == "2026-11-22T00:00:01.500000+00:00"
    assert result_of("t1", failed("worker_lost"), {}, submitted).completed_at is not None
    assert result_of("t1", program(state="running"), {}, submitted).completed_at is None


def test_statuses_are_kernelgyms() -> None:
    states = ("queued", "running", "completed", "cancelled")
    reported = [status_of(program(state=state)) for state in states]
    assert reported == ["pending", "processing", "completed", "cancelled"]
    queued = status_answer("t1", program(state="queued", queue_position=3, verdict=None))
    assert (queued.queue_position, queued.error_message) == (3, None)
    lost = status_answer("t1", failed("worker_lost"))
    assert (lost.status, lost.error_message) == ("failed", "worker_lost: it raised ValueError: no")


def test_a_batch_keeps_the_verdicts_of_results_that_do_not_fit():
    long = KernelGymResult(
        task_id="t", status="completed", correctness=True, error_message="x" * 99
    )
    room = AnswerRoom(len(long.model_dump_json()))

    assert fitting(long, room) is long
    short = fitting(long, room)
    assert (short.status, short.correctness, short.metadata) == ("completed", True, None)
    assert short.error_message == "this batch has no room for more; GET /results/t has it"


@pytest.mark.parametrize(
    "answer",
    [
        failed("syntax_error", program="reference") | {"reward": None},
        program(verdict="invalid_reference", reward=None),
    ],
    ids=["not recorded", "failed in its run"],
)
def test_a_program_that_its_reference_left_unjudged_has_no_result(answer: dict[str, Any]) -> None:
    result = result_of("t1", answer, {})
    assert (result.status, result.error_code) == ("failed", "SYSTEM_ERROR")
    assert (result.compiled, result.correctness, result.decoy_kernel) == (None, None, None)


def test_a_problem_of_the_reference_is_not_placed_in_the_candidate() -> None:
    answer = failed("syntax_error", program="reference", file="user.py", line=5)
    message = result_of("t1", answer, {}).error_message
    assert message is not None
    assert message.startswith("reference.py:5: the reference failed: syntax_error: ")
