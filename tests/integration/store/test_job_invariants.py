"""Any sequence of calls keeps the job protocol's invariants: nothing lost, doubled or left over."""

import contextlib
import os
from collections import defaultdict
from random import Random

import pytest

from store import keys
from store.errors import QueueFull
from store.jobs.consumer import JobConsumer
from store.jobs.producer import JobProducer
from store.jobs.types import Cancellation, Heartbeat, Priority, QueueLimits, SubmitOutcome

LANES = ["compile:a", "compile:b"]
CALLERS = ["alice", "bob", "carol"]
LIMITS = QueueLimits(queued=4, queued_per_caller=3, living_bytes=600, deliveries=2, lease_ms=60_000)

STEPS = 150
SEQUENCES = int(os.environ.get("TRITOND_FUZZ_JOBS", "1"))
"""`make test-slow` tries more of them."""


def random_step(random: Random) -> tuple[str, tuple[object, ...]]:
    """Return the name of a method of `Model` and its arguments; few ids, so that calls interact."""
    job_id = f"job-{random.randrange(5)}"
    caller = random.choice(CALLERS)
    recent = random.randrange(4)
    steps: list[tuple[int, str, tuple[object, ...]]] = [
        (5, "submit", (job_id, caller, random.choice(list(Priority)), random.random() < 0.2)),
        (4, "claim", (random.choice(["worker-1", "worker-2"]),)),
        (2, "finish", (recent, random.random() < 0.3)),
        (1, "release", (recent,)),
        (1, "renew", (recent,)),
        (1, "abandon", (recent,)),
        (2, "cancel", (job_id, caller)),
        (1, "expire_lease", (job_id,)),
        (1, "expire_deadline", (job_id,)),
        (2, "reap", ()),
    ]
    _, name, arguments = random.choices(steps, weights=[step[0] for step in steps])[0]
    return name, arguments


class Model:
    """The protocol, with the invariants that must hold after any calls."""

    def __init__(self, redis, blocking):
        self.redis = redis
        self.jobs = JobProducer(redis, LIMITS)
        self.attempts = {
            name: JobConsumer(redis, blocking, name, LIMITS)
            for name in ("worker-1", "worker-2", "reaper")
        }
        self.claims = []
        self.valid = {}  # job id -> the only token that counts
        self.interested = defaultdict(set)  # living job id -> callers

    async def submit(self, job_id, caller, priority, refresh):
        lane = LANES[job_id == "job-0"]
        alive = job_id in self.interested
        payload = b" " * len(job_id + caller) * 20
        with contextlib.suppress(QueueFull):
            answer = await self.jobs.submit(
                job_id, lane=lane, priority=priority, payload=payload, caller=caller,
                deadline_ms=60_000, refresh=refresh,
            )  # fmt: skip
            assert (answer.outcome == SubmitOutcome.JOIN) == alive
            if answer.outcome != SubmitOutcome.HIT:
                self.interested[job_id].add(caller)

    def claimed(self, claim):
        assert claim.id not in self.valid, "claimed by two"
        assert claim.id in self.interested, "claimed without an interest"
        self.valid[claim.id] = claim.token
        self.claims.append(claim)

    async def claim(self, consumer):
        claim = await self.attempts[consumer].claim(LANES)
        if claim:
            self.claimed(claim)
        else:
            assert set(self.interested) == set(self.valid), "queued jobs that no worker can claim"

    def counts(self, claim):
        return self.valid.get(claim.id) == claim.token

    async def finish(self, n, reusable):
        for claim in self.claims[-1 - n :][:1]:
            before = self.counts(claim)
            accepted = await self.attempts["worker-1"].finish(
                claim.id, claim.token, b"%d" % claim.token, reusable=reusable, keep_s=60
            )
            if before:
                assert accepted
                del self.valid[claim.id], self.interested[claim.id]
                assert (await self.jobs.result(claim.id)).record == b"%d" % claim.token

    async def release(self, n):
        for claim in self.claims[-1 - n :][:1]:
            before = self.counts(claim)
            assert await self.attempts["worker-1"].release(claim.id, claim.token) == before
            if before:
                del self.valid[claim.id]

    async def renew(self, n):
        for claim in self.claims[-1 - n :][:1]:
            answer = await self.attempts["worker-1"].renew(claim.id, claim.token)
            assert (answer == Heartbeat.OK) == self.counts(claim)

    async def abandon(self, n):
        for claim in self.claims[-1 - n :][:1]:
            answer = await self.attempts["worker-1"].abandon(claim.id, claim.token)
            assert answer == self.counts(claim)

    async def cancel(self, job_id, caller):
        answer = await self.jobs.cancel(job_id, caller, b"cancelled")
        ended_before = answer in (Cancellation.FINISHED, Cancellation.NOT_FOUND)
        assert ended_before != (job_id in self.interested)
        if job_id in self.interested:
            last = self.interested[job_id] == {caller}
            self.interested[job_id].discard(caller)
            assert (answer == Cancellation.CANCELLED) == last
            if last:
                del self.interested[job_id]
                self.valid.pop(job_id, None)

    async def expire_lease(self, job_id):
        await self.redis.zadd(keys.LEASES, {job_id: 1}, xx=True)

    async def expire_deadline(self, job_id):
        await self.redis.zadd(keys.DEADLINES, {job_id: 1}, xx=True)

    async def reap(self):
        for job_id in await self.redis.zrangebyscore(keys.LEASES, 0, 10):
            self.valid.pop(job_id.decode())
        for claim in await self.attempts["reaper"].reap():
            assert claim.dead_letter
            self.claimed(claim)

    async def drain(self):
        """Check that all jobs can end, and leave nothing behind."""
        while claim := await self.attempts["worker-1"].claim(LANES):
            self.claimed(claim)
        assert set(self.valid) == set(self.interested)
        for job_id, token in self.valid.items():
            assert await self.attempts["worker-1"].finish(
                job_id, token, b"", reusable=False, keep_s=60
            )
        for prefix in (
            keys.JOB,
            keys.CALLERS,
            keys.INTERESTS,
            keys.RUNNING,
            keys.TURNS,
            keys.BACKLOG,
            keys.QUEUED,
            keys.WAKE,
        ):
            assert await self.redis.keys(prefix + "*") == []
        assert not await self.redis.exists(keys.LEASES, keys.DEADLINES, keys.JOB_BYTES)
        for stream in await self.redis.keys(keys.STREAM + "*"):
            assert await self.redis.xlen(stream) == 0
            assert (await self.redis.xpending(stream, "workers"))["pending"] == 0
        for rounds in await self.redis.keys(keys.ROUNDS + "*"):
            assert await self.redis.hkeys(rounds) in ([], [b""])

    async def check(self):
        """Check that the data in Redis are consistent."""
        alive = {
            key.decode().removeprefix(keys.JOB) for key in await self.redis.keys(keys.JOB + "*")
        }
        assert alive == set(self.interested)
        leases = {member.decode() for member in await self.redis.zrange(keys.LEASES, 0, -1)}
        deadlines = {member.decode() for member in await self.redis.zrange(keys.DEADLINES, 0, -1)}
        assert leases == set(self.valid)
        assert deadlines == alive - leases
        sizes = [await self.redis.hstrlen(keys.JOB + job_id, "payload") for job_id in alive]
        assert int(await self.redis.get(keys.JOB_BYTES) or 0) == sum(sizes) <= LIMITS.living_bytes
        await self.check_wake_ups(alive - leases)
        for job_id in alive:
            await self.check_job(job_id, job_id in leases)

    async def check_wake_ups(self, queued):
        """Check that no worker sleeps while there is work: a lane with jobs has its token."""
        for lane in LANES:
            jobs = {
                member.decode() for member in await self.redis.zrange(keys.QUEUED + lane, 0, -1)
            }
            assert jobs <= queued
            if jobs:
                assert await self.redis.llen(keys.WAKE + lane) == 1

    async def check_job(self, job_id, running):
        raw = await self.redis.hgetall(keys.JOB + job_id)
        job = {name.decode(): value.decode() for name, value in raw.items()}
        at = f"{job['priority']}:{job['lane']}"
        wanted_by = {member.decode() for member in await self.redis.smembers(keys.CALLERS + job_id)}
        assert wanted_by == self.interested[job_id]
        assert not await self.redis.exists(keys.RESULT + job_id), "a job beside a result"
        assert job["state"] == ("running" if running else "queued")
        queued = await self.redis.zscore(keys.QUEUED + job["lane"], job_id)
        assert (queued is None) == running
        waits_with = {
            caller
            for caller in CALLERS
            for priority in Priority
            if await self.redis.zscore(
                f"{keys.BACKLOG}{priority}:{job['lane']}:{caller}", job_id
            ) is not None
        }  # fmt: skip
        if running or job["entry"]:
            assert waits_with == set()
        else:
            assert waits_with == wanted_by
            for caller in wanted_by:
                assert await self.redis.hexists(keys.TURNS + at, caller), "waits for nothing"
        if job["entry"]:
            assert await self.redis.xrange(keys.STREAM + job["stream"], job["entry"], job["entry"])
        if job["entry"] and not running:
            turn = await self.redis.hget(keys.TURNS + at, job["owner"])
            assert (turn, job["stream"]) == (job_id.encode(), at)


@pytest.mark.parametrize("seed", range(SEQUENCES))
async def test_any_sequence_of_calls_leaves_everything_in_order(redis, blocking, seed):
    random = Random(seed)
    model = Model(redis, blocking)
    for _ in range(STEPS):
        name, arguments = random_step(random)
        await getattr(model, name)(*arguments)
        await model.check()
    await model.drain()
