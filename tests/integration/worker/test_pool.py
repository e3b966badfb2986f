"""A pool gives every job a fresh child, reports how it ended, and is ready for the next."""

import asyncio
import contextlib
import os
import py_compile
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from tests.integration.worker.late_tasks import FILE
from tests.security.tree import descendants
from tests.waiting import comes_true
from worker.code_digest import PACKAGES
from worker.pool.child_outcome import Caps, Ending
from worker.pool.child_process import ChildProcess
from worker.pool.pool import Outdated, Pool
from worker.pool.zygote_client import ZygoteError, ZygoteToolchain
from worker.sandbox.rlimits import ResourceLimits

ROOT = Path(__file__).parents[3]
TOOLCHAIN = ZygoteToolchain(Path(sys.executable), ROOT, "tests.integration.worker.pool_tasks")
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool():
    pool = Pool(TOOLCHAIN)
    await pool.start()
    yield pool
    await pool.close()


async def run(pool, task, body=b"", *, profile="front", deadline_s=60, **more):
    on_stage = more.pop("on_stage", None)
    header = {"task": task, **more}
    stages = ("source", "ttir", "cubin")
    return await pool.run(
        profile, header, body, deadline_s=deadline_s, stages=stages, on_stage=on_stage
    )


async def test_ps_shows_what_a_child_does(pool):
    target = {"backend": "cuda", "arch": 90}
    waiting = asyncio.create_task(run(pool, "wait", target=target))

    def shown():
        return {Path(f"/proc/{pid}/cmdline").read_bytes() for pid in descendants(os.getpid())}

    async def is_shown():
        with contextlib.suppress(OSError):  # one of them ended just now
            names = {name.rstrip(b"\0").decode() for name in shown()}
            return {
                "tritond: zygote of tests.integration.worker.pool_tasks",
                "tritond: front, wait for cuda:90",
            } <= names
        return False

    await comes_true(is_shown)
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting


@pytest.mark.parametrize("size", [0, 1, 70_000, 5 << 20])
async def test_a_job_of_any_size_reaches_its_child_whole(pool, size):
    outcome = await run(pool, "echo", bytes(size), text="é\u2028")
    assert outcome.ending is Ending.OK
    assert outcome.result["length"] == size
    assert outcome.result["header"]["text"] == "é\u2028"
    assert outcome.usage.max_rss_bytes > 1 << 20


async def test_stages_are_heard_of_while_the_job_runs_and_kept_in_order(pool):
    heard = []
    outcome = await run(pool, "stages", times=100_000, on_stage=heard.append)
    assert [stage.name for stage in heard] == ["source", "ttir", "cubin"]
    assert outcome.stages == tuple(heard)
    assert heard[2].body == b"cubin" * 100_000


async def test_a_task_s_own_failure_comes_with_the_stages_before_it(pool):
    outcome = await run(pool, "refuse")
    assert outcome.ending is Ending.FAILURE
    assert outcome.failure == {
        "kind": "failure",
        "slug": "compile_error",
        "reason": None,
        "stage": "ttir",
        "message": "no such shape",
        "diagnostics": [{"severity": "error", "line": 3}],
        "needs": [],
    }
    assert [stage.name for stage in outcome.stages] == ["source"]


async def test_what_a_task_prints_is_kept_apart(pool):
    outcome = await run(pool, "speak")
    assert outcome.stdout == b"to stdout\n"
    assert outcome.stderr == b"to stderr\n"


async def test_a_result_that_cannot_be_sent_is_a_failure(pool):
    outcome = await run(pool, "wrong")
    assert outcome.failure["slug"] == "compiler_crashed"
    assert "not JSON" in outcome.failure["message"]


async def test_many_jobs_at_once_each_get_their_own_answer(pool):
    outcomes = await asyncio.gather(*(run(pool, "echo", bytes(n), x=n) for n in range(30)))
    assert [outcome.result["length"] for outcome in outcomes] == list(range(30))
    assert [outcome.result["header"]["x"] for outcome in outcomes] == list(range(30))


async def test_a_deadline_is_kept_from_outside(pool):
    outcome = await run(pool, "wait", deadline_s=0.2)
    assert outcome.ending is Ending.DEADLINE
    assert outcome.detail == "still running after 0.2 s"
    assert outcome.usage.cpu_s > 0


async def test_the_wait_for_a_zygote_counts_within_the_deadline(monkeypatch):
    allowed_s = []
    start = ChildProcess.start

    def noted(child, job, deadline_s, **more):
        allowed_s.append(deadline_s)
        start(child, job, deadline_s, **more)

    monkeypatch.setattr(ChildProcess, "start", noted)
    pool = Pool(TOOLCHAIN, spares={})
    running = asyncio.create_task(run(pool, "echo", deadline_s=60))
    await asyncio.sleep(0.2)
    await pool.start()
    outcome = await running
    await pool.close()
    assert outcome.ending is Ending.OK
    assert allowed_s[0] < 59.9


async def test_caps_and_limits_are_settings():
    toolchain = ZygoteToolchain(
        TOOLCHAIN.python,
        ROOT,
        TOOLCHAIN.tasks_module,
        limits={"front": ResourceLimits(512 << 20, cpu_s=1, file_bytes=0, open_files=16)},
    )
    pool = Pool(toolchain, spares={}, caps=Caps(result_bytes=10_000))
    await pool.start()
    by_cap = await run(pool, "stages", times=10_000)
    by_limit = await run(pool, "wait", deadline_s=100)
    await pool.close()
    assert by_cap.ending is Ending.FLOOD
    assert (by_limit.ending, by_limit.signal) == (Ending.SIGNAL, 9)


async def test_nothing_is_left_open_by_jobs_of_every_ending(pool):
    def open_descriptors():
        return len(list(Path("/proc/self/fd").iterdir()))

    async def all_endings():
        await run(pool, "echo")
        await run(pool, "refuse")
        await run(pool, "wait", deadline_s=0.05)

    await all_endings()
    before = open_descriptors()
    await all_endings()
    await all_endings()
    await comes_true(lambda: open_descriptors() <= before)


@pytest.mark.parametrize(
    ("module", "said"),
    [("no.such.tasks", "No module named 'no'"), ("tests.integration.worker.test_pool", "TASKS")],
)
async def test_a_zygote_that_cannot_start_says_why(module, said):
    pool = Pool(ZygoteToolchain(Path(sys.executable), ROOT, module))
    with pytest.raises(ZygoteError, match=said):
        await pool.start()


async def test_a_python_that_cannot_be_run_is_named_with_its_setting(tmp_path):
    pool = Pool(ZygoteToolchain(tmp_path / "python", ROOT))
    with pytest.raises(ZygoteError, match=r"cannot run .*/python: No such file.*TOOLCHAINS"):
        await pool.start()


def late(tmp_path, *, start_s):
    """Return a toolchain whose zygote is warm once a file exists, and that file."""
    file = tmp_path / "warm"
    tasks, environment = "tests.integration.worker.late_tasks", {FILE: str(file)}
    return replace(TOOLCHAIN, tasks_module=tasks, environment=environment, start_s=start_s), file


async def test_a_zygote_that_is_late_is_waited_for_with_one_line_of_warning(tmp_path, caplog):
    # five times as long as a busy machine takes to start one
    toolchain, file = late(tmp_path, start_s=2)
    pool = Pool(toolchain, spares={})

    starting = asyncio.create_task(pool.start())
    await comes_true(lambda: caplog.records)
    file.touch()
    await starting
    await pool.close()

    record = caplog.records[0]
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert "late_tasks is not warm after 2 s; waiting on" in record.getMessage()
    assert "\n" not in record.getMessage()


async def test_a_zygote_that_stays_late_is_ended(tmp_path):
    toolchain, _ = late(tmp_path, start_s=0.3)
    pool = Pool(toolchain, spares={})
    with pytest.raises(ZygoteError, match=r"late_tasks was not warm after 1\.5 s"):
        await pool.start()
    assert pool.zygote_pid is None


async def test_without_a_zygote_a_job_waits_no_longer_than_its_deadline():
    pool = Pool(TOOLCHAIN)
    with pytest.raises(ZygoteError, match=r"no zygote within 0\.\d+ s"):
        await run(pool, "echo", deadline_s=0.1)


@pytest.fixture
def release(tmp_path):
    """Return the packages and the tasks of these tests, as another installation has them."""
    for package in (*PACKAGES, "tests/integration/worker"):
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=leave)
    return tmp_path


def edit(release):
    with (release / "compiler/parameter_binding.py").open("a") as file:
        file.write("# edited\n")


async def test_a_zygote_that_would_run_other_code_is_not_taken(release):
    edit(release)

    with pytest.raises(Outdated, match="start it again"):
        await Pool(replace(TOOLCHAIN, root=release)).start()


async def test_a_zygote_is_not_taken_where_other_code_of_its_tasks_was_changed():
    outdated = asyncio.Event()
    pool = Pool(TOOLCHAIN, on_outdated=outdated.set, is_current=lambda: False)

    with pytest.raises(Outdated, match="start it again"):
        await pool.start()
    assert outdated.is_set()


async def test_a_pool_whose_files_were_changed_starts_no_other_zygote(release, caplog):
    outdated = asyncio.Event()
    pool = Pool(replace(TOOLCHAIN, root=release), on_outdated=outdated.set)
    await pool.start()
    assert (await run(pool, "echo")).ending is Ending.OK

    edit(release)
    os.kill(pool.zygote_pid, signal.SIGKILL)

    async with asyncio.timeout(20):
        await outdated.wait()
    await pool.close()
    assert "the files of tritond were changed while it ran" in caplog.text


async def test_bytecode_of_an_older_text_is_not_run(release):
    """Same size, and written in the same second: Python itself could not tell."""
    tasks = release / "launch/said.py"
    tasks.write_text("TASKS = {'say': lambda header, body, send: {'kind': 'result', 'says': 1}}\n")
    written = tasks.stat()
    py_compile.compile(str(tasks))
    tasks.write_text(tasks.read_text().replace("1", "2"))
    os.utime(tasks, ns=(written.st_atime_ns, written.st_mtime_ns))

    pool = Pool(replace(TOOLCHAIN, root=release, tasks_module="launch.said"))
    await pool.start()
    outcome = await run(pool, "say")
    await pool.close()
    assert outcome.result["says"] == 2
