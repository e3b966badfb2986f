"""A byte budget: holders stay within the limit, and waiters are served in order."""

import asyncio

from worker.bytes_in_flight import BytesInFlight


async def bring(room, size_bytes, log, leave):
    await room.take(size_bytes)
    log.append(size_bytes)
    await leave.wait()
    room.give_back(size_bytes)


async def started(room, *sizes):
    log, leave = [], [asyncio.Event() for _ in sizes]
    tasks = [
        asyncio.create_task(bring(room, size, log, event))
        for size, event in zip(sizes, leave, strict=True)
    ]
    await asyncio.sleep(0)
    return log, leave, tasks


async def settle():
    for _ in range(4):
        await asyncio.sleep(0)


async def test_a_large_request_waits_and_no_later_one_overtakes_it():
    log, leave, _ = await started(BytesInFlight(10), 6, 5, 1)
    assert log == [6]

    leave[0].set()
    await settle()
    assert log == [6, 5, 1]


async def test_more_than_the_limit_goes_alone():
    log, leave, _ = await started(BytesInFlight(10), 1000, 1)
    assert log == [1000]

    leave[0].set()
    await settle()
    assert log == [1000, 1]


async def test_a_cancelled_waiter_keeps_no_room_and_blocks_no_other():
    log, leave, tasks = await started(BytesInFlight(10), 6, 5, 4)
    tasks[1].cancel()
    await settle()
    assert log == [6, 4]

    leave[0].set()
    leave[2].set()
    await settle()
    assert all(task.done() for task in tasks)


async def test_one_callers_many_keep_no_other_caller_waiting():
    room, order = BytesInFlight(10), []

    async def bring_for(caller):
        await room.take(6, caller)
        order.append(caller)
        await asyncio.sleep(0)
        room.give_back(6)

    async with asyncio.TaskGroup() as group:
        for caller in ("one", "one", "one", "one", "one", "other"):
            group.create_task(bring_for(caller))

    assert order == ["one", "one", "other", "one", "one", "one"]
