"""The real scripts of the job protocol against a plain model of it, for random sequences of calls.

Hypothesis calls submit, claim, finish and the rest in any order, and lets callers and workers
vanish between any two commands: a command whose answer was lost, a lease that ends, a reaper that
falls silent, a wake-up that its worker takes to the grave. After each step the model knows what
must be true, and Redis must agree. Hypothesis shrinks what fails to a few steps.
"""

import os

import orjson
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from store import keys
from store.batches import ITEM_BYTES, EndedItems, PlannedItem
from store.embedded import EmbeddedValkey
from store.errors import CallerBytesFull, NoRoomForRecord, QueueFull
from store.jobs.types import (
    Claim,
    Heartbeat,
    Membership,
    Priority,
    SubmitOutcome,
    Waiting,
    interest_of_batch,
    interest_of_caller,
)
from tests.integration.store.modelled_store import (
    CALLERS,
    CANCELLED,
    JOBS,
    LANES,
    PAYLOAD,
    REAPERS,
    Ended,
    Job,
    ModelledStore,
    lane_of,
)
from tests.shares import examples

BATCHES = ("batch-0", "batch-1")
REQUESTS = ("request-0", "request-1")
EXAMPLES = examples(int(os.environ.get("TRITOND_FUZZ_JOBS", "6")))
"""`make test-slow` tries more."""

job_ids, callers = st.sampled_from(JOBS), st.sampled_from(CALLERS)
requests, batches = st.sampled_from(REQUESTS), st.sampled_from(BATCHES)
recent = st.integers(0, 5)
choice = st.integers(0, 11)
"""Chooses one of the existing items, so that most calls have an effect."""


class JobProtocol(ModelledStore):
    """The calls of callers and workers, and the losses of both, in any order."""

    # callers

    @rule(
        job_id=job_ids,
        caller=callers,
        priority=st.sampled_from(Priority),
        refresh=st.sampled_from([False, False, False, True]),
        timeout_ms=st.sampled_from([0, 1_000, 5_000]),
        request=st.none() | requests,
        is_only=st.booleans(),
    )
    def submit(
        self,
        job_id: str,
        caller: str,
        priority: Priority,
        refresh: bool,
        timeout_ms: int,
        request: str | None,
        is_only: bool,
    ) -> None:
        waiting = Waiting(request, 60_000, is_only=is_only) if request else None
        interests = [] if waiting and is_only else [interest_of_caller(caller)]
        interests += [waiting.interest] if waiting else []
        self.submitted(job_id, caller, priority, refresh, timeout_ms, waiting, None, interests)

    @rule(batch=batches, caller=callers, wanted=st.sets(job_ids, min_size=1))
    def create_batch(self, batch: str, caller: str, wanted: set[str]) -> None:
        if batch not in self.items:
            items = [PlannedItem(job_id) for job_id in sorted(wanted)]
            plan = orjson.dumps([[item.id, item.include] for item in items])
            size_bytes = len(plan) + ITEM_BYTES * len(items)
            if self.submits and not self.has_room(caller, size_bytes):
                with pytest.raises(CallerBytesFull):
                    self.run(self.batches.create(batch, caller, "compile", items))
                return
            self.run(self.batches.create(batch, caller, "compile", items))
            self.kept[caller] += size_bytes
            self.items[batch] = dict.fromkeys(sorted(wanted))
            self.batch_callers[batch] = caller

    @precondition(lambda self: self.items)
    @rule(caller=callers, n=choice)
    def submit_item(self, caller: str, n: int) -> None:
        """Its service submits one item of a batch, or submits it again after a lost answer."""
        open_items = [
            (batch, job_id)
            for batch, items in self.items.items()
            for job_id, end in items.items()
            if end is None
        ]
        for batch, job_id in self.chosen(n, open_items):
            index = str(list(self.items[batch]).index(job_id))
            membership = Membership(batch, index)
            interest = interest_of_batch(batch)
            self.submitted(job_id, caller, Priority.BATCH, False, 0, None, membership, [interest])

    def submitted(
        self,
        job_id: str,
        caller: str,
        priority: Priority,
        refresh: bool,
        timeout_ms: int,
        waiting: Waiting | None,
        membership: Membership | None,
        interests: list[str],
    ) -> None:
        self.submits += 1
        expected = self.expected_outcome(job_id, refresh)
        try:
            answer = self.run(
                self.producer.submit(
                    job_id, lane=lane_of(job_id), priority=priority, payload=PAYLOAD,
                    caller=caller, deadline_ms=60_000 + 1_000 * self.submits, refresh=refresh,
                    timeout_ms=timeout_ms, waiting=waiting, membership=membership,
                )
            )  # fmt: skip
        except QueueFull as refusal:
            may_refuse = self.may_refuse(refusal, job_id, caller)
            assert (expected, may_refuse) == (SubmitOutcome.MISS, True)
            return
        assert answer.outcome == expected
        if expected == SubmitOutcome.HIT:
            assert answer.record == self.ended[job_id].record
            if membership is not None:  # a service ends the items of hits
                self.end_item_of_hit(membership, job_id)
            return
        if expected == SubmitOutcome.MISS:
            assert not self.must_refuse(job_id, caller)
            self.jobs[job_id] = Job(priority, caller, refresh=refresh)
            self.ended.pop(job_id, None)
        job = self.jobs[job_id]
        assert answer.is_older == (refresh and not job.refresh and job.is_running)
        job.callers.add(caller)
        job.is_overdue = False
        job.refresh = job.refresh or (refresh and not job.is_running)
        job.priority = min(job.priority, priority, key=list(Priority).index)
        for interest in interests:
            job.want(interest, timeout_ms, caller)
        if membership is not None:
            job.batches.add(membership.batch_id)

    def end_item_of_hit(self, membership: Membership, job_id: str) -> None:
        ended = EndedItems((int(membership.indices),), "succeeded")
        self.run(self.batches.end_items(membership.batch_id, [ended]))
        self.items[membership.batch_id][job_id] = "succeeded"

    @rule(job_id=job_ids, caller=callers)
    def cancel(self, job_id: str, caller: str) -> None:
        answer = self.run(self.producer.cancel(job_id, caller, CANCELLED))
        assert answer == self.withdrawn(job_id, interest_of_caller(caller))

    @precondition(lambda self: self.jobs)
    @rule(n=choice)
    def withdraw(self, n: int) -> None:
        """End one of all interests: of a caller, of a request that waits, or of a batch."""
        interests = ((job_id, name) for job_id, job in self.jobs.items() for name in job.interests)
        for job_id, interest in self.chosen(n, interests):
            answer = self.run(self.producer.withdraw(job_id, interest, CANCELLED))
            assert answer == self.withdrawn(job_id, interest)

    @rule(job_id=job_ids, request=requests)
    def begin_wait(self, job_id: str, request: str) -> None:
        waiting = Waiting(request, 60_000)
        lives = self.run(self.producer.begin_wait(job_id, waiting))
        assert lives == (job_id in self.jobs)
        if lives:
            self.jobs[job_id].want(waiting.interest, 0, "")

    @rule(job_id=job_ids, request=requests, caller=callers)
    def end_wait(self, job_id: str, request: str, caller: str) -> None:
        waiting = Waiting(request, 60_000)
        self.run(self.producer.end_wait(job_id, waiting, caller, 2_000))
        if job_id in self.jobs:
            self.jobs[job_id].want(interest_of_caller(caller), 2_000, caller)
            self.jobs[job_id].interests.pop(waiting.interest, None)

    @precondition(lambda self: self.items)
    @rule(n=choice)
    def stop_waiting_of_batch(self, n: int) -> None:
        """The first half of cancelling a batch; its service may die before it withdraws."""
        pairs = ((batch, job_id) for batch, items in self.items.items() for job_id in items)
        for batch, job_id in self.chosen(n, pairs):
            job = self.jobs.get(job_id)
            waits = job is not None and batch in job.batches
            answer = self.run(self.batches.withdraw(batch, job_id, CANCELLED))
            assert answer == waits
            if job is not None and waits:
                job.batches.discard(batch)
                self.end_item(batch, job_id, "cancelled", CANCELLED)

    @rule(job_id=job_ids)
    def purge(self, job_id: str) -> None:
        self.run(self.producer.forget(job_id))
        self.ended.pop(job_id, None)

    # workers

    @rule(lanes=st.permutations(LANES), takes=st.integers(1, 2))
    def claim(self, lanes: list[str], takes: int) -> None:
        lanes = lanes[:takes]
        waiting = {id_: job for lane in lanes for id_, job in self.queued(lane).items()}
        claim = self.run(self.worker.claim(lanes))
        if claim is None:
            assert not waiting, "a queued job that cannot be claimed"
            return
        assert claim.id in waiting
        job = waiting[claim.id]
        urgent = any(other.priority == Priority.INTERACTIVE for other in waiting.values())
        assert job.priority == (Priority.INTERACTIVE if urgent else Priority.BATCH)
        assert claim.dead_letter is None
        job.deliveries += 1
        self.started(claim)

    @rule(
        n=recent,
        reusable=st.booleans(),
        keep_s=st.sampled_from([60, 3600, 3600]),
        size_bytes=st.sampled_from([0, 60_000, 150_000, 150_000]),
    )
    def finish(self, n: int, reusable: bool, keep_s: int, size_bytes: int) -> None:
        """Finish an attempt, again where the first answer was lost, too late where it is.

        Where there is no room for its record, with a failure.
        """
        for claim, job in self.nth(n):
            record = b'{"state":"succeeded","token":%d}' % claim.token + b" " * size_bytes
            if job is not None and keep_s > 60 and not self.has_room_for_result(job, len(record)):
                with pytest.raises(NoRoomForRecord):
                    self.finished(claim, record, reusable=reusable, keep_s=keep_s)
                record = b'{"state":"failed"}'
            accepted = self.finished(claim, record, reusable=reusable, keep_s=keep_s)
            ended = self.ended.get(claim.id)
            repeated = ended is not None and ended.finished == claim.token
            assert accepted == (job is not None or repeated)
            if job is not None:
                ended = Ended(record, reusable, finished=claim.token)
                state = "failed" if record == b'{"state":"failed"}' else "succeeded"
                self.end(claim.id, ended, state, is_kept=keep_s > 60)

    @precondition(lambda self: any(not job.is_running for job in self.jobs.values()))
    @rule(size_bytes=st.sampled_from([60_000, 150_000]))
    def do_next_job(self, size_bytes: int) -> None:
        """A worker does a job as it should, and its result is kept."""
        self.claim(list(LANES), len(LANES))
        self.finish(0, reusable=False, keep_s=3600, size_bytes=size_bytes)

    def finished(self, claim: Claim, record: bytes, *, reusable: bool, keep_s: int) -> bool:
        done = self.worker.finish(claim.id, claim.token, record, reusable=reusable, keep_s=keep_s)
        return self.run(done)

    @rule(n=recent)
    def release(self, n: int) -> None:
        for claim, job in self.nth(n):
            assert self.run(self.worker.release(claim.id, claim.token)) == (job is not None)
            if job is not None:
                job.deliveries -= 1
                job.token = None

    @rule(n=recent)
    def renew(self, n: int) -> None:
        for claim, job in self.nth(n):
            answer = self.run(self.worker.renew(claim.id, claim.token))
            ended = self.ended.get(claim.id)
            cancelled = ended is not None and ended.cancelled == claim.token
            if job is not None:
                job.lease_is_over = False
            accepted = ended is not None and ended.finished == claim.token
            otherwise = Heartbeat.CANCELLED if cancelled else Heartbeat.LOST
            assert answer == (Heartbeat.OK if job is not None or accepted else otherwise)

    @rule(n=recent)
    def abandon(self, n: int) -> None:
        for claim, job in self.nth(n):
            assert self.run(self.worker.abandon(claim.id, claim.token)) == (job is not None)
            if job is not None:
                job.lease_is_over = True

    # what goes wrong

    @precondition(lambda self: any(job.is_running for job in self.jobs.values()))
    @rule(n=choice, is_noticed=st.booleans())
    def lose_worker(self, n: int, is_noticed: bool) -> None:
        """The worker or reaper that has a job is silent until its lease is over."""
        running = (job_id for job_id, job in self.jobs.items() if job.is_running)
        for job_id in self.chosen(n, running):
            self.run(self.redis.zadd(keys.LEASES, {job_id: 1}, xx=True))
            self.jobs[job_id].lease_is_over = True
        if is_noticed:
            self.reap(self.reaper or REAPERS[0])

    @precondition(lambda self: any(not job.is_running for job in self.jobs.values()))
    @rule(n=choice)
    def pass_deadline(self, n: int) -> None:
        queued = (job_id for job_id, job in self.jobs.items() if not job.is_running)
        for job_id in self.chosen(n, queued):
            self.run(self.redis.zadd(keys.DEADLINES, {job_id: 1}, xx=True))
            self.jobs[job_id].is_overdue = True

    @rule(lane=st.sampled_from(LANES))
    def lose_wake_up(self, lane: str) -> None:
        """An idle worker takes the token of a lane, and dies before it claims."""
        if self.run(self.redis.lpop(keys.WAKE + lane)):
            self.sleepy.add(lane)

    @rule()
    def lose_reaper(self) -> None:
        self.run(self.redis.delete(keys.REAPER))
        self.reaper = None

    @rule(name=st.sampled_from(REAPERS))
    def reap(self, name: str) -> None:
        answer = self.run(self.reapers[name].reap())
        if self.reaper not in (None, name):
            assert answer is None
            return
        self.reaper = name
        expected = dict(self.reaped())
        assert answer is not None
        assert {claim.id: claim.dead_letter for claim in answer} == expected
        for claim in answer:
            self.started(claim)


def test_any_sequence_of_calls_and_losses_agrees_with_the_model(valkey: EmbeddedValkey) -> None:
    run_state_machine_as_test(
        lambda: JobProtocol(valkey.url),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=60,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
