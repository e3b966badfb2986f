"""The worker's pool of launchers, with a fake instead of the one that needs a GPU."""

import asyncio
import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest

from programs.gpu import program_order
from tests.integration.worker import fake_launcher
from tests.integration.worker.fake_launcher import SHARED
from tests.integration.worker.launchers import (
    GOOD,
    LONG_S,
    SHORT_S,
    children,
    command,
    hold,
    job,
    launch,
    launchers_of,
    pid,
    sick,
)
from tests.waiting import comes_true
from worker.gpu.launcher import launcher_order
from worker.gpu.supervisor.launcher_protocol import LaunchEnding
from worker.gpu.supervisor.launchers import DeviceCordoned, Launchers, WorkerStops

__all__ = ["command", "hold", "sick"]  # fixtures
CALLERS = ("ada", "bob", "cyd", "dan")


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def is_running(pid):
    """Return whether a process runs and is not a zombie."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"


def test_the_fake_has_the_words_of_the_launcher():
    assert (fake_launcher.TASK, fake_launcher.BESIDE) == (program_order.TASK, launcher_order.BESIDE)


async def test_a_caller_keeps_its_launcher_while_it_is_clean(command):
    async with launchers_of(command) as launchers:
        assert await pid(launchers) == await pid(launchers)


async def test_callers_never_share_a_launcher(command):
    async with launchers_of(command) as launchers:
        seen = [await pid(launchers, caller=caller) for caller in ("ada", "bob", "cyd", "ada")]

        assert len(set(seen)) == 3
        assert seen[0] == seen[3]


async def test_a_single_use_shares_with_no_one_not_even_its_caller(command):
    async with launchers_of(command) as launchers:
        own = await pid(launchers)
        seen = [await pid(launchers, isolation="process") for _ in range(3)]

        assert len({own, *seen}) == 4
        assert await pid(launchers) == own


async def test_there_are_only_so_many_launchers(command):
    async with launchers_of(command, most_processes=3) as launchers:
        first, _, *recent = [await pid(launchers, caller=caller) for caller in CALLERS]

        def are_recent_and_a_spare():
            return len(children()) == 3 and set(map(int, recent)) < children()

        await comes_true(are_recent_and_a_spare)
        assert await pid(launchers, caller="ada") != first


async def test_a_launcher_is_replaced_after_many_runs(command):
    async with launchers_of(command, most_runs=2) as launchers:
        seen = [await pid(launchers) for _ in range(4)]

        assert seen[0] == seen[1]
        assert seen[1] != seen[2]


async def test_an_endless_job_is_killed_at_its_deadline(command):
    async with launchers_of(command) as launchers:
        outcome = await launch(launchers, "endless", deadline_s=SHORT_S)

        assert outcome.ending is LaunchEnding.DEADLINE
        assert outcome.stages == ("run",)
        assert (await launch(launchers)).ending is LaunchEnding.OK


@pytest.mark.parametrize(
    ("entry", "ending"),
    [
        ("crash", LaunchEnding.SIGNAL),
        ("leave", LaunchEnding.SILENT),
        ("garbage", LaunchEnding.GARBAGE),
        ("fault", LaunchEnding.FAULT),
    ],
)
async def test_every_bad_end_has_a_name_and_costs_only_its_launcher(command, entry, ending):
    async with launchers_of(command) as launchers:
        before = await pid(launchers)

        outcome = await launch(launchers, entry)

        assert outcome.ending is ending
        assert not outcome.clean
        assert await pid(launchers) != before


async def test_what_a_kernel_prints_belongs_to_its_launch(command):
    async with launchers_of(command) as launchers:
        assert (await launch(launchers, "hello")).stdout == b"hello\n"
        assert (await launch(launchers)).stdout == b""


async def test_one_job_at_a_time_has_the_gpu(command):
    async with launchers_of(command) as launchers:
        await launch(launchers, caller="bob")  # its launcher is ready from now on
        long = asyncio.create_task(launch(launchers, "endless", deadline_s=SHORT_S))
        await comes_true(lambda: launchers.devices[0].busy)
        other = asyncio.create_task(launch(launchers, caller="bob"))

        first, _ = await asyncio.wait({long, other}, return_when=asyncio.FIRST_COMPLETED)

        assert first == {long}
        assert (await long).ending is LaunchEnding.DEADLINE
        assert (await other).ending is LaunchEnding.OK


async def test_a_job_whose_caller_left_is_killed(command):
    async with launchers_of(command) as launchers:
        (spare,) = children()
        task = asyncio.create_task(launch(launchers, "endless"))
        await comes_true(lambda: launchers.devices[0].busy)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        assert (await launch(launchers)).ending is LaunchEnding.OK
        assert not is_running(spare)


async def test_a_gpu_that_fails_its_health_check_is_cordoned(command, sick):
    async with launchers_of(command) as launchers:
        sick.touch()
        outcome = await launch(launchers, "fault")

        assert outcome.ending is LaunchEnding.FAULT  # answered before the check
        with pytest.raises(DeviceCordoned, match="sick"):
            await launch(launchers)
        assert "the health kernel failed" in launchers.devices[0].cordoned


async def test_a_clean_job_needs_no_health_check(command, sick):
    async with launchers_of(command) as launchers:
        sick.touch()

        assert (await launch(launchers)).ending is LaunchEnding.OK
        assert (await launch(launchers)).ending is LaunchEnding.OK


async def test_a_gpu_on_which_no_launcher_starts_is_cordoned_and_the_others_are_not(command):
    launchers = Launchers([99, 0], command)
    await launchers.start()
    try:
        with pytest.raises(DeviceCordoned, match="no such GPU"):
            await launchers.run(99, job(GOOD), caller="ada", deadline_s=LONG_S)
        assert "no such GPU" in await launchers.until_cordoned(99)
        assert (await launch(launchers)).ending is LaunchEnding.OK
    finally:
        await launchers.close()


@pytest.mark.parametrize("starts", [True, False], ids=["while it starts", "before it starts"])
async def test_a_worker_that_stops_logs_no_error_of_a_program_launcher(command, caplog, starts):
    caplog.set_level(logging.INFO)
    slow = replace(command, bootstrap="import time  # fake_launcher\ntime.sleep(1000)")
    async with launchers_of(command, slow, spares=1) as launchers:
        living = children()
        if starts:
            trying = asyncio.create_task(launchers.try_programs(0))
            await comes_true(lambda: children() - living)
            await launchers.close()
        else:
            await launchers.close()
            trying = asyncio.create_task(launchers.try_programs(0))
        with pytest.raises(WorkerStops, match="the worker stops"):
            await trying

    assert "GPU 0 takes no more programs: the worker stops" in caplog.text
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []


async def test_a_tool_that_is_not_installed_is_said_to_be_missing(command):
    async with launchers_of(replace(command, environment={"PATH": "/nonexistent"})) as launchers:
        examined = await launchers.run_under_tool(0, job(GOOD), "memcheck", limit_s=LONG_S)

        assert launchers.devices[0].tools == ()
        assert "does not have the tool installed" in examined.incomplete


FAKE_SANITIZER = """#!/bin/sh
while [ "$1" != --log-file ]; do shift; done
cat > "$2" <<END
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at store_at+0xc0 in /kernel/user.py:26
=========     by thread (0,0,0) in block (5,0,0)
=========     Access to 0x1020 is out of bounds
=========
========= ERROR SUMMARY: 1 error
END
echo '[{"name": "out", "start": 4096, "elements": 8, "dtype": "fp32", "shape": [8],
        "strides": [1], "offset": 0}]' > places.json
echo '{"error": "the kernel failed"}' > ending.json
"""


async def test_what_a_tool_reports_arrives_as_findings(command, tmp_path):
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(FAKE_SANITIZER)
    tool.chmod(0o755)
    watched = job(GOOD)
    path = f"{tmp_path}:{os.environ['PATH']}"
    async with launchers_of(replace(command, environment={"PATH": path})) as launchers:
        examined = await launchers.run_under_tool(0, watched, "memcheck", limit_s=LONG_S)

    assert examined.incomplete is None
    assert [(one["argument"], one["index"], one["line"], one["program"])
            for one in examined.findings] == [("out", [8], 26, [5, 0, 0])]  # fmt: skip


async def test_a_tool_that_hangs_is_killed_with_all_it_started(command, tmp_path):
    tool = tmp_path / "compute-sanitizer"
    tool.write_text("#!/bin/sh\nsleep 987 & echo $! > $0.pid; wait\n")
    tool.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    async with launchers_of(replace(command, environment={"PATH": path})) as launchers:
        examined = await launchers.run_under_tool(0, job(GOOD), "memcheck", limit_s=6)

        assert "within 6 s" in examined.incomplete
        started = (tmp_path / "compute-sanitizer.pid").read_text().strip()
        await comes_true(lambda: not is_running(started))
        assert (await launch(launchers)).ending is LaunchEnding.OK


async def test_secrets_of_the_worker_do_not_reach_launchers(command, monkeypatch):
    monkeypatch.setenv("TRITOND_TEST_SECRET", "CANARY-5c41")
    async with launchers_of(command):
        environments = [Path(f"/proc/{one}/environ").read_bytes() for one in children()]

        assert environments
        assert not any(b"CANARY-5c41" in environment for environment in environments)


async def test_an_output_in_shared_memory_is_the_outcomes_own(command):
    async with launchers_of(command) as launchers:
        outcome = await launch(launchers, "shared")
        assert outcome.ending is LaunchEnding.OK
        assert bytes(outcome.outputs["large"]) == SHARED
        assert await pid(launchers) == outcome.outputs["pid"]


@pytest.mark.parametrize("entry", ["surplus", "unsealed"])
async def test_memory_that_breaks_the_rules_ends_its_launcher_and_leaves_nothing_open(
    command, entry
):
    before_files = open_files()
    async with launchers_of(command) as launchers:
        before = await pid(launchers)
        for _ in range(3):
            assert (await launch(launchers, entry)).ending is LaunchEnding.GARBAGE

        assert await pid(launchers) != before
    await comes_true(lambda: open_files() <= before_files)
