"""The worker's pool of program launchers, with fakes that share a GPU's queue with launches."""

import asyncio
import time
from dataclasses import replace

import pytest

from tests.integration.worker.fake_launcher import SLOW
from tests.integration.worker.launchers import (
    SHORT_S,
    children,
    command,
    hold,
    launch,
    launchers_of,
    pid,
    replay,
    sick,
)
from tests.waiting import comes_true
from worker.gpu.launcher.launcher_order import BESIDE
from worker.gpu.supervisor.launcher_protocol import LaunchEnding
from worker.gpu.supervisor.launchers import DeviceCordoned
from worker.pool import frame

__all__ = ["command", "hold", "sick"]  # fixtures
NO_CUDA = "import sys; sys.exit('this torch has no CUDA')"


async def program_pid(launchers, **how):
    return (await replay(launchers, **how)).outputs["pid"]


async def test_no_launcher_of_programs_is_there_before_the_first_program(command):
    async with launchers_of(command) as launchers:
        await pid(launchers)
        before = children()
        own = int(await program_pid(launchers))

        assert own not in before
        assert own in children()


async def test_a_launcher_of_programs_starts_beside_what_its_program_waits_for(command):
    async with launchers_of(command) as launchers:
        before = children()
        launchers.warm_programs(0, "ada")
        (warm,) = await comes_true(lambda: children() - before)
        launchers.warm_programs(0, "ada")

        assert int(await program_pid(launchers)) == warm


async def test_a_caller_with_a_launcher_does_not_wait_for_that_of_others_to_start(
    command, hold, tmp_path
):
    slow = tmp_path / "slow"
    programs = replace(command, start_s=15.0, environment=command.environment | {SLOW: str(slow)})
    async with launchers_of(command, programs) as launchers:
        own = await program_pid(launchers)
        held = asyncio.create_task(replay(launchers, "held", caller="bob"))
        await comes_true(lambda: launchers.devices[0].busy)  # it has the spare
        before = children()
        slow.touch()
        hold.unlink()
        await held
        starting = await comes_true(lambda: children() - before)  # the next spare

        assert await program_pid(launchers) == own
        assert starting <= children()  # still held
        slow.unlink()


async def test_a_launcher_of_single_use_replays_one_program(command):
    async with launchers_of(command) as launchers:
        own = await program_pid(launchers)
        seen = [await program_pid(launchers, single_use=True) for _ in range(2)]

        assert len({own, *seen}) == 3
        assert await program_pid(launchers) == own


async def test_a_launch_and_a_program_of_one_caller_are_never_in_one_process(command):
    async with launchers_of(command) as launchers:
        assert await pid(launchers) != await program_pid(launchers)


async def test_a_caller_keeps_its_program_launcher_and_shares_it_with_no_one(command):
    async with launchers_of(command) as launchers:
        seen = [await program_pid(launchers, caller=caller) for caller in ("ada", "bob", "ada")]

        assert seen[0] == seen[2] != seen[1]


async def test_a_program_waits_for_the_launch_that_has_the_gpu(command, hold):
    async with launchers_of(command) as launchers:
        await program_pid(launchers)
        begun = asyncio.create_task(launch(launchers, "held"))
        await comes_true(lambda: launchers.devices[0].busy)
        waiting = asyncio.create_task(replay(launchers))
        await asyncio.sleep(0.2)

        assert not waiting.done()
        hold.unlink()
        assert (await begun).ending is LaunchEnding.OK
        assert (await waiting).ending is LaunchEnding.OK


async def test_a_gpu_is_not_kept_from_others_while_a_launcher_of_programs_starts(
    command, hold, tmp_path
):
    slow = tmp_path / "slow"
    programs = replace(command, environment={**command.environment, SLOW: str(slow)})
    async with launchers_of(command, programs) as launchers:
        launchers.warm_programs(0, "ada")
        await comes_true(lambda: launchers._gpus[0]._programs.waits_for("ada"))
        held = asyncio.create_task(launch(launchers, "held"))
        await comes_true(lambda: launchers.devices[0].busy)
        first, second = (
            asyncio.create_task(replay(launchers, caller=caller)) for caller in ("ada", "bob")
        )
        await asyncio.sleep(0.5)  # both see the launcher that waits for one of them
        slow.touch()
        hold.unlink()
        assert (await held).ending is (await first).ending is LaunchEnding.OK

        assert (await asyncio.wait_for(launch(launchers), 10)).ending is LaunchEnding.OK
        assert not second.done()
        slow.unlink()
        assert (await second).ending is LaunchEnding.OK


async def test_a_caller_whose_launcher_of_programs_is_at_work_waits_for_no_other_to_start(
    command, hold, tmp_path
):
    slow = tmp_path / "slow"
    programs = replace(command, environment={**command.environment, SLOW: str(slow)})
    async with launchers_of(command, programs) as launchers:
        own = await program_pid(launchers)
        slow.touch()
        first = asyncio.create_task(replay(launchers, "held"))
        await comes_true(lambda: launchers.devices[0].busy)
        second = asyncio.create_task(program_pid(launchers))
        await asyncio.sleep(0.2)
        hold.unlink()

        assert (await first).ending is LaunchEnding.OK
        assert await asyncio.wait_for(second, 10) == own
        slow.unlink()


async def test_a_program_whose_turn_does_not_come_gives_up(command, hold):
    async with launchers_of(command) as launchers:
        await program_pid(launchers)
        begun = asyncio.create_task(launch(launchers, "held"))
        await comes_true(lambda: launchers.devices[0].busy)
        with pytest.raises(TimeoutError):
            await replay(launchers, turn_s=SHORT_S)

        hold.unlink()
        assert (await begun).ending is LaunchEnding.OK
        assert (await replay(launchers)).ending is LaunchEnding.OK


@pytest.mark.parametrize(
    ("entry", "ending"),
    [
        ("fault", LaunchEnding.FAULT),
        ("crash", LaunchEnding.SIGNAL),
        ("leave", LaunchEnding.SILENT),
        ("garbage", LaunchEnding.GARBAGE),
        ("endless", LaunchEnding.DEADLINE),
    ],
)
async def test_after_a_program_that_was_not_clean_the_next_has_a_fresh_launcher(
    command, entry, ending
):
    async with launchers_of(command) as launchers:
        own = await program_pid(launchers)
        outcome = await replay(launchers, entry, deadline_s=SHORT_S)

        assert outcome.ending is ending
        assert await program_pid(launchers) != own
        assert (await launch(launchers)).ending is LaunchEnding.OK


async def test_a_program_that_is_too_big_to_send_costs_its_caller_no_launcher(command, monkeypatch):
    monkeypatch.setattr(frame, "MAX_BODY_BYTES", 1000)
    async with launchers_of(command) as launchers:
        own = await program_pid(launchers)
        with pytest.raises(frame.FrameError, match="more than 1000"):
            await replay(launchers, "x" * 1001)

        assert await program_pid(launchers) == own


async def test_a_reference_beside_its_program_has_as_long_again(command, hold):
    async with launchers_of(command) as launchers:
        await program_pid(launchers)
        asked_s = time.monotonic()
        replaying = asyncio.create_task(replay(launchers, "endless beside", deadline_s=2.0))
        await asyncio.sleep(0.5)
        hold.unlink()
        outcome = await replaying

        assert outcome.ending is LaunchEnding.DEADLINE
        assert outcome.stages == ("run", BESIDE)
        assert time.monotonic() - asked_s > 2.5


async def test_a_gpu_that_is_sick_after_a_program_takes_neither_launches_nor_programs(
    command, sick
):
    async with launchers_of(command) as launchers:
        sick.touch()
        await replay(launchers, "fault")
        why = await asyncio.wait_for(launchers.until_without_programs(0), 20)

        assert "health kernel failed" in why
        for ask in (launch, replay):
            with pytest.raises(DeviceCordoned, match="health kernel"):
                await ask(launchers)


async def test_where_programs_do_not_start_launches_go_on(command):
    programs = replace(command, bootstrap=NO_CUDA)
    async with launchers_of(command, programs) as launchers:
        with pytest.raises(DeviceCordoned, match="this torch has no CUDA"):
            await launchers.try_programs(0)
        launchers.warm_programs(0, "ada")  # sends nothing
        with pytest.raises(DeviceCordoned, match="this torch has no CUDA"):
            await replay(launchers)

        assert "no CUDA" in await asyncio.wait_for(launchers.until_without_programs(0), 20)
        assert (await launch(launchers)).ending is LaunchEnding.OK


async def test_trying_whether_programs_run_leaves_no_process(command):
    async with launchers_of(command) as launchers:
        before = children()
        await launchers.try_programs(0)

        assert children() == before


async def test_what_ops_a_launcher_began_is_known(command):
    async with launchers_of(command) as launchers:
        outcome = await replay(launchers, "leave in op 1")

        assert outcome.ending is LaunchEnding.SILENT
        assert outcome.stages == ("run", "op-0", "op-1")


async def test_a_program_whose_time_is_over_at_its_turn_begins_nothing(command):
    async with launchers_of(command) as launchers:

        def passed():
            raise TimeoutError("the deadline of its program")

        with pytest.raises(TimeoutError, match="of its program"):
            await replay(launchers, deadline_s=passed)
        assert (await replay(launchers)).ending is LaunchEnding.OK


async def test_cancelling_a_program_ends_its_launcher(command):
    async with launchers_of(command) as launchers:
        own = int(await program_pid(launchers))
        endless = asyncio.create_task(replay(launchers, "endless"))
        await comes_true(lambda: launchers.devices[0].busy)
        endless.cancel()
        await asyncio.gather(endless, return_exceptions=True)

        assert (await launch(launchers)).ending is LaunchEnding.OK
        assert own not in children()
