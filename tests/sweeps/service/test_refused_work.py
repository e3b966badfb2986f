"""A caller whose refused sweeps took long has to wait; others do not."""

import asyncio
import threading
import time
from types import SimpleNamespace

import pytest

from service.caller import ANONYMOUS
from service.caller_threads import CallerThreads
from service.http.problems import ProblemRaised
from store.errors import QueueFull
from sweeps.service import sweep_submission
from sweeps.service.refused_work import AT_ONCE_S, SHARE, MeasuredWork, RefusedWork


class Clock:
    now_s = 100.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def threads():
    pool = CallerThreads()
    yield pool
    pool.shutdown(wait=False)


def test_little_work_costs_nothing(clock):
    refused = RefusedWork(clock)
    refused.charge("alice", AT_ONCE_S / 2)

    refused.check("alice")


def test_much_work_has_to_be_waited_for(clock):
    refused = RefusedWork(clock)
    refused.charge("alice", AT_ONCE_S)
    refused.charge("alice", 1)

    with pytest.raises(ProblemRaised) as raised:
        refused.check("alice")

    assert raised.value.slug == "too_many_requests"
    assert raised.value.headers["Retry-After"] == "20"
    clock.now_s += 1 / SHARE
    refused.check("alice")


def test_others_do_not_wait(clock):
    refused = RefusedWork(clock)
    refused.charge("alice", 100 * AT_ONCE_S)

    refused.check("bob")


async def test_work_that_raises_is_measured_too(threads):
    def works():
        began = time.thread_time()
        while time.thread_time() - began < 0.02:
            pass
        raise ValueError

    work = MeasuredWork(RefusedWork(), "alice", threads)
    with pytest.raises(ValueError):  # noqa: PT011 - of a test
        await work.run(works)

    assert work.cpu_s >= 0.02


async def test_of_many_sweeps_at_once_those_behind_a_costly_one_are_refused(threads):
    """A caller that sends a thousand before the first refusal pays for all of them."""
    refused, made = RefusedWork(), []

    def wrong():
        made.append(1)
        raise ValueError

    async def submit():
        try:
            await MeasuredWork(refused, "alice", threads).run(wrong)
        except ValueError:
            refused.charge("alice", 2 * AT_ONCE_S)

    answers = await asyncio.gather(*(submit() for _ in range(20)), return_exceptions=True)

    assert len(made) == 1
    assert [answer.slug for answer in answers if answer] == ["too_many_requests"] * 19


async def test_others_do_not_wait_for_a_caller_s_turn(threads):
    refused, is_over = RefusedWork(), threading.Event()
    alices = asyncio.create_task(MeasuredWork(refused, "alice", threads).run(is_over.wait))
    await asyncio.sleep(0.01)

    assert await MeasuredWork(refused, "bob", threads).run(lambda: "made") == "made"

    is_over.set()
    assert await alices


@pytest.mark.parametrize("has_room_for_one", [False, True])
async def test_a_sweep_for_which_there_is_no_room_is_charged(
    monkeypatch, threads, has_room_for_one
):
    """The service expands it before it finds out."""

    async def job(*given):
        given[-1].cpu_s = 2 * AT_ONCE_S
        return SimpleNamespace(id="one", caller=ANONYMOUS.id, model_dump_json=str)

    async def begin(*_):
        return has_room_for_one

    async def forget(*_):
        pass

    async def submit(*_, **__):
        raise QueueFull("sweeps", 10)

    monkeypatch.setattr(sweep_submission, "_job", job)
    refused = RefusedWork()
    state = SimpleNamespace(
        threads=threads,
        settings=SimpleNamespace(max_sweeps_per_caller=1),
        store=lambda _: SimpleNamespace(begin=begin, forget=forget),
        client=SimpleNamespace(submit=submit),
    )

    with pytest.raises((ProblemRaised, QueueFull)):
        await sweep_submission.submit_sweep(
            state, refused, None, "compilations", ANONYMOUS, "", "1"
        )

    with pytest.raises(ProblemRaised):
        refused.check(ANONYMOUS.id)
