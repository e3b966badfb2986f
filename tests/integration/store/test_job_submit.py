"""Submitting: one job for equal work, recent results, refresh, bounds."""

import asyncio

import pytest

from store.errors import CallerQueueFull, QueueFull
from store.jobs.types import Heartbeat, Priority, State, SubmitOutcome, Submitted


async def test_a_new_job_waits_in_its_lane(jobs, submit):
    assert await submit("vector-add") == Submitted("vector-add", SubmitOutcome.MISS)

    status = await jobs.state("vector-add")
    assert (status.state, status.position, status.started_at_ms) == (State.QUEUED, 1, None)
    assert await jobs.payload("vector-add") == b'{"source": "..."}'
    assert await jobs.queued("compile:triton-3.9.0") == 1
    assert await jobs.lane("vector-add") == "compile:triton-3.9.0"
    assert await jobs.lane("nothing") is None


async def test_two_hundred_equal_submits_are_one_job(jobs, submit, worker):
    answers = await asyncio.gather(
        *(submit("vector-add", caller=f"caller-{n}") for n in range(200))
    )

    outcomes = [answer.outcome for answer in answers]
    assert outcomes.count(SubmitOutcome.MISS) == 1
    assert outcomes.count(SubmitOutcome.JOIN) == 199
    assert (await worker().claim(["compile:triton-3.9.0"])).id == "vector-add"
    assert await worker().claim(["compile:triton-3.9.0"]) is None


async def test_a_reusable_result_answers_the_next_submit(submit, worker):
    await submit("vector-add")
    claim = await worker().claim(["compile:triton-3.9.0"])
    await worker().finish("vector-add", claim.token, b"{...}", reusable=True, keep_s=60)

    assert await submit("vector-add") == Submitted("vector-add", SubmitOutcome.HIT, b"{...}")


async def test_a_result_that_is_not_reusable_is_replaced_by_a_new_job(jobs, submit, worker):
    await submit("vector-add")
    claim = await worker().claim(["compile:triton-3.9.0"])
    await worker().finish("vector-add", claim.token, b"deadline", reusable=False, keep_s=60)
    assert (await jobs.result("vector-add")).record == b"deadline"

    assert await submit("vector-add") == Submitted("vector-add", SubmitOutcome.MISS)
    assert await jobs.result("vector-add") is None


async def test_a_forgotten_result_answers_no_request(jobs, submit, worker):
    await submit("vector-add")
    claim = await worker().claim(["compile:triton-3.9.0"])
    await worker().finish("vector-add", claim.token, b"{...}", reusable=True, keep_s=60)

    await jobs.forget("vector-add")

    assert await submit("vector-add") == Submitted("vector-add", SubmitOutcome.MISS)


async def test_a_join_raises_the_priority(jobs, submit, worker):
    await submit("sweep-1", priority=Priority.BATCH)
    await submit("sweep-2", priority=Priority.BATCH, caller="bob")
    await submit("sweep-2", priority=Priority.INTERACTIVE, caller="carol")

    assert (await jobs.state("sweep-2")).position == 1
    assert (await worker().claim(["compile:triton-3.9.0"])).id == "sweep-2"
    assert (await worker().claim(["compile:triton-3.9.0"])).id == "sweep-1"


async def test_a_join_never_lowers_the_priority(jobs, submit):
    await submit("vector-add", priority=Priority.INTERACTIVE)
    await submit("vector-add", priority=Priority.BATCH, caller="bob")

    assert (await jobs.state("vector-add")).priority == Priority.INTERACTIVE


async def test_a_join_extends_the_deadline_and_never_shortens_it(submit, worker):
    await submit("long", deadline_ms=1_000)
    await submit("long", deadline_ms=50_000, caller="bob")
    await submit("long", deadline_ms=10, caller="carol")

    claim = await worker().claim(["compile:triton-3.9.0"])
    assert claim.deadline_at_ms - claim.submitted_at_ms >= 50_000


async def test_a_refresh_ignores_a_recent_result(jobs, submit, worker):
    await submit("vector-add")
    claim = await worker().claim(["compile:triton-3.9.0"])
    await worker().finish("vector-add", claim.token, b"old", reusable=True, keep_s=60)

    assert await submit("vector-add", refresh=True) == Submitted("vector-add", SubmitOutcome.MISS)
    assert await jobs.result("vector-add") is None
    assert (await worker().claim(["compile:triton-3.9.0"])).refresh


async def test_a_refresh_marks_a_queued_job(submit, worker):
    await submit("vector-add")
    assert await submit("vector-add", refresh=True) == Submitted("vector-add", SubmitOutcome.JOIN)

    assert (await worker().claim(["compile:triton-3.9.0"])).refresh
    assert await worker().claim(["compile:triton-3.9.0"]) is None


async def test_a_refresh_never_stops_an_attempt_that_others_wait_for(jobs, submit, worker):
    await submit("vector-add")
    running = await worker().claim(["compile:triton-3.9.0"])

    joined = await submit("vector-add", refresh=True, caller="bob", timeout_ms=1)

    assert joined == Submitted("vector-add", SubmitOutcome.JOIN, is_older=True)
    assert await worker().renew("vector-add", running.token) == Heartbeat.OK
    assert await worker().finish("vector-add", running.token, b"ok", reusable=True, keep_s=60)
    assert await submit("vector-add", refresh=True, caller="bob") == Submitted(
        "vector-add", SubmitOutcome.MISS
    )
    assert (await worker().claim(["compile:triton-3.9.0"])).refresh


async def test_a_refresh_does_not_change_what_others_asked_for(submit, worker):
    await submit("vector-add", payload=b"alice's")
    await submit("vector-add", payload=b"bob's", caller="bob", refresh=True)

    assert (await worker().claim(["compile:triton-3.9.0"])).payload == b"alice's"


async def test_a_second_refresh_joins_the_running_one(submit, worker):
    await submit("vector-add", refresh=True)
    claim = await worker().claim(["compile:triton-3.9.0"])

    assert await submit("vector-add", refresh=True, caller="bob") == Submitted(
        "vector-add", SubmitOutcome.JOIN
    )
    assert await worker().renew("vector-add", claim.token) == Heartbeat.OK


async def test_equal_jobs_of_other_ids_join_the_living_one(submit, worker):
    await submit("first", equal_name="equal")

    joined = await submit("second", equal_name="equal")

    assert joined == Submitted("first", SubmitOutcome.JOIN)
    claim = await worker().claim(["compile:triton-3.9.0"])
    assert claim.id == "first"
    assert await worker().claim(["compile:triton-3.9.0"]) is None
    await worker().finish("first", claim.token, b"ok", reusable=True, keep_s=60)
    assert (await submit("third", equal_name="equal")).outcome == SubmitOutcome.MISS


async def test_the_queue_of_a_lane_is_bounded(submit):
    for n in range(50):
        await submit(f"job-{n}", caller=f"caller-{n % 5}")

    with pytest.raises(QueueFull, match="already holds 50 jobs"):
        await submit("one too many", caller="caller-1")
    assert (await submit("job-7", caller="dave")).outcome == SubmitOutcome.JOIN


async def test_the_queue_of_a_caller_is_bounded(submit, worker):
    for n in range(20):
        await submit(f"job-{n}", priority=Priority.BATCH if n % 2 else Priority.INTERACTIVE)

    with pytest.raises(CallerQueueFull, match="You already have 20 jobs"):
        await submit("one too many")
    assert (await submit("bob's", caller="bob")).outcome == SubmitOutcome.MISS
    await worker().claim(["compile:triton-3.9.0"])
    assert (await submit("now there is room")).outcome == SubmitOutcome.MISS


async def test_a_job_needs_a_caller(submit):
    with pytest.raises(ValueError, match="needs a caller"):
        await submit("vector-add", caller="")
