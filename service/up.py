"""`tritond up`: everything on one machine, as one tree of processes that lives and dies together.

Embedded Valkey, the service and a compile worker; each could as well run elsewhere.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from store.connection import connect
from store.embedded import EmbeddedValkey
from store.errors import StoreUnavailable
from store.lifeline import tied_to_us
from store.workers import Workers

READY_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 8.0
POLL_S = 0.1


class PartEnded(Exception):
    """A part of the tree ended by itself; the rest is stopped."""


async def up(host: str, port: int, data: Path) -> None:
    """Run the tree until SIGINT or SIGTERM.

    Raises PartEnded when a part stops by itself, EmbeddedServerError when Valkey does not start.
    """
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        ends = []
        redis_url = os.environ.get("TRITOND_REDIS_URL")
        if redis_url is None:
            valkey = await stack.enter_async_context(EmbeddedValkey(data))
            redis_url = valkey.url
            ends.append(_end_of_valkey(valkey))
        environment = os.environ | {
            "TRITOND_REDIS_URL": redis_url,
            "TRITOND_HOST": host,
            "TRITOND_PORT": str(port),
        }
        for module in ("service", "worker"):
            part = await _start(module, environment)
            stack.push_async_callback(_stop, part)
            ends.append(_end(module, part))
        await _run(ends, stopped, redis_url, host, port)


async def _run(
    endings: Iterable[Coroutine[Any, Any, str]],
    stopped: asyncio.Event,
    redis_url: str,
    host: str,
    port: int,
) -> None:
    ends = [asyncio.create_task(ending) for ending in endings]
    stop = asyncio.create_task(stopped.wait())
    ready = asyncio.create_task(_announce_when_ready(redis_url, host, port))
    waited: set[asyncio.Task[Any]] = {*ends, stop}
    try:
        done, _ = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if stop not in done:
            raise PartEnded(f"the {done.pop().result()}; see its log above")
    finally:
        for task in (*ends, stop, ready):
            task.cancel()
        await asyncio.gather(*ends, stop, ready, return_exceptions=True)


async def _end(name: str, part: asyncio.subprocess.Process) -> str:
    return f"{name} ended with status {await part.wait()}"


async def _end_of_valkey(valkey: EmbeddedValkey) -> str:
    """Return when the server is gone; its descriptor can be read then (pidfd_open(2))."""
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


async def _start(module: str, environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *tied_to_us(sys.executable, "-m", module),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        # Ctrl-C in a terminal reaches us alone; we stop the parts in order
        process_group=0,
    )


async def _stop(part: asyncio.subprocess.Process) -> None:
    if part.returncode is not None:
        return
    part.terminate()
    try:
        async with asyncio.timeout(STOP_TIMEOUT_S):
            await part.wait()
    except TimeoutError:
        part.kill()
        await part.wait()


async def _announce_when_ready(redis_url: str, host: str, port: int) -> None:
    redis = connect(redis_url)
    try:
        async with asyncio.timeout(READY_TIMEOUT_S):
            await _ready(Workers(redis), host, port)
    except TimeoutError:
        print(f"not ready after {READY_TIMEOUT_S:g} s; still trying", file=sys.stderr)  # noqa: T201
        return
    finally:
        await redis.aclose()
    print(f"tritond is ready at http://{host}:{port}  (API docs: /docs)", flush=True)  # noqa: T201


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


async def _has_worker(workers: Workers) -> bool:
    try:
        return bool(await workers.list())
    except StoreUnavailable:
        return False
