"""`tritond up`: runs everything on one machine, as one tree of processes.

The tree has an embedded Valkey, the service and a worker. A worker that dies is restarted, because
its jobs return to the queue. If another part dies, the whole tree stops.
"""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from service.toolchains import reconcile_default
from store.connection import StoreClient, connect
from store.embedded import EmbeddedValkey, bound_to_parent
from store.errors import StoreUnavailable
from store.jobs.producer import JobProducer
from store.workers import Toolchains, Workers

READY_TIMEOUT_S = 120.0
DRAIN_S = 5.0
STOP_TIMEOUT_S = 5.0  # on top of the time that a part has to finish its jobs
POLL_S = 0.1
RECONCILE_S = 5.0
QUICK_DEATH_S = 10.0
MAX_QUICK_DEATHS = 3
RESTART_AFTER_S = 0.5
RECEIPT_KEY = "TRITOND_RECEIPT_KEY_FILE"
OF_THE_SERVICE = frozenset({"TRITOND_ADMIN_KEY", "TRITOND_API_KEY", RECEIPT_KEY})
"""Secrets that only the service needs. Workers run untrusted code and never get them."""

logger = logging.getLogger("tritond")


class PartEnded(Exception):
    """A part of the tree ended by itself; the others must stop."""


class UpPart:
    """One process of the tree: a module of tritond, run by this Python."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        self.name = name
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start or restart the process."""
        self._process = await asyncio.create_subprocess_exec(
            *bound_to_parent(sys.executable, "-P", "-m", self.name),
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            # Ctrl-C in a terminal must reach only us: we stop the parts in order
            process_group=0,
        )

    async def wait(self) -> int:
        """Wait for the process and return its exit status."""
        assert self._process is not None
        return await self._process.wait()

    def _drain_s(self) -> float:
        """Return how many seconds the process may take to finish its work."""
        try:
            return float(self._environment.get("TRITOND_DRAIN_S") or DRAIN_S)
        except ValueError:
            return DRAIN_S

    async def stop(self) -> None:
        """Terminate the process, and kill it if it does not end in time."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(self._drain_s() + STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def up(host: str, port: int, data: Path, announce: Callable[[str], object]) -> None:
    """Run the tree until SIGINT or SIGTERM; `announce` that it is ready.

    Raises PartEnded when a part cannot start or stops by itself, EmbeddedServerError when Valkey
    does not start.
    """
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        ends = []
        redis_url = os.environ.get("TRITOND_REDIS_URL")
        alone = redis_url is None
        if alone and os.environ.get("TRITOND_ACK_REPLICAS", "0") not in {"", "0"}:
            raise PartEnded(
                "TRITOND_ACK_REPLICAS needs TRITOND_REDIS_URL: the embedded server has no replicas"
            )
        await _check_address(host, port)
        if redis_url is None:
            valkey = await stack.enter_async_context(EmbeddedValkey(data))
            redis_url = valkey.url
            with suppress(StoreUnavailable):  # e.g. a full disk: the entries expire by themselves
                await _forget_workers(redis_url)
            ends.append(_end_of_valkey(valkey))
        else:
            logger.info("TRITOND_REDIS_URL is set: that server keeps the data, not %s", data)
        environment = os.environ | {
            "TRITOND_REDIS_URL": redis_url,
            "TRITOND_HOST": host,
            "TRITOND_PORT": str(port),
            RECEIPT_KEY: os.environ.get(RECEIPT_KEY) or str(_folder(data) / "receipt-key.pem"),
        }
        service = UpPart("service", environment)
        others = {name: value for name, value in environment.items() if name not in OF_THE_SERVICE}
        worker = UpPart("worker", others)
        for part in (service, worker):
            await part.start()
            stack.push_async_callback(part.stop)
        ends += [_end(service), end_for_good(worker)]
        await _run(ends, stopped, _announce_and_tend(redis_url, host, port, announce, alone=alone))


async def _check_address(host: str, port: int) -> None:
    """Raise PartEnded if the service cannot listen there.

    Otherwise the process that has the address would answer, and the tree would seem ready.
    """
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(asyncio.Protocol, host, port, start_serving=False)
    except (OSError, OverflowError) as error:
        where = f"{host}:{port}"
        raise PartEnded(
            f"cannot listen on {where}: {error}; choose another --port or --host"
        ) from None
    server.close()


def _folder(data: Path) -> Path:
    """Return the data folder, which exists even where another server keeps the data."""
    data.mkdir(parents=True, exist_ok=True)
    return data.absolute()


async def _run(
    endings: Iterable[Coroutine[Any, Any, str]],
    stopped: asyncio.Event,
    tending: Coroutine[Any, Any, None],
) -> None:
    ends = [asyncio.create_task(ending) for ending in endings]
    stop = asyncio.create_task(stopped.wait())
    ready = asyncio.create_task(tending)
    waited: set[asyncio.Task[Any]] = {*ends, stop}
    try:
        done, _ = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if stop not in done:
            raise PartEnded(f"the {done.pop().result()}; see its log above")
    finally:
        for task in (*ends, stop, ready):
            task.cancel()
        await asyncio.gather(*ends, stop, ready, return_exceptions=True)


async def _end(part: UpPart) -> str:
    return f"{part.name} ended with status {await part.wait()}"


async def end_for_good(part: UpPart) -> str:
    """Restart a part whenever it ends. Return when it died too often in too short a time."""
    deaths = 0
    while True:
        started = time.monotonic()
        ended = await _end(part)
        deaths = deaths + 1 if time.monotonic() - started < QUICK_DEATH_S else 1
        if deaths == MAX_QUICK_DEATHS:
            return f"{ended}, {deaths} times within {QUICK_DEATH_S:g} s of its start"
        logger.warning("the %s; starting it again", ended)
        await asyncio.sleep(RESTART_AFTER_S)
        await part.start()


async def _end_of_valkey(valkey: EmbeddedValkey) -> str:
    """Return when the server has exited: its pidfd becomes readable (pidfd_open(2))."""
    assert valkey.pid is not None
    gone = asyncio.Event()
    descriptor = os.pidfd_open(valkey.pid)
    asyncio.get_running_loop().add_reader(descriptor, gone.set)
    try:
        await gone.wait()
    finally:
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)
    return "embedded Valkey ended"


async def _announce_and_tend(
    redis_url: str, host: str, port: int, announce: Callable[[str], object], *, alone: bool
) -> None:
    """Announce readiness, then keep a served default: the worker's toolchain may change."""
    if await _is_ready(redis_url, host, port, alone=alone):
        announce(f"tritond is ready at http://{host}:{port}  (API docs: /docs)")
    async with connect(redis_url) as redis:
        while alone:
            await asyncio.sleep(RECONCILE_S)
            with suppress(StoreUnavailable):
                await _reconcile(redis)


async def _reconcile(redis: StoreClient) -> None:
    for change in await reconcile_default(Workers(redis), Toolchains(redis), JobProducer(redis)):
        logger.info("%s", change)


async def _is_ready(redis_url: str, host: str, port: int, *, alone: bool) -> bool:
    """Wait for the tree; return False, and log why, if it is not ready in time."""
    redis = connect(redis_url)
    try:
        async with asyncio.timeout(READY_TIMEOUT_S):
            await _ready(Workers(redis), host, port)
            if alone:
                await _reconcile(redis)
    except StoreUnavailable as error:
        logger.error("%s", error)  # noqa: TRY400
        return False
    except TimeoutError:
        logger.warning("not ready after %g s; still trying", READY_TIMEOUT_S)
        return False
    finally:
        await redis.aclose()
    return True


async def _ready(workers: Workers, host: str, port: int) -> None:
    while True:
        if await _accepts(host, port) and await _has_worker(workers):
            return
        await asyncio.sleep(POLL_S)


async def _accepts(host: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def _forget_workers(redis_url: str) -> None:
    """Remove workers of an earlier, killed tree from the store."""
    async with connect(redis_url) as redis:
        await Workers(redis).forget_all()


async def _has_worker(workers: Workers) -> bool:
    try:
        return bool(await workers.list())
    except StoreUnavailable:
        return False
