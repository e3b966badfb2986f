"""Successive jobs of one caller: the next reaches its launcher before its turn."""

import asyncio

import pytest

from tests.integration.worker.launchers import (
    GOOD,
    LONG_S,
    SHORT_S,
    command,
    hold,
    job,
    launch,
    launchers_of,
    pid,
    sick,
)
from tests.waiting import comes_true
from worker.gpu.supervisor.launcher_protocol import LaunchEnding

__all__ = ["command", "hold", "sick"]  # fixtures


async def in_a_row(launchers, *entries, **how):
    """Run jobs that one caller submits together; return how each ended."""
    tasks = [asyncio.create_task(launch(launchers, entry, **how)) for entry in entries]
    return await asyncio.gather(*tasks)


async def sent_ahead(launchers, first):
    """Start `first`, and send a job of the same caller to its launcher; return both."""
    await pid(launchers)  # a launcher that has done nothing yet gets one job at a time
    begun = asyncio.create_task(launch(launchers, first, deadline_s=LONG_S))
    next_one = asyncio.create_task(launch(launchers))
    (gpu,) = launchers._gpus.values()
    await comes_true(lambda: gpu._at_work is not None and gpu._at_work._under_way == 2)
    return begun, next_one


async def test_the_next_job_of_a_caller_is_with_its_launcher_before_its_turn(command, hold):
    async with launchers_of(command) as launchers:
        own = await pid(launchers)
        begun, next_one = await sent_ahead(launchers, "held")

        assert not begun.done()
        hold.unlink()
        assert (await begun).outputs["pid"] == (await next_one).outputs["pid"] == own


async def test_jobs_in_a_row_have_their_own_print_each(command):
    async with launchers_of(command) as launchers:
        outcomes = await in_a_row(launchers, GOOD, "hello", "more", GOOD, "hello")

        assert [one.stdout for one in outcomes] == [b"", b"hello\n", b"more\n", b"", b"hello\n"]


async def test_a_job_that_was_sent_to_a_launcher_that_ended_is_done_by_another(command, hold):
    async with launchers_of(command) as launchers:
        own = await pid(launchers)
        asyncio.get_running_loop().call_later(0.2, hold.unlink)
        outcomes = await in_a_row(launchers, "held", "fault", GOOD, "crash", GOOD)

        endings = [one.ending for one in outcomes]
        good = LaunchEnding.OK
        assert endings == [good, LaunchEnding.FAULT, good, LaunchEnding.SIGNAL, good]
        pids = [outcomes[index].outputs["pid"] for index in (0, 2, 4)]
        assert pids[0] == own
        assert len(set(pids)) == 3


async def test_a_job_behind_one_that_is_killed_at_its_deadline_is_done(command):
    async with launchers_of(command) as launchers:
        await pid(launchers)
        endless = asyncio.create_task(launch(launchers, "endless", deadline_s=SHORT_S))
        behind = await launch(launchers)

        assert (await endless).ending is LaunchEnding.DEADLINE
        assert behind.ending is LaunchEnding.OK


async def test_cancelling_a_job_that_was_sent_ahead_harms_neither_neighbour(command, hold):
    async with launchers_of(command) as launchers:
        begun, next_one = await sent_ahead(launchers, "held")
        next_one.cancel()
        hold.unlink()
        after = await launch(launchers)

        assert next_one.cancelled()
        assert (await begun).ending is LaunchEnding.OK
        assert after.outputs["pid"] == (await begun).outputs["pid"]


async def test_a_job_whose_time_is_over_at_its_turn_is_not_waited_for(command, hold):
    async with launchers_of(command) as launchers:

        def passed():
            raise TimeoutError("the deadline of its launch")

        begun = asyncio.create_task(launch(launchers, "held"))
        asyncio.get_running_loop().call_later(0.2, hold.unlink)
        with pytest.raises(TimeoutError, match="of its launch"):
            await launch(launchers, deadline_s=passed)
        assert (await begun).ending is LaunchEnding.OK
        assert (await launch(launchers)).ending is LaunchEnding.OK


async def test_a_job_that_waits_too_long_for_its_turn_gives_up(command, hold):
    async with launchers_of(command) as launchers:
        await pid(launchers)
        begun = asyncio.create_task(launch(launchers, "held"))
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await launchers.run(0, job(GOOD), caller="ada", deadline_s=LONG_S, turn_s=0.05)

        hold.unlink()
        assert (await begun).ending is LaunchEnding.OK
        assert (await launch(launchers)).ending is LaunchEnding.OK
