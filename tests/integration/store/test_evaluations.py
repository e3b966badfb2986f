"""Tasks of other evaluators' clients, stored under the clients' own names."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from adapters.evaluators.evaluation_tasks import MAX_BYTES, Evaluations
from store import keys


async def test_a_task_is_found_by_its_caller_under_its_evaluator_alone(redis: Redis) -> None:
    evaluations = Evaluations(redis)
    await evaluations.keep("ann", "kernelgym", "task 1", b"{}")
    assert await evaluations.find("ann", "kernelgym", "task 1") == b"{}"
    assert await evaluations.find("bob", "kernelgym", "task 1") is None
    assert await evaluations.find("ann", "flashinfer-bench", "task 1") is None


async def test_a_name_stands_for_the_task_that_was_kept_last(redis: Redis) -> None:
    evaluations = Evaluations(redis)
    await evaluations.keep("ann", "kernelgym", "again", b"1")
    await evaluations.keep("ann", "kernelgym", "again", b"2")
    assert await evaluations.find("ann", "kernelgym", "again") == b"2"


async def test_a_task_has_a_bound(redis: Redis) -> None:
    with pytest.raises(ValueError, match=f"room for {MAX_BYTES}"):
        await Evaluations(redis).keep("ann", "kernelgym", "large", b"x" * (MAX_BYTES + 1))


async def test_a_seed_follows_from_its_parts_and_a_secret(redis):
    parts = [("a", "b"), ("a", "b"), ("a", "c")]
    first, again, other = [await Evaluations(redis).seed(*each) for each in parts]
    await redis.delete(keys.EVALUATION_SEEDS)

    assert first == again
    assert first != other
    assert await Evaluations(redis).seed("a", "b") != first
