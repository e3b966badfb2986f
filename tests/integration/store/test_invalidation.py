"""Invalidations: every process learns of a refresh or purge, or that it missed some."""

import asyncio

import pytest

from store.subscription import Invalidations, invalidate
from tests.waiting import comes_true


@pytest.fixture
async def heard(blocking):
    heard = Heard(blocking)
    task = asyncio.create_task(heard.invalidations.run())
    await comes_true(lambda: heard.invalidations.connected)
    yield heard
    task.cancel()
    await asyncio.wait([task])


class Heard:
    def __init__(self, blocking):
        self.keys = []
        self.losses = 0
        self.invalidations = Invalidations(blocking, self.keys.append, self._lose)

    def _lose(self):
        self.losses += 1


async def test_an_invalidation_is_heard(redis, heard):
    before = heard.invalidations.generation

    await invalidate(redis, "9f" * 32)

    await comes_true(lambda: heard.keys == ["9f" * 32])
    assert heard.invalidations.generation > before


async def test_a_lost_subscription_is_reported_and_made_again(redis, heard):
    before = heard.invalidations.generation
    await redis.execute_command("CLIENT", "KILL", "TYPE", "pubsub")

    await comes_true(lambda: heard.losses == 1)
    await comes_true(lambda: heard.invalidations.connected)
    assert heard.invalidations.generation > before

    await invalidate(redis, "key")
    await comes_true(lambda: heard.keys == ["key"])


async def test_a_silent_connection_is_kept_alive(redis, heard, monkeypatch):
    monkeypatch.setattr("store.subscription.SILENCE_S", 0.05)
    await invalidate(redis, "first")
    await redis.config_resetstat()

    async def was_asked_whether_it_lives():
        commands = await redis.info("commandstats")
        return commands.get("cmdstat_ping", {"calls": 0})["calls"] > 3

    await comes_true(was_asked_whether_it_lives)

    await invalidate(redis, "second")

    await comes_true(lambda: heard.keys == ["first", "second"])
    assert heard.losses == 0
