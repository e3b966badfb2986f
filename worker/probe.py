"""`python -m worker.probe`: exit 0 if the store knows a living worker of this machine, else 1.

For supervisors that ask by a command, such as Kubernetes: a worker has no port. One that is known
has a sandbox that holds, and sends heartbeats.
"""

import asyncio
import sys

from store.connection import connect
from store.errors import StoreUnavailable
from store.workers import Workers
from worker.settings import WorkerSettings, is_of_this_machine


async def is_known(redis_url: str) -> bool:
    """Return whether a worker of this machine lives. Raises StoreUnavailable."""
    async with connect(redis_url) as redis:
        return any(is_of_this_machine(worker.id) for worker in await Workers(redis).list())


def main() -> None:
    """Ask the store once."""
    try:
        if not asyncio.run(is_known(WorkerSettings().redis_url)):
            sys.exit("The store knows no live worker of this machine.")
    except StoreUnavailable as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
