"""Faults in a soak: parts are killed or frozen, and the store refuses."""

import asyncio
import os
import random
import signal
import socket
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from store.connection import connect
from tests.integration.faults.refusing import REFUSALS
from tests.integration.service.running import Deployment, Process
from tests.security.tree import descendants

Fault = Callable[[Deployment, random.Random], None]


def killed_worker(deployment: Deployment, chance: random.Random) -> None:
    """Kill a worker, and start it again."""
    _replaced(deployment, chance, lambda worker: worker.kill())


def stopped_worker(deployment: Deployment, chance: random.Random) -> None:
    """Stop a worker by signal, and start it again."""
    _replaced(deployment, chance, lambda worker: worker.stop())


def _replaced(deployment: Deployment, chance: random.Random, end: Callable[[Process], int]) -> None:
    worker = chance.choice(deployment.workers)
    deployment.workers.remove(worker)
    end(worker)
    deployment.start_worker()


def killed_children(deployment: Deployment, chance: random.Random) -> None:
    """Kill children and zygotes, like the OOM killer."""
    worker = chance.choice(deployment.workers)
    children = sorted(descendants(worker.pid))  # empty for a worker that has just started
    for pid in chance.sample(children, min(2, len(children))):
        _signalled(pid, signal.SIGKILL)


def frozen_worker(deployment: Deployment, chance: random.Random) -> None:
    """Freeze a worker until its leases have expired, then let it continue."""
    worker = chance.choice(deployment.workers)
    worker.send(signal.SIGSTOP)
    time.sleep(5)
    worker.send(signal.SIGCONT)


def killed_service(deployment: Deployment, chance: random.Random) -> None:
    """Kill the service, and start it again."""
    assert deployment.service is not None
    deployment.service.kill()
    deployment.start_service()


def stopped_service(deployment: Deployment, chance: random.Random) -> None:
    """Stop the service by signal, and start it again."""
    deployment.stop_service()
    deployment.start_service()


def killed_store(deployment: Deployment, chance: random.Random) -> None:
    """Kill the store, and start it again on its data."""
    assert deployment.store.pid is not None
    os.kill(deployment.store.pid, signal.SIGKILL)
    deployment.stop_store()
    deployment.start_store()


def frozen_store(deployment: Deployment, chance: random.Random) -> None:
    """Freeze the store for a while."""
    assert deployment.store.pid is not None
    os.kill(deployment.store.pid, signal.SIGSTOP)
    time.sleep(4)
    os.kill(deployment.store.pid, signal.SIGCONT)


def slow_clients(deployment: Deployment, chance: random.Random) -> None:
    """Open many connections that send half a request."""
    address = urlsplit(deployment.url)
    held = [socket.create_connection((address.hostname, address.port)) for _ in range(200)]
    for connection in held:
        connection.sendall(b"POST /v1/compilations HTTP/1.1\r\nContent-Length: 99\r\n")
    time.sleep(2)
    for connection in held:
        connection.close()


def _refusing(name: str) -> Fault:
    def fault(deployment: Deployment, chance: random.Random) -> None:
        asyncio.run(_refuse(deployment, name, chance.uniform(1, 6)))

    fault.__doc__ = f"The store refuses: {name}."
    return fault


async def _refuse(deployment: Deployment, name: str, seconds: float) -> None:
    async with (
        connect(deployment.redis_url, max_connections=1) as operator,
        REFUSALS[name](deployment.store, operator),
    ):
        await asyncio.sleep(seconds)


def _signalled(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # it ended by itself


FAULTS: dict[str, Fault] = {
    "killed worker": killed_worker,
    "stopped worker": stopped_worker,
    "killed children": killed_children,
    "frozen worker": frozen_worker,
    "killed service": killed_service,
    "stopped service": stopped_service,
    "killed store": killed_store,
    "frozen store": frozen_store,
    "slow clients": slow_clients,
    **{f"store: {name}": _refusing(name) for name in REFUSALS},
}
