"""Jobs for a GPU's consumer: instructions for a fake launcher, and the outcomes."""

from functools import partial

from pydantic import BaseModel

from jobs.kind import JobKind
from store.jobs.producer import JobProducer
from store.jobs.types import Priority
from tests.waiting import comes_true


class Entry(BaseModel):
    """A job that only carries instructions for the fake launcher."""

    entry: str


def kind_of_entries(name):
    """Return a kind of such jobs, whose lanes begin with `name`."""
    return JobKind(
        name=name, noun="entry", job=Entry, record=None, id_of=None, lane_of=None, is_owned=True
    )


async def submit(redis, lane, *entries):
    """Queue a job for each entry."""
    for index, entry in enumerate(entries):
        payload = Entry(entry=entry).model_dump_json().encode()
        await JobProducer(redis).submit(
            f"{index}-{entry}", lane=lane, priority=Priority.INTERACTIVE, payload=payload,
            caller="ada", deadline_ms=60_000,
        )  # fmt: skip


async def results(redis, *entries):
    """Wait for the jobs of these entries; return the record of each."""
    jobs = JobProducer(redis)
    ids = [f"{index}-{entry}" for index, entry in enumerate(entries)]
    return [(await comes_true(partial(jobs.result, job_id))).record for job_id in ids]
