"""A plain model of the job protocol, and what must be true of the store next to it."""

import asyncio
from collections.abc import Awaitable, Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis.stateful import RuleBasedStateMachine, invariant

from store import keys
from store.batches import Batches
from store.byte_limits import MAX_FAILURE_RECORD_BYTES
from store.connection import connect, connect_blocking
from store.errors import CallerBytesFull, CallerQueueFull, QueueBytesFull, QueueFull
from store.jobs.consumer import JobConsumer
from store.jobs.producer import JobProducer
from store.jobs.types import Cancellation, Claim, DeadLetter, Priority, QueueLimits, SubmitOutcome

LANES = ("compile:a", "compile:b")
CALLERS = ("alice", "bob", "carol")
JOBS = ("job-0", "job-1", "job-2", "job-3")
REAPERS = ("reaper-0", "reaper-1")
LIMITS = QueueLimits(
    queued=4, queued_per_caller=3, living_bytes=600, deliveries=2, lease_ms=60_000,
    kept_bytes_per_caller=200_000,
)  # fmt: skip
CANCELLED = b'{"state":"cancelled"}'
PAYLOAD = b" " * 150

T = TypeVar("T")


def lane_of(job_id: str) -> str:
    return LANES[job_id == "job-0"]


@dataclass
class Job:
    """A job that is queued or runs, in the model."""

    priority: Priority
    reserver: str = ""
    """The caller for whom bytes are reserved."""
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


class ModelledStore(RuleBasedStateMachine):
    """The store's scripts, and next to them the model: `jobs` that live, and how others `ended`."""

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
        self.batch_callers: dict[str, str] = {}
        self.kept = dict.fromkeys(CALLERS, 0)  # bytes of results, without reservations
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

    def queued(self, lane: str) -> dict[str, Job]:
        return {
            job_id: job
            for job_id, job in self.jobs.items()
            if lane_of(job_id) == lane and not job.is_running
        }

    def expected_outcome(self, job_id: str, refresh: bool) -> SubmitOutcome:
        if job_id in self.jobs:
            return SubmitOutcome.JOIN
        ended = self.ended.get(job_id)
        return SubmitOutcome.HIT if ended and ended.reusable and not refresh else SubmitOutcome.MISS

    def counted(self, caller: str) -> int:
        """The bytes that count for a caller: of results, and those reserved for living jobs."""
        living = sum(job.reserver == caller for job in self.jobs.values())
        return self.kept[caller] + living * MAX_FAILURE_RECORD_BYTES

    def has_room(self, caller: str, size_bytes: int) -> bool:
        return self.counted(caller) + size_bytes <= LIMITS.kept_bytes_per_caller

    def has_room_for_result(self, job: Job, size_bytes: int) -> bool:
        """A large result needs room of one of its callers; its reservation is room, too."""
        return size_bytes <= MAX_FAILURE_RECORD_BYTES or any(
            self.has_room(caller, size_bytes - (caller == job.reserver) * MAX_FAILURE_RECORD_BYTES)
            for caller in job.callers
        )

    def keep_result(self, job: Job, size_bytes: int) -> None:
        """Count a result of a job that is over: for all who have room, else for its reserver."""
        callers = [caller for caller in job.callers if self.has_room(caller, size_bytes)]
        for caller in callers or [job.reserver]:
            self.kept[caller] += size_bytes

    def must_refuse(self, job_id: str, caller: str) -> bool:
        over = len(PAYLOAD) * (len(self.jobs) + 1) > LIMITS.living_bytes
        over = over or not self.has_room(caller, MAX_FAILURE_RECORD_BYTES)
        return over or len(self.queued(lane_of(job_id))) >= 2 * LIMITS.queued

    def may_refuse(self, refusal: QueueFull, job_id: str, caller: str) -> bool:
        """A queue is full from its bound on; a caller's jobs are those whose turn it may take."""
        queued = self.queued(lane_of(job_id))
        if isinstance(refusal, QueueBytesFull):
            return len(PAYLOAD) * (len(self.jobs) + 1) > LIMITS.living_bytes
        if isinstance(refusal, CallerBytesFull):
            return not self.has_room(caller, MAX_FAILURE_RECORD_BYTES)
        if isinstance(refusal, CallerQueueFull):
            own = sum(caller in job.callers for job in queued.values())
            return own >= LIMITS.queued_per_caller
        return len(queued) >= LIMITS.queued

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
            self.end(job_id, Ended(CANCELLED, cancelled=job.token or 0), "cancelled")
            return Cancellation.CANCELLED
        job.timeout_ms = max(timeout_ms for timeout_ms, _ in job.interests.values())
        if all(caller != other for _, other in job.interests.values()) and len(job.callers) > 1:
            job.callers.discard(caller)
        return Cancellation.WITHDRAWN

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

    def end(self, job_id: str, ended: Ended, state: str, *, is_kept: bool = True) -> None:
        job = self.jobs.pop(job_id)
        if is_kept:
            self.keep_result(job, len(ended.record))
        for batch in job.batches:
            self.end_item(batch, job_id, state, ended.record)
        self.ended[job_id] = ended

    def end_item(self, batch: str, job_id: str, state: str, record: bytes = b"") -> None:
        caller = self.batch_callers[batch]
        if state not in ("succeeded", "completed") and self.has_room(caller, len(record)):
            self.kept[caller] += len(record)
        if self.items[batch][job_id] is None:
            self.items[batch][job_id] = state

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

    @invariant()
    def no_caller_has_more_bytes_than_the_limit(self) -> None:
        for caller in CALLERS:
            kept = self.run(self.redis.hvals(keys.KEPT + caller))
            assert sum(map(int, kept)) == self.counted(caller) <= LIMITS.kept_bytes_per_caller

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
