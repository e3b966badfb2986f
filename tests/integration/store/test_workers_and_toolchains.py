"""Workers live by their heartbeat; toolchains and the default one outlive them."""

import pytest

from store.workers import Toolchains, Worker, Workers

WORKER = Worker("host-1:812", "compile", "triton-3.9.0-x86_64", None, "standard", 2, 1)


@pytest.fixture
def workers(redis):
    return Workers(redis)


@pytest.fixture
def toolchains(redis):
    return Toolchains(redis)


async def test_a_worker_with_a_heartbeat_is_listed(workers):
    await workers.beat(WORKER)

    assert await workers.list() == [WORKER]


async def test_the_last_heartbeat_counts(workers):
    await workers.beat(WORKER)
    idle = Worker("host-1:812", "compile", "triton-3.9.0-x86_64", None, "standard", 2, 0)
    await workers.beat(idle)

    assert await workers.list() == [idle]


async def test_a_worker_without_a_heartbeat_leaves_the_list(workers, redis):
    await workers.beat(WORKER)
    assert 0 < await redis.ttl("tritond:worker:host-1:812") <= 15
    await redis.delete("tritond:worker:host-1:812")

    assert await workers.list() == []
    assert await redis.scard("tritond:workers") == 0


async def test_a_worker_of_another_version_is_listed(workers, redis):
    await redis.set("tritond:worker:new", b'{"id": "new", "kind": "compile", "colour": "red"}')
    await redis.sadd("tritond:workers", "new")

    assert [(worker.id, worker.slots) for worker in await workers.list()] == [("new", 0)]


async def test_a_worker_that_stops_leaves_at_once(workers):
    await workers.beat(WORKER)
    await workers.unregister("host-1:812")

    assert await workers.list() == []


async def test_the_first_toolchain_becomes_the_default_and_stays_it(toolchains):
    assert await toolchains.default() is None
    await toolchains.register("triton-3.9.0", b'{"triton": "3.9.0"}')
    await toolchains.register("triton-4.0.0", b'{"triton": "4.0.0"}')

    assert await toolchains.default() == "triton-3.9.0"
    assert await toolchains.describe("triton-4.0.0") == b'{"triton": "4.0.0"}'
    assert list(await toolchains.list()) == ["triton-3.9.0", "triton-4.0.0"]


async def test_an_operator_changes_the_default(toolchains):
    await toolchains.register("triton-3.9.0", b"{}")
    await toolchains.register("triton-4.0.0", b"{}")

    assert await toolchains.set_default("triton-4.0.0")
    assert await toolchains.default() == "triton-4.0.0"
    assert not await toolchains.set_default("never offered")
    assert await toolchains.default() == "triton-4.0.0"


async def test_a_forgotten_toolchain_is_unknown(toolchains):
    await toolchains.register("triton-3.9.0", b"{}")
    await toolchains.forget("triton-3.9.0")

    assert await toolchains.describe("triton-3.9.0") is None


async def test_workers_of_an_earlier_run_are_forgotten_until_they_are_heard_of(workers):
    await workers.beat(WORKER)
    await workers.forget_all()
    assert await workers.list() == []

    await workers.beat(WORKER)
    assert await workers.list() == [WORKER]


async def test_what_trials_found_is_kept_by_what_was_tried(toolchains):
    await toolchains.note_tried("this one", ["cuda:90", "hip:gfx942"])

    assert await toolchains.tried("this one") == ["cuda:90", "hip:gfx942"]
    assert await toolchains.tried("another") is None


async def test_the_toolchain_that_was_offered_last_is_listed_last(toolchains):
    for name in ("b", "a", "c", "b"):
        await toolchains.register(name, b"{}")

    assert list(await toolchains.list()) == ["a", "c", "b"]


async def test_a_forgotten_toolchain_loses_its_turn(toolchains, redis):
    await toolchains.register("a", b"{}")
    await toolchains.forget("a")

    assert await redis.zcard("tritond:toolchains-offered") == 0
