"""A service whose programs are ended by a script of these tests instead of a worker with torch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import orjson
import pytest
from tritonc import Client

from launch.request.verdict import Verdict
from programs.program_job import ProgramJob, new_program
from programs.program_record import EntryTime, Program, ProgramTiming, ReferenceRecord, Reward
from programs.stored_programs import Programs
from store import keys
from store.api_keys import ApiKeys
from store.blobs import Blobs
from store.connection import connect, connect_blocking
from store.events import Events
from store.jobs.consumer import JobConsumer
from store.jobs.types import Claim, program_device_lane, programs_lane
from store.launches import LIFE_S
from store.workers import Toolchains, Worker, Workers
from tests.integration.service.conftest import remember, without_worker
from tests.integration.service.running import Deployment

PROGRAMS = "/v1/programs"
GPU = "cuda:90 NVIDIA H200 of a test"
"""A GPU class that does not exist."""
WITHIN_S = 60
QUOTAS = {"TRITOND_MAX_QUEUED_PER_CALLER": "3", "TRITOND_MAX_BODY_BYTES": "20000"}


def timing_of(median_us: float) -> ProgramTiming:
    return ProgramTiming(
        median_us=median_us,
        interval_us=(median_us * 0.98, median_us * 1.02),
        mean_us=median_us,
        min_us=median_us,
        p20_us=median_us,
        p80_us=median_us,
        std_us=0.0,
        repeats=20,
        noisy=False,
        method="graph",
    )


TIMED: dict[str, Any] = {
    "verdict": Verdict.PASSED,
    "timing": timing_of(12.5),
    "reference": ReferenceRecord(timing=timing_of(25)),
    "speedup": 2.0,
    "speedup_interval": (1.9, 2.1),
    "coverage": 0.9,
    "coverage_measure": "time",
    "entries": [
        EntryTime(
            op=1, name="add_kernel", file="user.py", line=21, us=11.0, share=0.9, is_kernel=True
        )
    ],
    "reward": Reward(compiled=True, correct=True, speedup=2.0, coverage=0.9),
}


class ScriptedRecorder:
    """Replaces a worker with torch: claims programs and ends them as a test asks.

    It records nothing and has no GPU, whatever its `device` ("<target> <model>") claims.
    tests/programs/with_torch covers real programs.
    """

    def __init__(self, redis_url: str, device: str | None = None) -> None:
        self.redis_url = redis_url
        self.device = device
        self.toolchain_id = asyncio.run(self._offer())
        self.lane = (
            programs_lane(self.toolchain_id)
            if device is None
            else program_device_lane(self.toolchain_id, *device.split(" ", 1))
        )

    async def _offer(self) -> str:
        async with connect(self.redis_url) as redis:
            toolchain_id = await Toolchains(redis).default()
            assert toolchain_id is not None
            await Workers(redis).beat(self._worker(toolchain_id))
            await Workers(redis).unregister("scripted")
        return toolchain_id

    def _worker(self, toolchain_id: str) -> Worker:
        programs = [toolchain_id]
        if self.device is None:
            return Worker(
                "scripted", "compile", toolchain_id, None, "none", 1, 0, programs=programs
            )
        return Worker("scripted", "launch", None, self.device, "none", 1, 0, programs=programs)

    @contextmanager
    def living(self) -> Iterator[None]:
        """Be on the list of workers while the block runs."""
        beating = self._worker(self.toolchain_id)

        async def report(*, is_there: bool) -> None:
            async with connect(self.redis_url) as redis:
                registry = Workers(redis)
                await (registry.beat(beating) if is_there else registry.unregister(beating.id))

        asyncio.run(report(is_there=True))
        try:
            yield
        finally:
            asyncio.run(report(is_there=False))

    def claim(self) -> tuple[Claim, ProgramJob]:
        """Claim the next program; wait for it if necessary."""
        return asyncio.run(self._claim())

    async def _claim(self) -> tuple[Claim, ProgramJob]:
        async with connect(self.redis_url) as redis, connect_blocking(self.redis_url) as blocking:
            consumer, lanes = JobConsumer(redis, blocking, "scripted"), [self.lane]
            async with asyncio.timeout(WITHIN_S):
                while (claim := await consumer.claim(lanes)) is None:
                    await consumer.wait_for_work(1)
        return claim, ProgramJob.model_validate_json(claim.payload)

    def finish(self, claim: Claim, program: Program) -> None:
        """End a program with this record."""
        asyncio.run(self._finish(claim, program))

    async def _finish(self, claim: Claim, program: Program) -> None:
        record = program.model_dump_json().encode()
        async with connect(self.redis_url) as redis, connect_blocking(self.redis_url) as blocking:
            consumer = JobConsumer(redis, blocking, "scripted")
            assert await consumer.finish(
                claim.id, claim.token, record, reusable=True, keep_s=LIFE_S
            )

    def do(self, **found: Any) -> Program:
        """Take the next program and end it, `completed` by default."""
        claim, job = self.claim()
        program = new_program(job, "completed").model_copy(update=found)
        self.finish(claim, program)
        return program

    def do_with_tape(self, tape: dict[str, Any]) -> ProgramJob:
        """Take the next program and end it as recorded."""
        claim, job = self.claim()
        self.keep_tapes(claim.id, {"candidate": tape})
        self.finish(claim, new_program(job, "completed"))
        return job

    def drain(self) -> None:
        """End the jobs that a test left in the queue, before another test claims them."""

        async def end_all() -> None:
            async with connect(self.redis_url) as redis, connect_blocking(self.redis_url) as other:
                consumer = JobConsumer(redis, other, "scripted")
                while claim := await consumer.claim([self.lane]):
                    await consumer.finish(claim.id, claim.token, b"{}", reusable=False, keep_s=1)

        asyncio.run(end_all())

    def keep_tapes(self, program_id: str, tapes: Mapping[str, dict[str, Any]]) -> dict[str, str]:
        """Store tapes like a worker; return their blobs."""
        return asyncio.run(self._keep_tapes(program_id, tapes))

    async def _keep_tapes(self, program_id: str, tapes: Mapping[str, Any]) -> dict[str, str]:
        async with connect(self.redis_url) as redis:
            digests = {
                whose: await Blobs(redis).put(orjson.dumps(tape)) for whose, tape in tapes.items()
            }
            await Programs(redis).keep_tapes(program_id, digests)
        return digests

    def keep_receipt(self, program_id: str, work: dict[str, Any]) -> str:
        """Store the worker's part of a receipt; return its blob."""

        async def keep() -> str:
            async with connect(self.redis_url) as redis:
                digest = await Blobs(redis).put(orjson.dumps(work))
                await Programs(redis).keep_receipt(program_id, digest)
            return digest

        return asyncio.run(keep())

    def evict(self, digest: str) -> None:
        """Evict a blob from the cache."""

        async def delete() -> None:
            async with connect(self.redis_url) as redis:
                await redis.delete(keys.BLOB + digest)

        asyncio.run(delete())

    def report(self, claim: Claim, kind: str, data: dict[str, Any]) -> None:
        """Append an event like a worker."""

        async def append() -> None:
            async with connect(self.redis_url) as redis:
                await Events(redis).append(claim.id, claim.token, kind, data)

        asyncio.run(append())


@pytest.fixture(scope="session")
def recording(system: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Yield a service with API keys and without a worker."""
    folder = tmp_path_factory.mktemp("programs")
    key = {"TRITOND_RECEIPT_KEY_FILE": str(folder / "receipt-key.pem")}
    with without_worker(system, folder, **QUOTAS, **key) as deployment:
        yield deployment


@pytest.fixture(scope="session")
def offered(recording: Deployment) -> ScriptedRecorder:
    return ScriptedRecorder(recording.redis_url)


@pytest.fixture
def recorder(offered: ScriptedRecorder) -> Iterator[ScriptedRecorder]:
    yield offered
    offered.drain()


@pytest.fixture
def gpu_recorder(recording: Deployment) -> Iterator[ScriptedRecorder]:
    """Yield a script that claims to run programs on a GPU."""
    scripted = ScriptedRecorder(recording.redis_url, GPU)
    yield scripted
    scripted.drain()

    async def forget() -> None:
        async with connect(recording.redis_url) as redis:
            await redis.delete(keys.PROGRAM_DEVICES)
            await redis.srem(keys.DEVICES, GPU)

    asyncio.run(forget())


@pytest.fixture(scope="session")
def secrets_of_programs(recording: Deployment) -> dict[str, str]:
    async def make() -> dict[str, str]:
        async with connect(recording.redis_url) as redis:
            made = {
                "alice": await ApiKeys(redis).create("alice", ("launch",)),
                "bob": await ApiKeys(redis).create("bob", ("launch",)),
                "compiler": await ApiKeys(redis).create("compiler", ("compile",)),
                "operator": await ApiKeys(redis).create("operator", ("admin",)),
            }
        return {name: secret for name, (_, secret) in made.items()}

    return asyncio.run(make())


@pytest.fixture
def asking(
    recording: Deployment, recorder: ScriptedRecorder, secrets_of_programs: dict[str, str]
) -> Iterator[Callable[[str], httpx.Client]]:
    """Yield clients by the name of their key; then cancel what they left in the queue."""
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(recording.client(authorization=f"Bearer {secret}"))
            for name, secret in secrets_of_programs.items()
        }
        posted: list[str] = []
        for client in clients.values():
            client.event_hooks["response"] = [lambda answer: remember(answer, posted)]
        yield clients.__getitem__
        for url in posted:
            for client in clients.values():
                client.delete(url)


@pytest.fixture
def alice(asking: Callable[[str], httpx.Client]) -> httpx.Client:
    return asking("alice")


@pytest.fixture
def bob(asking: Callable[[str], httpx.Client]) -> httpx.Client:
    return asking("bob")


@pytest.fixture
def ends(recorder: ScriptedRecorder) -> Iterator[Callable[..., Future[Any]]]:
    """Ends the next program while a client waits for it."""
    with ThreadPoolExecutor(1) as pool:
        yield lambda **found: pool.submit(recorder.do, **found)


@pytest.fixture
def client(
    recording: Deployment, secrets_of_programs: dict[str, str], recorder: ScriptedRecorder
) -> Iterator[Client]:
    with Client(recording.url, api_key=secrets_of_programs["alice"]) as client:
        yield client
