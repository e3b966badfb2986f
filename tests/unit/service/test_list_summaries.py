"""Summaries of jobs, some of which another version of the service wrote."""

import pytest

from service.lists.summaries import Members, Summary, summary_of
from store.jobs.types import Standing


def state_and_kernel(record: Members) -> Summary:
    return {"state": record["state"], "kernel": record["compilation"].get("kernel")}


def kernel(job: Members) -> Summary:
    return {"kernel": job["compile_job"]["kernel"]}


def test_a_job_that_is_over_is_summed_up_by_its_record() -> None:
    record = b'{"state": "completed", "compilation": {"kernel": "add"}}'
    summary = summary_of(Standing(None, record, None), state_and_kernel, kernel)
    assert summary == {"state": "completed", "kernel": "add"}


def test_a_queued_job_is_summed_up_by_what_was_submitted() -> None:
    payload = b'{"compile_job": {"kernel": "add"}}'
    summary = summary_of(Standing("queued", None, payload), state_and_kernel, kernel)
    assert summary == {"state": "queued", "kernel": "add"}


@pytest.mark.parametrize(
    "standing",
    [
        Standing("queued", None, b'{"version": 9}'),
        Standing("queued", None, b'{"compile_job": 9}'),
        Standing(None, b'{"state": "completed", "compilation": []}', None),
        Standing(None, b"[]", None),
        Standing(None, b"no JSON", None),
        Standing(None, None, None),
    ],
)
def test_what_another_version_wrote_is_left_out(standing: Standing) -> None:
    assert summary_of(standing, state_and_kernel, kernel) is None
