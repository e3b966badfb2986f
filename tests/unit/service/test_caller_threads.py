"""Threads for work on requests: each caller has a share, and what is not wanted ends."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from compiler.wanted import IS_WANTED, Unwanted, check_wanted
from jobs.work_context import CALLER_ID, WORK
from service.caller_threads import CallerThreads
from tests.unit.service.applications import application
from tests.waiting import comes_true


@pytest.fixture
def threads() -> Iterator[CallerThreads]:
    pool = CallerThreads(threads=3, of_a_caller=2)
    yield pool
    pool.shutdown()


def run(threads: CallerThreads, caller: str, make: Callable[[], object]) -> asyncio.Task[object]:
    async def as_caller() -> object:
        WORK.set({CALLER_ID: caller})
        return await threads.run(make)

    return asyncio.create_task(as_caller())


class Held:
    """Work that is in a thread until it is let go."""

    def __init__(self, name: str, began: list[str]) -> None:
        self.name, self.began, self.end = name, began, threading.Event()

    def __call__(self) -> str:
        self.began.append(self.name)
        assert self.end.wait(60)
        return self.name


@asynccontextmanager
async def held(threads: CallerThreads, caller: str, count: int) -> AsyncIterator[list[Held]]:
    began: list[str] = []
    work = [Held(f"{caller} {index}", began) for index in range(count)]
    tasks = [run(threads, caller, each) for each in work]
    try:
        await asyncio.sleep(0)
        yield work
    finally:
        for each in work:
            each.end.set()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_caller_occupies_no_more_than_its_share_and_others_do_not_wait(threads):
    async with held(threads, "alice", 8) as work:
        began = work[0].began
        assert await comes_true(lambda: len(began) == 2)
        assert await run(threads, "bob", lambda: "made") == "made"
        assert await run(threads, "carol", lambda: "made") == "made"
        assert began == ["alice 0", "alice 1"]

        work[0].end.set()
        assert await comes_true(lambda: len(began) == 3)
        assert began[2] == "alice 2"


async def test_callers_take_turns():
    threads, order = CallerThreads(threads=1, of_a_caller=1), []
    async with held(threads, "first", 1) as [first]:
        tasks = [
            run(threads, name[0], lambda name=name: order.append(name))
            for name in ("a1", "a2", "a3", "b1", "c1", "b2")
        ]
        await asyncio.sleep(0)
        first.end.set()
        await asyncio.gather(*tasks)
    threads.shutdown()
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]


async def test_an_error_leaves_the_thread_to_the_next(threads):
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            await run(threads, "alice", lambda: 1 / 0)
    assert await run(threads, "alice", lambda: "made") == "made"


async def test_work_whose_request_is_cancelled_ends_at_its_next_step(threads):
    began, ended = threading.Event(), []

    def steps() -> None:
        began.set()
        try:
            while True:
                check_wanted()
        except Unwanted:
            ended.append(True)
            raise

    task = run(threads, "alice", steps)
    assert await comes_true(began.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await comes_true(lambda: ended)
    assert await run(threads, "alice", lambda: "made") == "made"


async def test_a_cancelled_request_keeps_its_thread_until_its_work_has_ended():
    threads = CallerThreads(threads=2, of_a_caller=1)
    async with held(threads, "alice", 1) as [first]:
        assert await comes_true(lambda: first.began)
        (task,) = [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]
        task.cancel()
        second = run(threads, "alice", lambda: "made")
        assert await run(threads, "bob", lambda: "made") == "made"
        assert not second.done()
        first.end.set()
        assert await second == "made"
    threads.shutdown()


async def test_a_request_that_is_cancelled_while_it_waits_leaves_its_place(threads):
    async with held(threads, "alice", 2) as work:
        waiting = [run(threads, "alice", lambda: "never") for _ in range(3)]
        last = run(threads, "alice", lambda: "made")
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        work[0].end.set()
        assert await last == "made"
        assert all(task.cancelled() for task in waiting)


async def test_work_of_a_client_that_has_gone_does_not_begin(threads):
    made, here = [], [True]
    IS_WANTED.set(lambda: here[0])
    async with held(threads, "alice", 2) as work:
        task = run(threads, "alice", lambda: made.append(1))
        await asyncio.sleep(0)
        here[0] = False
        work[0].end.set()
        with pytest.raises(Unwanted):
            await task
    assert made == []


async def test_what_to_thread_is_asked_for_has_the_share_of_its_caller(threads):
    asyncio.get_running_loop().set_default_executor(threads)
    ended: list[int] = []

    async def as_alice() -> None:
        WORK.set({CALLER_ID: "alice"})
        await asyncio.to_thread(ended.append, 1)

    async with held(threads, "alice", 2) as work:
        waiting = asyncio.create_task(as_alice())
        assert await asyncio.to_thread(len, "of no caller") == 12
        assert not waiting.done()
        work[0].end.set()
        await waiting
    assert ended == [1]


async def test_the_threads_of_a_service_are_those_of_its_callers(monkeypatch):
    chosen = []
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(type(loop), "set_default_executor", lambda _, pool: chosen.append(pool))
    app = application()
    async with app.router.lifespan_context(app):
        assert chosen == [app.state.service.threads]
