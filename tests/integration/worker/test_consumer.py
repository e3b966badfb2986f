"""A consumer's results for failing handlers and unreadable jobs."""

import asyncio
import contextlib
from functools import partial

import pytest
from pydantic import BaseModel

from jobs.kind import JobKind
from store.byte_limits import MAX_FAILURE_RECORD_BYTES, MAX_RECORD_BYTES
from store.jobs.consumer import JobConsumer
from store.jobs.producer import JobProducer
from store.jobs.types import Priority, QueueLimits
from tests.integration.worker.entry_jobs import Entry, results, submit
from tests.waiting import comes_true
from worker.consumer import Consumer, Handler, Queue
from worker.pool.zygote_client import ZygoteError


class Outcome(BaseModel):
    state: str
    problem: str
    slug: str = ""
    entry: str = ""


def record(one):
    entry = "" if one.job is None else one.job.entry
    if one.problem is None:
        return Outcome(state=one.state, problem="", entry=entry)
    problem = one.problem
    return Outcome(state=one.state, problem=problem.detail, slug=problem.slug, entry=entry)


KIND = JobKind(
    name="entries", noun="entry", job=Entry, record=record, id_of=lambda job: job.entry,
    lane_of=lambda _: "entries", is_owned=True,
)  # fmt: skip


@contextlib.asynccontextmanager
async def consuming(redis, blocking, do):
    consumer = Consumer(Queue(redis, blocking, 5.0), "c", ["entries"], [Handler(KIND, do)], 2)
    running = asyncio.create_task(consumer.run())
    yield consumer
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_mistake_of_ours_is_the_record_of_its_job(redis, blocking):
    async def fail(_):
        raise ZeroDivisionError

    async with consuming(redis, blocking, fail):
        await submit(redis, "entries", "one")
        ended = Outcome.model_validate_json((await results(redis, "one"))[0])

    assert ended.state == "failed"
    assert "made a mistake; its log holds the details under one" in ended.problem


@pytest.mark.parametrize(
    ("size_bytes", "slug"),
    [(MAX_RECORD_BYTES + 1, "result_too_large"), (150_000, "too_many_requests")],
)
async def test_a_job_whose_record_is_not_kept_ends_with_a_named_failure_and_once(
    redis, blocking, size_bytes, slug
):
    attempts, kept = [], []

    async def do(attempt):
        attempts.append(attempt)
        record = Outcome(state="completed", problem="x" * size_bytes).model_dump_json().encode()
        kept.append(await attempt.finish(record, reusable=True, keep_s=3600))

    jobs = JobProducer(redis, QueueLimits(kept_bytes_per_caller=120_000))
    async with consuming(redis, blocking, do):
        await jobs.submit(
            "one", lane="entries", priority=Priority.BATCH, payload=b'{"entry": "e"}',
            caller="ada", deadline_ms=60_000,
        )  # fmt: skip
        result = await comes_true(partial(jobs.result, "one"))
        ended = Outcome.model_validate_json(result.record)

    assert (ended.state, ended.slug, ended.entry) == ("failed", slug, "e")
    assert kept == [False]
    assert len(attempts) == 1


async def test_a_failure_leaves_out_a_job_that_is_too_large_to_be_quoted():
    long = Entry(entry="e" * MAX_FAILURE_RECORD_BYTES)

    end = Outcome.model_validate_json(KIND.mistake(long).record)

    assert (end.state, end.entry) == ("failed", "")


async def test_a_job_whose_children_do_not_start_is_done_by_another_attempt(redis, blocking):
    errors, reaper = [ZygoteError("no zygote")], JobConsumer(redis, blocking, "reaper")

    async def do(attempt):
        if errors:
            raise errors.pop()
        await attempt.finish(b"done", reusable=True, keep_s=60)

    async def is_done():
        await reaper.reap()  # gives the job to the next attempt
        return await JobProducer(redis).result("0-one")

    async with consuming(redis, blocking, do):
        await submit(redis, "entries", "one")

        assert (await comes_true(is_done)).record == b"done"


async def test_a_job_of_another_version_is_refused_with_one_sentence(redis, blocking):
    jobs, reaper = JobProducer(redis), JobConsumer(redis, blocking, "reaper")
    async with consuming(redis, blocking, None):
        await jobs.submit(
            "old", lane="entries", priority=Priority.INTERACTIVE, payload=b'{"spam": 1}',
            caller="ada", deadline_ms=60_000,
        )  # fmt: skip

        (claim,) = await comes_true(reaper.reap)

    ended = Outcome.model_validate_json(KIND.expired(claim.id, claim.payload, "exhausted").record)
    assert "another version of tritond wrote it" in ended.problem
