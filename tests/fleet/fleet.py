"""A deployment on many machines: stores with Sentinels, a bucket, services and workers."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import redis

from store import keys
from tests.buckets.conftest import KEY, RCLONE, SECRET, S3Server
from tests.fleet.network import Machine, Network, small_disk
from tests.integration.service.running import ROOT, Process, answers, note_tried, prepare
from tests.servers.conftest import Replicated, Server
from tests.waiting import wait_until

LEASE_S = 5
RECOVERY_S = 3 * LEASE_S
"""The bar: within three leases of a fault, jobs end again for every client."""
ADMIN_KEY = "the-admin-key-of-a-fleet-that-ends-with-its-tests"
PORT = 8000
START_S = 280.0
"""Time for all parts to start, on a busy machine, too."""
Record = Callable[[str, object], None]
"""The type of the fixture `record_property`."""
SERVICES = ("service-1", "service-2")
WORKERS = ("worker-1", "worker-2", "worker-3")
FILLER = "filler"
"""A file that takes what is left of a store's disk."""
_STORE_DISK_BYTES = 64 << 20


class Fleet:
    """Three stores, a bucket, two services, three workers: each on a separate machine.

    What a test kills or cuts off, `mend` brings back.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.network = Network()
        self.stores = [self.network.machine() for _ in range(3)]
        self.bucket_machine = self.network.machine()
        self.machines = {name: self.network.machine() for name in (*SERVICES, *WORKERS)}
        self.parts: dict[str, Process] = {}
        self.ended: set[str] = set()
        for name in ("first", "replica-0", "replica-1"):
            small_disk(folder / name, _STORE_DISK_BYTES)
        self.servers = Replicated(folder, [each.place for each in self.stores])
        (folder / "served/bucket").mkdir(parents=True)
        self.bucket = S3Server(folder / "served", *RCLONE, place=self.bucket_machine.place)
        self._settings = {
            "TRITOND_REDIS_URL": self.servers.url,
            "TRITOND_ACK_REPLICAS": "1",
            "TRITOND_BLOBS_URL": "s3://bucket/fleet",
            "AWS_ENDPOINT_URL": self.bucket.url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "SSL_CERT_DIR": "/etc/ssl/certs",
        }

    def start(self) -> None:
        self.servers.start()
        self.bucket.start()
        asyncio.run(prepare(self.servers.url))
        for name in self.machines:
            self.start_part(name)
        self.wait_until_whole()
        asyncio.run(note_tried(self.servers.url))

    def start_part(self, name: str, root: Path = ROOT) -> Process:
        """Start the service or worker `name`, of the code in `root`."""
        place = self.machines[name].place
        if name in SERVICES:
            own = {"TRITOND_HOST": place.address, "TRITOND_ADMIN_KEY": ADMIN_KEY}
            module, own = "service", own | {"TRITOND_PORT": str(PORT)}
        else:
            module, own = "worker", {"TRITOND_SLOTS": "2", "TRITOND_LEASE_S": str(LEASE_S)}
        log = self.folder / f"{name}.log"
        settings = self._settings | own
        self.ended.discard(name)
        self.parts[name] = Process(log, "-m", module, cwd=root, place=place, **settings)
        return self.parts[name]

    def replace(self, name: str) -> None:
        """Stop a part, and start the present version in its place."""
        self.end(name)
        self.revive(name)

    def url(self, service: str) -> str:
        return f"http://{self.machines[service].address}:{PORT}"

    def machine_of(self, server: Server) -> Machine:
        return next(each for each in self.stores if each.place is server.place)

    def client(self, service: str, timeout_s: float = 30) -> httpx.Client:
        return httpx.Client(
            base_url=self.url(service),
            headers={"authorization": f"Bearer {ADMIN_KEY}"},
            timeout=httpx.Timeout(timeout_s, connect=3),
            trust_env=False,
        )

    def end(self, name: str, number: int = signal.SIGTERM) -> None:
        """Have a part end by this signal."""
        self.ended.add(name)
        self.parts[name].send(number)
        self.parts[name].wait()

    def died(self) -> list[str]:
        """Return the parts that ended by themselves."""
        return [
            name
            for name, part in self.parts.items()
            if not part.still_runs() and name not in self.ended
        ]

    def mend(self) -> None:
        """Bring back all that is cut off, frozen or dead, and return when the fleet is whole."""
        for machine in (*self.stores, self.bucket_machine, *self.machines.values()):
            self.network.join(machine)
        for server in (*self.servers.servers, *self.servers.sentinels):
            server.resume()
            (server.folder / FILLER).unlink(missing_ok=True)
            if not server.still_runs():
                server.start()
        self.bucket.resume()
        if not self.bucket.still_runs():
            self.bucket.start()
        self.revive(*self.parts)
        self.wait_until_whole()

    def revive(self, *names: str) -> None:
        """Resume stopped parts and start those that ended; services are ready then."""
        for name in names:
            if self.parts[name].still_runs():
                self.parts[name].send(signal.SIGCONT)
            else:
                self.start_part(name)
        services = [name for name in names if name in SERVICES]
        wait_until(lambda: all(map(self.is_ready, services)), f"{services} are ready", self.said)

    def is_ready(self, service: str) -> bool:
        return answers(f"{self.url(service)}/readyz")

    def wait_until_whole(self) -> None:
        what = "two services, three workers, two replicas"
        wait_until(self.is_whole, what, self.said, START_S)

    def is_whole(self) -> bool:
        assert not self.died(), f"ended by themselves: {self.died()}\n{self.said()}"
        if not all(map(self.is_ready, SERVICES)):
            return False
        with suppress(httpx.TransportError, redis.RedisError, AssertionError):
            with self.client(SERVICES[0]) as http:
                compile_workers = http.get("/v1/system").json()["workers"]["compile"]
            return bool(compile_workers == len(WORKERS)) and self._has_replicas()
        return False

    def _has_replicas(self) -> bool:
        with self.servers.master().client() as client:
            found = client.info("replication")
        return all(found.get(f"slave{n}", {}).get("state") == "online" for n in range(2))

    def finishes(self, job_ids: list[str]) -> list[int | None]:
        """Return how often each job ended, as its events say; None: they are not kept any more."""
        with self.servers.master().client() as client:
            pipeline = client.pipeline(transaction=False)
            for job_id in job_ids:
                pipeline.xrange(keys.EVENTS + job_id)
            found = pipeline.execute()
        return [
            sum(event[b"type"] == b"finished" for _, event in events) if events else None
            for events in found
        ]

    def held(self, worker: str) -> dict[str, int]:
        """Return the jobs that a worker has now, each with the token of the attempt."""
        with self.servers.master().client() as client:
            ids = [each.decode() for each in client.zrange(keys.LEASES, 0, -1)]
            jobs = {each: client.hmget(keys.JOB + each, "consumer", "token") for each in ids}
        return {
            job_id: int(token)
            for job_id, (consumer, token) in jobs.items()
            if token and self._is_of(worker, consumer.decode())
        }

    def wait_for_jobs_of(self, worker: str) -> None:
        """Return when a worker has a job, which a load must have posted."""
        wait_until(lambda: self.held(worker), f"{worker} has a job", self.said)

    def reaper(self) -> str | None:
        """Return the part that reaps for all now."""
        with self.servers.master().client() as client:
            consumer = (client.get(keys.REAPER) or b"").decode()
        return next((name for name in self.parts if self._is_of(name, consumer)), None)

    def _is_of(self, part: str, consumer: str) -> bool:
        """Return whether a name in the store, with its process id, is that of a part."""
        return f"-{self.parts[part].pid}-" in consumer

    def said(self) -> str:
        """Return the end of each log."""
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"--- {log.name}\n{log.read_text()[-3000:]}" for log in logs)

    def stop(self) -> None:
        with ExitStack() as ends:
            ends.callback(self.servers.stop)
            ends.callback(self.bucket.stop)
            for part in self.parts.values():
                ends.callback(part.kill)
                part.send(signal.SIGCONT)
