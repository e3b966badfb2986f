"""A child maps large bodies: the same bytes as through a pipe, and immutable."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
import pytest_asyncio

from tests.waiting import comes_true
from worker.pool import pool as pools
from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool
from worker.pool.session import ChildSession
from worker.pool.shared_bytes import SharedBytes
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parents[3]
TOOLCHAIN = ZygoteToolchain(Path(sys.executable), ROOT, "tests.integration.worker.pool_tasks")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool():
    pool = Pool(TOOLCHAIN, spares={"parse": 1, "front": 1})
    await pool.start()
    yield pool
    await pool.close()


pytestmark = pytest.mark.asyncio(loop_scope="module")


def open_files():
    return list(Path("/proc/self/fd").iterdir())


async def run(pool, task, body, profile="parse"):
    return await pool.run(profile, {"task": task}, body, deadline_s=60)


async def test_a_shared_body_is_that_of_a_pipe(pool):
    with await SharedBytes.of([b"one ", b"", b"and another"]) as body:
        assert len(body) == 15
        shared = await run(pool, "look", body)
    piped = await run(pool, "look", b"one and another")

    assert shared.result["text"] == piped.result["text"] == "one and another"
    assert [shared.result["type"], piped.result["type"]] == ["memoryview", "bytes"]
    assert shared.result["changed"] is False


async def test_a_large_body_is_whole(pool):
    part = bytes(range(256)) * (1 << 14)
    with await SharedBytes.of([part] * 5) as body:
        outcome = await run(pool, "echo", body)

    assert outcome.result["length"] == 5 * len(part)


async def test_shared_memory_cannot_be_changed(pool):
    with SharedBytes([b"text"]) as body:
        await run(pool, "look", body)
        for change in (
            lambda: os.pwrite(body.descriptor, b"x", 0),
            lambda: os.ftruncate(body.descriptor, 0),
            lambda: os.ftruncate(body.descriptor, 100),
        ):
            with pytest.raises(PermissionError):
                change()


async def test_its_child_has_no_descriptor_more(pool):
    piped = await run(pool, "look", b"text")
    with SharedBytes([b"text"]) as body:
        shared = await run(pool, "look", body)

    assert set(shared.result["open"]) <= set(piped.result["open"])


async def test_a_job_after_it_sees_nothing_of_it(pool):
    with SharedBytes([b"secret"]) as body:
        first = await run(pool, "look", body)
        after = await run(pool, "look", b"")

    assert first.result["text"] == "secret"
    assert (after.result["text"], after.result["type"]) == ("", "bytes")


async def test_its_child_is_not_kept_nor_held(pool, monkeypatch):
    monkeypatch.setattr(pools, "KEPT_TASKS", frozenset({"look"}))
    with SharedBytes([b"text"]) as body, ChildSession(pool) as session:
        await run(pool, "look", body)
        await run(session, "look", body)
        assert session._held._child is None


async def test_a_child_that_dies_of_it_is_reported_as_ever(pool):
    with SharedBytes([b"text"]) as body:
        died = await run(pool, "die", body)
        again = await run(pool, "look", body)

    assert died.ending is Ending.SIGNAL
    assert again.result["text"] == "text"


async def test_many_at_once_get_each_its_own(pool):
    async def one(number):
        with await SharedBytes.of([b"%d" % number]) as body:
            return (await run(pool, "look", body)).result["text"]

    assert await asyncio.gather(*map(one, range(6))) == [str(number) for number in range(6)]


async def test_no_descriptor_is_left_behind(pool):
    before = len(open_files())
    for _ in range(20):
        with SharedBytes([b"text"]) as body:
            await run(pool, "look", body)
    await comes_true(lambda: len(open_files()) <= before + 12)  # pipes of waiting children


async def test_what_cannot_be_written_leaves_no_file_open():
    before = set(open_files())
    with pytest.raises(TypeError):
        SharedBytes([b"text", "no bytes"])

    assert set(open_files()) <= before
