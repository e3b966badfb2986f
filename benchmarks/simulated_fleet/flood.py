"""Puts a million jobs through a real Valkey as fast as it can, to see what a job costs and keeps.

The commands are those of the store's code, with its scripts. 200 workers' commands are sent in one
pipeline, so that Valkey is never idle and this process takes no part in what is measured. No job
does anything. `PYTHONPATH=benchmarks python -m simulated_fleet.flood` prints a row for each part.
"""

import argparse
import asyncio
import itertools
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from redis.commands.core import AsyncScript

from simulated_fleet.record import RECORDED, RecordedJob
from simulated_fleet.valkey_connection import Connection, memory_bytes, processor_s
from store.connection import StoreClient
from store.embedded import EmbeddedValkey
from store.events import Events
from store.jobs.consumer import JobConsumer
from store.jobs.producer import JobProducer
from store.jobs.types import Priority, QueueLimits, compile_lane

ROOT = Path(__file__).parents[2]
LANE = compile_lane("flood")
WORKERS = 200
QUEUED = 5_000
KEEP_S = 60


class _Recorder(StoreClient):
    """Keeps the commands that the store's code sends, and answers what it expects."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.commands: list[tuple[Any, ...]] = []
        self.scripts: set[str] = set()
        self._answer = answer

    def register_script(self, script: Any) -> AsyncScript:
        self.scripts.add(script)
        return super().register_script(script)

    async def execute_command(self, *args: Any, **_: Any) -> Any:
        self.commands.append(args)
        return self._answer


class Flood:
    """Jobs of the mix through one Valkey."""

    def __init__(self, connection: Connection, callers: int) -> None:
        recorded = [RecordedJob(**job) for job in json.loads(RECORDED.read_text())["jobs"]]
        self._jobs = itertools.cycle(recorded)
        self._numbers = itertools.count()
        self._connection = connection
        self._loaded: set[str] = set()
        self._callers = callers

    def submit(self, count: int) -> None:
        """Submit so many jobs."""
        answers = self._sent([b"miss"], lambda client: [self._submit(client) for _ in range(count)])
        if any(answer != [b"miss"] for answer in answers):
            raise RuntimeError("a job was not created")

    def finish(self, count: int) -> None:
        """Claim so many jobs, tell an event of each for every recorded one, and finish them."""
        claims = self._sent([0], lambda client: [self._claim(client) for _ in range(count)])
        claimed = [(claim[1][1].decode(), int(claim[1][5])) for claim in claims]
        self._sent(
            1, lambda client: [self._end(client, *each, next(self._jobs)) for each in claimed]
        )  # fmt: skip

    async def _submit(self, client: StoreClient) -> None:
        number, job = next(self._numbers), next(self._jobs)
        await JobProducer(client, QueueLimits(queued_per_caller=QUEUED)).submit(
            f"{number:064x}",
            lane=LANE,
            priority=Priority.INTERACTIVE if number % 2 else Priority.BATCH,
            payload=b" " * job.payload_bytes,
            caller=f"caller-{number % self._callers}",
            deadline_ms=3_600_000,
        )

    async def _claim(self, client: StoreClient) -> None:
        await JobConsumer(client, client, "worker").claim([LANE])

    async def _end(self, client: StoreClient, job_id: str, token: int, job: RecordedJob) -> None:
        for number in range(job.events):
            stage = {"stage": f"stage-{number}", "ms": 20.5, "size_bytes": 10_000}
            await Events(client).append(job_id, token, "stage", stage)
        record = b'{"state":"succeeded"}'.ljust(job.record_bytes)
        await JobConsumer(client, client, "worker").finish(
            job_id, token, record, reusable=True, keep_s=KEEP_S, used_ms=job.run_ms
        )

    def _sent(
        self, answer: Any, calls: Callable[[StoreClient], Iterable[Awaitable[None]]]
    ) -> list[Any]:
        client = _Recorder(answer)

        async def record() -> None:
            for call in calls(client):
                await call

        asyncio.run(record())
        new = sorted(client.scripts - self._loaded)
        self._connection.ask([("SCRIPT LOAD", script) for script in new])
        self._loaded.update(new)
        return self._connection.ask(client.commands)


def main() -> None:
    """Print what each part of the jobs cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--callers", type=int, default=100)
    arguments = parser.parse_args()
    (ROOT / ".cache").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="flood-", dir=ROOT / ".cache") as folder:
        valkey = EmbeddedValkey(Path(folder))
        asyncio.run(valkey.start())
        try:
            _measure(Connection(valkey.url), arguments.jobs, arguments.parts, arguments.callers)
        finally:
            asyncio.run(valkey.stop())


def _measure(connection: Connection, jobs: int, parts: int, callers: int) -> None:
    flood, empty = Flood(connection, callers), memory_bytes(connection)
    for _ in range(QUEUED // WORKERS):
        flood.submit(WORKERS)
    print(f"a queued job takes {(memory_bytes(connection) - empty) / QUEUED:.0f} bytes")
    print("| jobs | Valkey us a job | jobs a second here | MB in use |\n" + "|---" * 4 + "|")
    for part in range(1, parts + 1):
        cpu_s, began_s = processor_s(connection), time.monotonic()
        count = jobs // parts // WORKERS * WORKERS
        for _ in range(count // WORKERS):
            flood.submit(WORKERS)
            flood.finish(WORKERS)
        us = 1e6 * (processor_s(connection) - cpu_s) / count
        per_s = count / (time.monotonic() - began_s)
        used = memory_bytes(connection) / 1e6
        print(f"| {part * count} | {us:.0f} | {per_s:.0f} | {used:.0f} |", flush=True)


if __name__ == "__main__":
    main()
