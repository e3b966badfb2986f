"""The real scripts of the job protocol beside a plain model of it, for random sequences of calls.

Hypothesis calls submit, claim, finish and the rest in any order, and lets callers and workers
vanish between any two commands: a command whose answer was lost, a lease that ends, a reaper that
falls silent, a wake-up that its worker takes to the grave. After each step the model says what
must be true, and Redis must agree. Hypothesis shrinks what fails to a few steps.
"""

import asyncio
import os
from collections.abc import Awaitable, Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from store import keys
from store.batches import Batches, EndedItems, PlannedItem
from store.connection import connect, connect_blocking
from store.embedded import EmbeddedValkey
from store.errors import CallerQueueFull, QueueBytesFull, QueueFull
from store.jobs.consumer import JobConsumer
from store.jobs.producer import JobProducer
from store.jobs.types import (
    Cancellation,
    Claim,
    DeadLetter,
    Heartbeat,
    Membership,
    Priority,
    QueueLimits,
    SubmitOutcome,
    Waiting,
    interest_of_batch,
    interest_of_caller,
)

LANES = ("compile:a", "compile:b")
CALLERS = ("alice", "bob", "carol")
JOBS = ("job-0", "job-1", "job-2", "job-3")
BATCHES = ("batch-0", "batch-1")
REQUESTS = ("request-0", "request-1")
REAPERS = ("reaper-0", "reaper-1")
LIMITS = QueueLimits(queued=4, queued_per_caller=3, living_bytes=600, deliveries=2, lease_ms=60_000)
PAYLOAD = b" " * 150
EXAMPLES = int(os.environ.get("TRITOND_FUZZ_JOBS", "6"))
"""`make test-slow` tries more."""

job_ids, callers = st.sampled_from(JOBS), st.sampled_from(CALLERS)
requests, batches = st.sampled_from(REQUESTS), st.sampled_from(BATCHES)
recent = st.integers(0, 5)
choice = st.integers(0, 11)
"""Chooses one of what is there now, so that most calls have an effect."""

T = TypeVar("T")


def lane_of(job_id: str) -> str:
    return LANES[job_id == "job-0"]


@dataclass
class Job:
    """A job that is queued or runs, in the model."""

    priority: Priority
    interests: dict[str, tuple[int, str]] = field(default_factory=dict)  # -> timeout_ms, caller
    callers: set[str] = field(default_factory=set)
    batches: set[str] = field(default_factory=set)
    token: int | None = None
    deliveries: int = 0
    refresh: bool = False
    timeout_ms: int = 0
    reason: DeadLetter | None = None
    lease_is_over: bool = False
    is_overdue: bool = False

    @property
    def is_running(self) -> bool:
        return self.token is not None

    def want(self, interest: str, timeout_ms: int, caller: str) -> None:
        self.interests[interest] = (timeout_ms, caller)
        self.timeout_ms = max(self.timeout_ms, timeout_ms)


@dataclass
class Ended:
    """The end of a job, in the model."""

    record: bytes
    reusable: bool = False
    finished: int | None = None
    cancelled: int | None = None


class JobProtocol(RuleBasedStateMachine):
    """The store's scripts, and beside them the model: `jobs` that live, and how others `ended`."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.connections = AsyncExitStack()
        self.redis = connect(url)
        self.blocking = connect_blocking(url)
        for client in (self.redis, self.blocking):
            self.connections.push_async_callback(client.aclose)
        self.run(self.redis.flushall())
        self.producer = JobProducer(self.redis, LIMITS)
        self.worker = self.consumer("worker")
        self.reapers = {name: self.consumer(name) for name in REAPERS}
        self.batches = Batches(self.redis)
        self.jobs: dict[str, Job] = {}
        self.ended: dict[str, Ended] = {}
        self.claims: list[Claim] = []
        self.items: dict[str, dict[str, str | None]] = {}  # batch -> job -> how its item ended
        self.reaper: str | None = None
        self.sleepy: set[str] = set()  # lanes whose wake-up a worker took and died
        self.submits = 0

    def consumer(self, name: str) -> JobConsumer:
        return JobConsumer(self.redis, self.blocking, name, LIMITS)

    @staticmethod
    def chosen(n: int, candidates: Iterable[T]) -> list[T]:
        """One of the candidates, none where there are none."""
        found = list(candidates)
        return [found[n % len(found)]] if found else []

    def run(self, answer: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await answer

        return self.runner.run(awaited())

    def teardown(self) -> None:
        try:
            self.drain()
        finally:
            self.run(self.connections.aclose())
            self.runner.close()

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
            self.run(self.batches.create(batch, caller, "compile", items))
            self.items[batch] = dict.fromkeys(sorted(wanted))

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
            assert not self.must_refuse(job_id)
            self.jobs[job_id] = Job(priority, refresh=refresh)
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

    def expected_outcome(self, job_id: str, refresh: bool) -> SubmitOutcome:
        if job_id in self.jobs:
            return SubmitOutcome.JOIN
        ended = self.ended.get(job_id)
        return SubmitOutcome.HIT if ended and ended.reusable and not refresh else SubmitOutcome.MISS

    def queued(self, lane: str) -> dict[str, Job]:
        return {
            job_id: job
            for job_id, job in self.jobs.items()
            if lane_of(job_id) == lane and not job.is_running
        }

    def must_refuse(self, job_id: str) -> bool:
        over = len(PAYLOAD) * (len(self.jobs) + 1) > LIMITS.living_bytes
        return over or len(self.queued(lane_of(job_id))) >= 2 * LIMITS.queued

    def may_refuse(self, refusal: QueueFull, job_id: str, caller: str) -> bool:
        """A queue is full from its bound on; a caller's jobs are those whose turn it may take."""
        queued = self.queued(lane_of(job_id))
        if isinstance(refusal, QueueBytesFull):
            return len(PAYLOAD) * (len(self.jobs) + 1) > LIMITS.living_bytes
        if isinstance(refusal, CallerQueueFull):
            own = sum(caller in job.callers for job in queued.values())
            return own >= LIMITS.queued_per_caller
        return len(queued) >= LIMITS.queued

    def end_item_of_hit(self, membership: Membership, job_id: str) -> None:
        ended = EndedItems((int(membership.indices),), "succeeded")
        self.run(self.batches.end_items(membership.batch_id, [ended]))
        self.items[membership.batch_id][job_id] = "succeeded"

    @rule(job_id=job_ids, caller=callers)
    def cancel(self, job_id: str, caller: str) -> None:
        answer = self.run(self.producer.cancel(job_id, caller, b'{"state":"cancelled"}'))
        assert answer == self.withdrawn(job_id, interest_of_caller(caller))

    @precondition(lambda self: self.jobs)
    @rule(n=choice)
    def withdraw(self, n: int) -> None:
        """End one of all interests: of a caller, of a request that waits, or of a batch."""
        interests = ((job_id, name) for job_id, job in self.jobs.items() for name in job.interests)
        for job_id, interest in self.chosen(n, interests):
            answer = self.run(self.producer.withdraw(job_id, interest, b'{"state":"cancelled"}'))
            assert answer == self.withdrawn(job_id, interest)

    def withdrawn(self, job_id: str, interest: str) -> Cancellation:
        """Withdraw an interest in the model, and return what the store has to answer."""
        job = self.jobs.get(job_id)
        if job is None:
            ended = job_id in self.ended
            return Cancellation.FINISHED if ended else Cancellation.NOT_FOUND
        if interest not in job.interests:
            return Cancellation.WITHDRAWN
        _, caller = job.interests.pop(interest)
        if not job.interests:
            self.end(job_id, Ended(b'{"state":"cancelled"}', cancelled=job.token or 0), "cancelled")
            return Cancellation.CANCELLED
        job.timeout_ms = max(timeout_ms for timeout_ms, _ in job.interests.values())
        if all(caller != other for _, other in job.interests.values()) and len(job.callers) > 1:
            job.callers.discard(caller)
        return Cancellation.WITHDRAWN

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
            answer = self.run(self.batches.withdraw(batch, job_id, b'{"state":"cancelled"}'))
            assert answer == waits
            if job is not None and waits:
                job.batches.discard(batch)
                self.end_item(batch, job_id, "cancelled")

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

    def started(self, claim: Claim) -> None:
        job = self.jobs[claim.id]
        assert not job.is_running, "claimed by two"
        assert claim.token > max((old.token for old in self.claims), default=0)
        assert (claim.priority, claim.refresh) == (job.priority, job.refresh)
        assert (claim.timeout_ms, claim.deliveries) == (job.timeout_ms, job.deliveries)
        assert claim.payload == PAYLOAD
        job.token = claim.token
        job.lease_is_over = job.is_overdue = False
        self.claims.append(claim)

    def nth(self, n: int) -> Iterator[tuple[Claim, Job | None]]:
        """One of the last attempts, and its job if it still counts."""
        for claim in self.claims[-1 - n :][:1]:
            job = self.jobs.get(claim.id)
            yield claim, job if job is not None and job.token == claim.token else None

    @rule(n=recent, reusable=st.booleans())
    def finish(self, n: int, reusable: bool) -> None:
        """Finish an attempt, again where the first answer was lost, too late where it is."""
        for claim, job in self.nth(n):
            record = b'{"state":"succeeded","token":%d}' % claim.token
            accepted = self.run(
                self.worker.finish(claim.id, claim.token, record, reusable=reusable, keep_s=60)
            )
            ended = self.ended.get(claim.id)
            repeated = ended is not None and ended.finished == claim.token
            assert accepted == (job is not None or repeated)
            if job is not None:
                self.end(claim.id, Ended(record, reusable, finished=claim.token), "succeeded")

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

    def reaped(self) -> Iterator[tuple[str, DeadLetter]]:
        """Requeue what lost its worker in the model; yield what only an error can end."""
        for job_id, job in self.jobs.items():
            if job.is_running and job.lease_is_over:
                job.token = None
                job.lease_is_over = False
                if job.reason is None and job.deliveries >= LIMITS.deliveries:
                    job.reason = DeadLetter.EXHAUSTED
                if job.reason is not None:
                    yield job_id, job.reason
            elif not job.is_running and job.is_overdue:
                job.reason = DeadLetter.OVERDUE
                yield job_id, job.reason

    def end(self, job_id: str, ended: Ended, state: str) -> None:
        for batch in self.jobs.pop(job_id).batches:
            self.end_item(batch, job_id, state)
        self.ended[job_id] = ended

    def end_item(self, batch: str, job_id: str, state: str) -> None:
        if self.items[batch][job_id] is None:
            self.items[batch][job_id] = state

    # what must be true

    @invariant()
    def results_are_what_the_model_says(self) -> None:
        results = self.run(self.producer.results(JOBS))
        for job_id, result in zip(JOBS, results, strict=True):
            ended = self.ended.get(job_id)
            found = None if result is None else (result.record, result.reusable)
            assert found == (None if ended is None else (ended.record, ended.reusable))

    @invariant()
    def batches_end_with_their_last_item(self) -> None:
        for batch, items in self.items.items():
            ended = self.run(self.redis.hgetall(keys.BATCH_ITEMS + batch))
            states = {
                index: state for index, state in enumerate(items.values()) if state is not None
            }
            assert {
                int(index): value.split(b" ")[0].decode() for index, value in ended.items()
            } == states
            is_over = self.run(self.producer.result(batch)) is not None
            assert is_over == all(state is not None for state in items.values())

    @invariant()
    def leases_deadlines_and_bytes_are_those_of_living_jobs(self) -> None:
        pipeline = self.redis.pipeline(transaction=True)
        pipeline.keys(keys.JOB + "*")
        pipeline.zrange(keys.LEASES, 0, -1)
        pipeline.zrange(keys.DEADLINES, 0, -1)
        pipeline.get(keys.JOB_BYTES)
        for lane in LANES:
            pipeline.zrange(keys.QUEUED + lane, 0, -1)
            pipeline.llen(keys.WAKE + lane)
        living, leases, deadlines, size, *by_lane = self.run(pipeline.execute())
        running = {job_id for job_id, job in self.jobs.items() if job.is_running}
        assert {key.decode().removeprefix(keys.JOB) for key in living} == set(self.jobs)
        assert {member.decode() for member in leases} == running
        assert {member.decode() for member in deadlines} == set(self.jobs) - running
        assert int(size or 0) == len(PAYLOAD) * len(self.jobs) <= LIMITS.living_bytes
        for lane, queued, tokens in zip(LANES, by_lane[::2], by_lane[1::2], strict=True):
            assert {member.decode() for member in queued} == set(self.queued(lane))
            self.check_wake_up(lane, tokens)

    def check_wake_up(self, lane: str, tokens: int) -> None:
        """No worker sleeps while there is work: a lane with queued jobs has its token."""
        if tokens or not self.queued(lane):
            self.sleepy.discard(lane)
        if self.queued(lane) and lane not in self.sleepy:
            assert tokens == 1

    @invariant()
    def each_job_is_where_it_can_be_claimed(self) -> None:
        for job_id, job in self.jobs.items():
            self.run(self.check_job(job_id, job))

    async def check_job(self, job_id: str, job: Job) -> None:
        raw = await self.redis.hgetall(keys.JOB + job_id)
        stored = {name.decode(): value.decode() for name, value in raw.items()}
        assert stored["state"] == ("running" if job.is_running else "queued")
        assert int(stored["token"] or 0) == (job.token or 0)
        interests = await self.redis.hkeys(keys.INTERESTS + job_id)
        assert {interest.decode() for interest in interests} == set(job.interests)
        members = await self.redis.smembers(keys.CALLERS + job_id)
        assert {member.decode() for member in members} == job.callers
        at = f"{job.priority}:{lane_of(job_id)}"
        waits_with = {
            caller
            for caller in CALLERS
            for priority in Priority
            if await self.redis.zscore(
                f"{keys.BACKLOG}{priority}:{lane_of(job_id)}:{caller}", job_id
            ) is not None
        }  # fmt: skip
        assert waits_with == (set() if job.is_running else job.callers)
        for caller in waits_with:
            turn = await self.redis.zscore(keys.TURNS + at, caller)
            assert turn == await self.turn_of(at, caller), "waits for nothing"

    async def turn_of(self, at: str, caller: str) -> float:
        """The caller's place in the order: its running jobs, then the time that it used."""
        running = await self.redis.hget(keys.RUNNING + at, caller)
        used = await self.redis.hget(keys.USED + at.partition(":")[2], caller)
        return int(running or 0) * 2.0**44 + int(used or 0)

    def drain(self) -> None:
        """Everything can be brought to an end, and nothing is left of it."""
        while claim := self.run(self.worker.claim(LANES)):
            self.jobs[claim.id].deliveries += 1
            self.started(claim)
        for job_id, job in list(self.jobs.items()):
            assert job.token is not None, "queued, and not to be claimed"
            done = self.worker.finish(job_id, job.token, b"{}", reusable=False, keep_s=60)
            assert self.run(done)
        self.run(self.nothing_is_left())

    async def nothing_is_left(self) -> None:
        for prefix in (
            *(keys.JOB, keys.CALLERS, keys.INTERESTS, keys.RUNNING, keys.JOB_BATCHES),
            *(keys.TURNS, keys.BACKLOG, keys.QUEUED, keys.WAITING, keys.WAKE),
        ):
            assert await self.redis.keys(prefix + "*") == []
        assert not await self.redis.exists(keys.LEASES, keys.DEADLINES, keys.JOB_BYTES)
        for rounds in await self.redis.keys(keys.ROUNDS + "*"):
            assert await self.redis.hkeys(rounds) in ([], [b""])


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
