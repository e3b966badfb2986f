"""Jobs for a GPU's station: what a fake launcher is to do, and how that ended."""

from functools import partial

from store.jobs.producer import JobProducer
from store.jobs.types import Priority
from tests.waiting import comes_true


async def submit(redis, lane, *entries):
    """Queue a job for each entry."""
    for index, entry in enumerate(entries):
        await JobProducer(redis).submit(
            f"{index}-{entry}", lane=lane, priority=Priority.INTERACTIVE, payload=entry.encode(),
            caller="ada", deadline_ms=60_000,
        )  # fmt: skip


async def results(redis, *entries):
    """Wait for the jobs of these entries; return the record of each."""
    jobs = JobProducer(redis)
    ids = [f"{index}-{entry}" for index, entry in enumerate(entries)]
    return [(await comes_true(partial(jobs.result, job_id))).record for job_id in ids]
