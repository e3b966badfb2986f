"""Programs from Python and from a shell. A script ends them here; nothing is recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tritonc import (
    AsyncClient,
    Client,
    Program,
    ProgramFailed,
    WaitExpired,
    program_request,
)
from tritonc.cli.main import main

from compiler.problem import failure_problem
from launch.messages import Finding
from launch.request.verdict import Verdict
from programs.program_job import program_problem
from programs.program_record import ProgramCaseResult, ProgramFlag, ProgramKernel, Reward
from programs.program_request import EXAMPLE
from service.programs.program_examples import TAPE, TAPE_TEXT
from tests.integration.service.programs.conftest import GPU, TIMED, ScriptedRecorder
from tests.integration.service.running import Deployment

SOURCE, REFERENCE = EXAMPLE["source"], EXAMPLE["reference"]["source"]
KERNEL = ProgramKernel(
    name="add_kernel", file="user.py", line=7, launches=2, compilation_key="c" * 64
)
PASSED: dict[str, Any] = {
    "verdict": Verdict.PASSED,
    "kernels": [KERNEL],
    "reward": Reward(compiled=True, correct=True),
    "timings_ms": {"total": 402.7},
}
WRONG: dict[str, Any] = PASSED | {
    "verdict": Verdict.OUT_OF_BOUNDS,
    "findings": [
        Finding(kind="out_of_bounds", message="reads x_ptr[4000]", file="user.py", line=10)
    ],
    "flags": [ProgramFlag(kind="no_kernel", message="it launches nothing")],
    "reward": Reward(compiled=True, correct=False, flags=["no_kernel"]),
}
NOT_RECORDABLE: dict[str, Any] = {
    "state": "failed",
    "problem": program_problem(
        "not_recordable", ".item() asks for a value", program="candidate", file="user.py", line=18
    ),
    "reward": Reward(compiled=False, correct=False),
}
Ends = Callable[..., "Future[Any]"]


@pytest.fixture
def ends(recorder: ScriptedRecorder) -> Iterator[Ends]:
    """Ends the next program while somebody waits for it."""
    with ThreadPoolExecutor(1) as pool:
        yield lambda **found: pool.submit(recorder.do, **found)


@pytest.fixture
def client(
    recording: Deployment, secrets_of_programs: dict[str, str], recorder: ScriptedRecorder
) -> Iterator[Client]:
    with Client(recording.url, api_key=secrets_of_programs["alice"]) as client:
        yield client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "new.py").write_text(SOURCE)
    (tmp_path / "model.py").write_text(REFERENCE)
    return tmp_path


def test_a_program_comes_back_with_its_verdict(client: Client, ends: Ends) -> None:
    done = ends(**PASSED)

    program = client.program(SOURCE, reference=REFERENCE, seed=7)

    assert (program.verdict, program.good, program.finished) == ("passed", True, True)
    assert program.kernels[0].launches == 2
    assert program.reward is not None
    assert program.reward["correct"] is True
    assert program.id == done.result().id
    assert repr(program) == f"<Program {program.id}: verdict: passed (403 ms)>"


def test_what_is_wrong_with_one_is_told_at_its_lines(client: Client, ends: Ends) -> None:
    ends(**WRONG)

    program = client.program(SOURCE, reference=REFERENCE)

    assert program.render("new.py").splitlines() == [
        "new.py:10: out_of_bounds: reads x_ptr[4000]",
        "    x = tl.load(x_ptr + offsets, mask=mask)",
        "program: no_kernel: it launches nothing",
        f"kernel add_kernel (new.py:7): launched 2 times, compilation {'c' * 64}",
        "reward: compiled yes, correct no; flags no_kernel",
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
    ends(**NOT_RECORDABLE | {"problem": program_problem("not_recordable", "No.", **whose)})

    program = client.program(SOURCE, reference=REFERENCE, check=False)

    assert program.render("new.py", "model.py").splitlines()[:2] == [
        "model.py:6: error: No.",
        "reward: compiled no, correct no",
    ]


def test_a_kernel_that_does_not_compile_is_told_once(client: Client, ends: Ends) -> None:
    problem = failure_problem("compile_error", "line 8: BLOK is not defined")
    ends(
        state="failed",
        kernels=[KERNEL.model_copy(update={"problem": problem})],
        problem=program_problem(
            "compile_error", f"add_kernel: {problem.detail}", file="user.py", line=8
        ),
    )

    told = client.program(SOURCE, check=False).render("new.py").splitlines()

    assert told[0] == "new.py:8: error: add_kernel: line 8: BLOK is not defined"
    assert sum("BLOK" in line for line in told) == 1


def test_one_that_nobody_takes_is_asked_for_again(client: Client) -> None:
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


@dataclass(frozen=True)
class Ran:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def tritonc(
    recording: Deployment,
    recorder: ScriptedRecorder,
    secrets_of_programs: dict[str, str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Ran]:
    """The command, run in the folder by this process."""
    monkeypatch.chdir(folder)
    environment = {"TRITOND_URL": recording.url, "TRITOND_API_KEY": secrets_of_programs["alice"]}

    def run(*words: str) -> Ran:
        try:
            code = main(words, environment=environment)
        except SystemExit as wrong:  # argparse's own
            code = int(str(wrong.code))
        return Ran(code, *capsys.readouterr())

    return run


def test_the_command_says_whether_a_program_is_right(
    tritonc: Callable[..., Ran], ends: Ends
) -> None:
    done = ends(**PASSED)

    ran = tritonc(
        "program", "run", "new.py",
        "--reference", "model.py", "--reference-entry", "model:Model", "--rtol", "0.1",
    )  # fmt: skip

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1] == "verdict: passed (403 ms)"
    assert done.result().state == "completed"


def test_the_command_fails_for_a_program_that_is_not(
    tritonc: Callable[..., Ran], ends: Ends
) -> None:
    ends(**WRONG)
    wrong = tritonc("program", "run", "new.py", "--json")
    ends(**NOT_RECORDABLE)
    failed = tritonc("program", "run", "new.py")

    assert (wrong.returncode, json.loads(wrong.stdout)["verdict"]) == (1, "out_of_bounds")
    assert failed.returncode == 1
    assert failed.stdout.splitlines() == [
        "new.py:18: error: .item() asks for a value",
        "    n_elements = output.numel()",
        "reward: compiled no, correct no",
        "failed: not_recordable",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "new.py", "--entry", "class:A"], "is none of model:CLASS, function:NAME"),
        (["run", "new.py", "--reference-entry", "script"], "there is no --reference that has it"),
        (["run", "new.py", "--entry", "function:a.b"], "--entry: String should match pattern"),
        (["run", "none.py"], "none.py: No such file"),
        (["tape", "none.py"], "none.py: there is no such file"),
        (["tape", "0" * 32], "404 not_found: You have no program"),
        (
            ["run", "new.py", "--inputs", "model.py", "--entry", "script"],
            "--inputs: a script makes",
        ),
        (["run", "new.py", "--triton", "1.0"], "--triton: Triton 1.0 is not offered here"),
        (["run", "new.py", "--check", "spam"], "--check: Input should be"),
        (["run", "new.py", "--trials", "21"], "--trials: Input should be less than or equal to 20"),
    ],
)
def test_what_is_wrong_is_told_in_the_words_of_the_command_line(
    tritonc: Callable[..., Ran],
    words: list[str],
    message: str,
) -> None:
    ran = tritonc("program", *words)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_tape_of_an_id_is_shown(
    tritonc: Callable[..., Ran], client: Client, recorder: ScriptedRecorder
) -> None:
    posted = client.program(SOURCE, wait_s=0, check=False)
    recorder.keep_tapes(posted.id, {"candidate": TAPE})

    told = tritonc("program", "tape", posted.id)
    as_json = tritonc("program", "tape", posted.id, "--json")

    assert (told.returncode, told.stdout) == (0, TAPE_TEXT.rstrip("\n") + "\n")
    assert json.loads(as_json.stdout) == TAPE


def test_the_tape_of_a_file_is_recorded_and_shown(
    tritonc: Callable[..., Ran], recorder: ScriptedRecorder, ends: Ends
) -> None:
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(recorder.do_with_tape, TAPE)
        told = tritonc("program", "tape", "new.py", "--reference", "model.py")
    ends(**NOT_RECORDABLE)
    failed = tritonc("program", "tape", "new.py")

    request = done.result().read_request()
    assert request.stop_after == "tape"
    assert request.reference is not None
    assert request.reference.source == REFERENCE
    assert (told.returncode, told.stdout) == (0, TAPE_TEXT.rstrip("\n") + "\n")
    assert failed.returncode == 1
    assert "error: .item() asks for a value" in failed.stderr


def test_an_id_can_be_shown_and_cancelled(tritonc: Callable[..., Ran], client: Client) -> None:
    posted = client.program(SOURCE, wait_s=0, check=False)

    shown = tritonc("get", posted.id)
    ended = tritonc("cancel", posted.id)

    assert json.loads(shown.stdout)["state"] == "queued"
    assert json.loads(ended.stdout)["state"] == "cancelled"


TIMES = [
    "time: median 12.5 us, p20 12.5 us, p80 12.5 us (20 repeats)",
    "reference's time: median 25 us, p20 25 us, p80 25 us (20 repeats)",
    "speed-up: 2 (1.9 to 2.1)",
    "in its own kernels: 90% of the time",
    "  11 us, 90%: kernel add_kernel (new.py:21)",
    "reward: compiled yes, correct yes, speedup 2, coverage 0.9",
]


def test_the_command_asks_for_a_gpu_and_shows_what_takes_how_long(
    tritonc: Callable[..., Ran], gpu_recorder: ScriptedRecorder
) -> None:
    with ThreadPoolExecutor(1) as pool, gpu_recorder.living():
        pool.submit(gpu_recorder.do, **TIMED)
        ran = tritonc("program", "run", "new.py", "--reference", "model.py", "--device", "gpu")

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [*TIMES, f"verdict: passed on the {GPU.partition(' ')[2]}"]


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


def test_the_command_says_that_no_gpu_runs_programs(tritonc: Callable[..., Ran]) -> None:
    ran = tritonc("program", "run", "new.py", "--device", "gpu")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--device gpu: no GPU of this service runs programs now" in ran.stderr


def test_the_command_asks_for_a_cpu(
    tritonc: Callable[..., Ran], recorder: ScriptedRecorder, gpu_recorder: ScriptedRecorder
) -> None:
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(recorder.do, **PASSED)
        ran = tritonc("program", "run", "new.py", "--device", "cpu", "--trials", "3")

    assert ran.returncode == 0
    assert done.result().device.interpreter
