"""The fair queue of a GPU: interactive work first, callers in turn, no caller starves."""

import asyncio

import pytest

from worker.fair_queue import MAX_PASSED, FairQueue, FairSemaphore


class WaitingCallers:
    """Callers that wait for a turn, and the order in which they got it."""

    def __init__(self, turns):
        self.turns, self.served, self.tasks = turns, [], []

    async def join(self, caller, *, is_batch=False):
        self.tasks.append(asyncio.create_task(self._take(caller, is_batch)))
        await asyncio.sleep(0)

    async def _take(self, caller, is_batch):
        await self.turns.take(caller, is_batch=is_batch)
        self.served.append(caller)

    async def serve(self, count):
        for _ in range(count):
            self.turns.give_back()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return self.served


async def taken():
    turns = FairQueue()
    await turns.take("the one who has it")
    return WaitingCallers(turns)


async def test_as_many_as_there_are_turns_have_one_at_once():
    turns = FairQueue(2)
    await turns.take("ada")
    await turns.take("bob")
    line = WaitingCallers(turns)
    await line.join("eve")

    assert line.served == []
    assert await line.serve(1) == ["eve"]


async def test_interactive_work_goes_before_work_that_came_earlier_in_the_background():
    line = await taken()
    await line.join("batch", is_batch=True)
    await line.join("ada")

    assert await line.serve(2) == ["ada", "batch"]


async def test_a_caller_with_many_jobs_lets_others_in_between():
    line = await taken()
    for caller in ("ada", "ada", "ada", "bob"):
        await line.join(caller)

    assert await line.serve(4) == ["ada", "bob", "ada", "ada"]


async def test_work_in_the_background_is_not_passed_over_for_ever():
    line = await taken()
    await line.join("batch", is_batch=True)
    for _ in range(MAX_PASSED + 2):
        await line.join("ada")

    assert (await line.serve(MAX_PASSED + 1))[MAX_PASSED] == "batch"


async def test_a_turn_of_one_who_is_cancelled_is_the_next_ones():
    line = await taken()
    await line.join("gone")
    await line.join("ada")
    line.tasks[0].cancel()
    await asyncio.sleep(0)

    assert await line.serve(1) == ["ada"]


async def test_a_turn_that_is_granted_and_cancelled_at_once_is_not_lost():
    line = await taken()
    await line.join("gone")
    await line.join("ada")
    line.turns.give_back()  # to the first, which has not run since
    line.tasks[0].cancel()
    for _ in range(3):
        await asyncio.sleep(0)

    assert line.served == ["ada"]


async def test_a_turn_ends_with_its_block_also_when_that_fails():
    turns = FairQueue()
    with pytest.raises(ValueError, match="wrong"):
        async with turns.turn("ada"):
            raise ValueError("wrong")

    await turns.take("bob")


async def hold(places, caller, held):
    async with places.turn(caller):
        held.append(caller)
        await asyncio.Event().wait()


async def test_one_whose_work_hangs_leaves_a_place_for_the_others():
    places, held = FairSemaphore(3), []
    hanging = [asyncio.create_task(hold(places, "ada", held)) for _ in range(9)]
    await asyncio.sleep(0.01)

    async with asyncio.timeout(5), places.turn("bob"):
        assert held == ["ada", "ada"]

    for task in hanging:
        task.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)


async def test_places_forget_callers_who_are_gone():
    places, held = FairSemaphore(2), []
    hanging = asyncio.create_task(hold(places, "ada", held))
    waiting = asyncio.create_task(hold(places, "ada", held))
    await asyncio.sleep(0.01)
    for task in (hanging, waiting):
        task.cancel()
    await asyncio.gather(hanging, waiting, return_exceptions=True)

    assert not places._of_callers
    async with asyncio.timeout(5), places.turn("ada"):
        assert held == ["ada"]


async def test_of_callers_that_wait_the_one_that_used_least_time_goes_next():
    line = await taken()
    line.turns.charge("ada", 5.0)
    for caller in ("ada", "ada", "bob", "bob"):
        await line.join(caller)

    assert await line.serve(4) == ["bob", "bob", "ada", "ada"]


async def test_a_caller_that_comes_back_has_no_credit():
    line = await taken()
    line.turns.charge("ada", 5.0)
    await line.join("ada")
    await line.serve(1)
    for caller in ("ada", "ada", "bob", "bob"):
        await line.join(caller)

    assert await line.serve(4) == ["ada", "ada", "bob", "ada", "bob"]


async def test_time_that_a_caller_uses_while_it_waits_counts() -> None:
    queue, order = FairQueue(), []

    async def wait(caller: str) -> None:
        async with queue.turn(caller):
            order.append(caller)

    await queue.take("busy")
    waiting = [asyncio.create_task(wait(caller)) for caller in ("alice", "bob", "carol")]
    await asyncio.sleep(0)
    queue.charge("alice", 3.0)
    queue.charge("bob", 1.0)
    queue.give_back()
    await asyncio.gather(*waiting)

    assert order == ["carol", "bob", "alice"]
