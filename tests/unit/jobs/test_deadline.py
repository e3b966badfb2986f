"""The time that a launch has left for its remaining steps."""

import asyncio

import pytest

from jobs.deadline import Deadline, DeadlinePassed


def test_a_step_may_take_what_it_is_allowed_while_there_is_more() -> None:
    assert Deadline(300).limit_s(30) == 30


def test_a_step_may_take_what_is_left_at_most() -> None:
    assert 0 < Deadline(300, spent_s=290).limit_s(30) <= 10


@pytest.mark.parametrize("spent_s", [5, 6])
def test_without_time_left_no_step_begins(spent_s: float) -> None:
    with pytest.raises(DeadlinePassed, match="deadline_s = 5 s"):
        Deadline(5, spent_s).limit_s(30)


async def test_waiting_for_others_ends_with_the_deadline() -> None:
    with pytest.raises(DeadlinePassed, match="deadline_s = 5 s"):
        async with Deadline(5, spent_s=4.95).bounding():
            await asyncio.Event().wait()


async def test_what_is_over_in_time_is_not_bounded() -> None:
    async with Deadline(5).bounding():
        await asyncio.sleep(0)


async def test_without_time_left_nothing_is_waited_for() -> None:
    with pytest.raises(DeadlinePassed):
        async with Deadline(5, spent_s=5).bounding():
            raise AssertionError("it has begun")


async def test_an_error_while_waiting_is_raised_unchanged() -> None:
    with pytest.raises(ValueError, match="unrelated"):
        async with Deadline(5).bounding():
            raise ValueError("unrelated")
