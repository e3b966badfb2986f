"""Equal requests at the same time: one asks, and all get its answer."""

import asyncio

import pytest

from jobs.deadline import Deadline
from service.compilations.answer import Answer
from service.compilations.response_cache import SingleFlight
from tests.waiting import comes_true

DONE = Answer("k", "succeeded", b"{}", "miss")


class FakeLookup:
    """Counts calls, and answers when a test lets it."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self.asked = 0
        self.go = asyncio.Event()
        self._answers = list(answers)

    async def __call__(self) -> Answer:
        self.asked += 1
        answer = self._answers.pop(0)
        await self.go.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer


async def three(asking: FakeLookup, *, wait_s: float = 5) -> list[Answer | BaseException]:
    flights = SingleFlight()
    equal = [
        asyncio.create_task(flights.share("equal", Deadline(wait_s), asking)) for _ in range(3)
    ]
    await comes_true(lambda: asking.asked)
    asking.go.set()
    return await asyncio.gather(*equal, return_exceptions=True)


async def test_one_asks_and_the_others_join():
    asking = FakeLookup(DONE)

    answers = await three(asking)

    assert asking.asked == 1
    assert [answer.cache for answer in answers] == ["miss", "join", "join"]


async def test_a_shared_hit_stays_a_hit():
    answers = await three(FakeLookup(Answer("k", "succeeded", b"{}", "hit")))

    assert [answer.cache for answer in answers] == ["hit"] * 3


async def test_when_the_first_fails_the_others_ask_for_themselves():
    answers = await three(FakeLookup(OSError("gone"), DONE, DONE))

    assert [type(answer) for answer in answers] == [OSError, Answer, Answer]


async def test_when_the_first_is_cancelled_the_others_ask_for_themselves():
    flights, asking = SingleFlight(), FakeLookup(DONE, DONE)
    first = asyncio.create_task(flights.share("equal", Deadline(5), asking))
    second = asyncio.create_task(flights.share("equal", Deadline(5), asking))
    await comes_true(lambda: asking.asked)

    first.cancel()
    asking.go.set()

    assert await second == DONE
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_caller_with_an_earlier_deadline_asks_separately():
    flights, patient = SingleFlight(), FakeLookup(DONE)
    unfinished = FakeLookup(Answer("k", "running", b"{}", "join"))
    unfinished.go.set()
    first = asyncio.create_task(flights.share("equal", Deadline(60), patient))
    await comes_true(lambda: patient.asked)

    answer = await flights.share("equal", Deadline(0.01), unfinished)

    assert (answer.state, unfinished.asked) == ("running", 1)
    patient.go.set()
    assert await first == DONE


async def test_what_is_over_is_not_shared():
    flights, asking = SingleFlight(), FakeLookup(DONE, DONE)
    asking.go.set()

    await flights.share("equal", Deadline(5), asking)
    await flights.share("equal", Deadline(5), asking)

    assert asking.asked == 2
