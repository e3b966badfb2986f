"""Programs from Python.

A script ends them here; nothing is recorded.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from tritonc import AsyncClient, Client, Program, ProgramFailed, WaitExpired, program_request

from compiler.diagnostic import Diagnostic
from compiler.problem import failure_problem
from launch.messages import Finding
from launch.request.verdict import Verdict
from programs.flag_kinds import FlagKind
from programs.program_job import program_problem
from programs.program_record import ProgramCaseResult, Reward
from tests.integration.service.running import Deployment
from tests.programs.service.conftest import TIMED, ScriptedRecorder
from tests.programs.service.ended_programs import (
    KERNEL,
    NOT_RECORDABLE,
    PASSED,
    REFERENCE,
    SOURCE,
    TIMES,
    WRONG,
    Ends,
)


def test_a_program_comes_back_with_its_verdict(client: Client, ends: Ends) -> None:
    done = ends(**PASSED)

    program = client.program(SOURCE, reference=REFERENCE, seed=7)

    assert (program.verdict, program.good, program.finished) == ("passed", True, True)
    assert program.kernels[0].launches == 2
    assert program.reward is not None
    assert program.reward["correct"] is True
    assert program.id == done.result().id
    assert repr(program) == f"<Program {program.id}: verdict: passed (403 ms)>"


def test_what_is_wrong_with_one_is_reported_at_its_lines(client: Client, ends: Ends) -> None:
    ends(**WRONG)

    program = client.program(SOURCE, reference=REFERENCE)

    assert program.render("new.py").splitlines() == [
        "new.py:10: out_of_bounds: reads x_ptr[4000]",
        "    x = tl.load(x_ptr + offsets, mask=mask)",
        "program: no_kernel: it launches nothing",
        f"kernel add_kernel (new.py:7): launched 2 times, compilation {'c' * 64}",
        "reward: compiled yes, correct no; flags no_kernel; serious no_kernel",
        "verdict: out_of_bounds (403 ms)",
    ]
    with pytest.raises(ProgramFailed, match="out_of_bounds"):
        program.raise_unless_good()


def test_one_that_cannot_be_recorded_has_failed(client: Client, ends: Ends) -> None:
    ends(**NOT_RECORDABLE)

    with pytest.raises(ProgramFailed) as failed:
        client.program(SOURCE)

    assert failed.value.program.problem is not None
    assert failed.value.program.problem.slug == "not_recordable"
    assert str(failed.value).splitlines()[0] == "user.py:18: error: .item() asks for a value"


def test_what_cannot_be_recorded_may_be_the_reference(client: Client, ends: Ends) -> None:
    whose = {"program": "reference", "file": "user.py", "line": 6}
    problem = program_problem("not_recordable", "No.", **whose)
    ends(**NOT_RECORDABLE | {"problem": problem, "reward": None})

    program = client.program(SOURCE, reference=REFERENCE, check=False)

    assert program.render("new.py", "model.py").splitlines()[:2] == [
        "model.py:6: error: No.",
        "reward: none, the reference failed, so the program was not judged",
    ]


def test_a_reference_that_fails_in_one_case_is_named_there(client: Client, ends: Ends) -> None:
    whose = {"program": "reference", "file": "user.py", "line": 6}
    case = ProgramCaseResult(
        index=0, name="small", problem=program_problem("syntax_error", "No.", **whose)
    )
    ends(state="completed", verdict=Verdict.NOT_CHECKED, cases=[case], counts={"failed": 1})

    program = client.program(SOURCE, reference=REFERENCE, check=False)

    assert program.render("new.py", "model.py").splitlines()[:2] == [
        "case 0 (small): did not run",
        "  model.py:6: error: No.",
    ]


def test_a_reference_that_fails_in_its_run_is_not_placed_in_the_program(
    client: Client, ends: Ends
) -> None:
    finding = Finding(kind="invalid_reference", file="reference.py", line=3, message="It failed.")
    ends(**WRONG | {"verdict": Verdict.INVALID_REFERENCE, "findings": [finding], "reward": None})

    program = client.program(SOURCE, reference=REFERENCE)

    assert program.render("new.py", "model.py").startswith(
        "model.py:3: invalid_reference: It failed.\nprogram: no_kernel"
    )


@pytest.mark.parametrize(
    ("serious", "words"),
    [([], "correct not checked"), (["no_kernel"], "correct no; serious no_kernel")],
)
def test_what_was_not_compared_is_not_called_incorrect(
    client: Client, ends: Ends, serious: list[FlagKind], words: str
) -> None:
    reward = Reward(compiled=True, correct=False, serious=serious)
    ends(state="completed", verdict=Verdict.NOT_CHECKED, reward=reward)

    assert f"reward: compiled yes, {words}\n" in client.program(SOURCE).render()


def test_a_kernel_that_does_not_compile_is_reported_once(client: Client, ends: Ends) -> None:
    error = Diagnostic("error", "ttir", "BLOK is not defined", file="user.py", line=8)
    detail = "line 8: BLOK is not defined"
    problem = failure_problem("compile_error", detail, diagnostics=[error])
    ends(
        state="failed",
        kernels=[KERNEL.model_copy(update={"problem": problem})],
        problem=program_problem(
            "compile_error", f"add_kernel: {problem.detail}", file="user.py", line=8
        ),
    )

    reported = client.program(SOURCE, check=False).render("new.py").splitlines()

    assert reported[0] == "new.py:8: error: add_kernel: line 8: BLOK is not defined"
    assert sum("BLOK" in line for line in reported) == 1


def test_waiting_for_an_unclaimed_program_expires_with_its_id(client: Client) -> None:
    with pytest.raises(WaitExpired, match="it is queued") as expired:
        client.program(SOURCE, wait_s=0.1)

    assert expired.value.key is not None
    assert client.programs.cancel(expired.value.key).state == "cancelled"


async def test_asyncio_has_the_same(
    recording: Deployment, secrets_of_programs: dict[str, str], ends: Ends
) -> None:
    ends(**PASSED)
    async with AsyncClient(recording.url, api_key=secrets_of_programs["alice"]) as client:
        program = await client.program(SOURCE)
        kinds = [event.kind async for event in client.programs.events(program.id)]

    assert program.good
    assert kinds == ["queued", "started", "finished"]


def test_a_batch_has_programs(client: Client, ends: Ends) -> None:
    ends(**WRONG)

    batch = client.batches.program([program_request(SOURCE, entry={"kind": "model"})])

    [item] = batch.items
    assert isinstance(item.result, Program)
    assert (item.state, item.good) == ("completed", False)
    assert "mask=mask" in item.result.render()


def test_the_times_of_cases_are_shown_with_them(
    client: Client, gpu_recorder: ScriptedRecorder
) -> None:
    timed = {name: TIMED[name] for name in ("verdict", "timing", "speedup", "entries")}
    case = ProgramCaseResult(
        index=0, name="small", reference_timing=TIMED["reference"].timing, **timed
    )
    with ThreadPoolExecutor(1) as pool:
        pool.submit(gpu_recorder.do, verdict=Verdict.PASSED, speedup=2.0, cases=[case])
        program = client.program(SOURCE, device={"target": "cuda:90"}, timing={"max_ms": 100})

    assert program.case_times[0].entries[0].is_kernel
    assert program.render("new.py").splitlines()[:4] == [
        "case 0 (small): passed",
        f"  {TIMES[0]}",
        f"  {TIMES[1]}",
        "  speed-up: 2",
    ]
