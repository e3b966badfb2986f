"""Compares obstore with aiobotocore: CPU time and latency of puts and gets on one S3 server.

Run it in an environment of both, with the endpoint and credentials of a server in `AWS_...`, and a
bucket there called `bucket`. The clients take turns.
"""

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

SIZES_KIB = (16, 256, 4096)
AT_ONCE = 8
ROUNDS = 6
Act = Callable[[str, bytes], Awaitable[object]]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=96, help="of each kind and round")
    count = parser.parse_args().requests
    for name, module in (("obstore", "obstore"), ("aiobotocore", "aiobotocore.session")):
        ms = [import_ms(module) for _ in range(5)]
        print(f"import of {name}: {statistics.median(ms):.0f} ms of CPU time")
    async with AsyncExitStack() as opened:
        clients = {"obstore": obstore_acts(), "aiobotocore": await aiobotocore_acts(opened)}
        print("| KiB | request | client | CPU us | wall ms, p50 |\n|---|---|---|---|---|")
        for size_kib in SIZES_KIB:
            data = os.urandom(size_kib << 10)
            for kind in ("put", "get"):
                cpu_us: dict[str, list[float]] = {name: [] for name in clients}
                wall_ms: dict[str, list[float]] = {name: [] for name in clients}
                for _ in range(ROUNDS):
                    for name, acts in clients.items():
                        cpu, walls = await measured(acts[kind], data, count)
                        cpu_us[name].append(cpu)
                        wall_ms[name] += walls
                for name in clients:
                    cpu, wall = statistics.median(cpu_us[name]), statistics.median(wall_ms[name])
                    print(f"| {size_kib} | {kind} | {name} | {cpu:.0f} | {wall:.2f} |")


def import_ms(module: str) -> float:
    """Return the CPU time of a Python that imports `module`, less that of one that does not."""
    times = []
    for code in (f"import asyncio, {module}", "import asyncio"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return (times[0] - times[1]) * 1e3


def obstore_acts() -> dict[str, Act]:
    """Return what puts and gets with obstore, as `store.bucket` does."""
    import obstore
    from obstore.store import from_url

    store = from_url("s3://bucket/obstore", client_options={"allow_http": True})

    async def put(name: str, data: bytes) -> None:
        await obstore.put_async(store, name, data, use_multipart=False)

    async def get(name: str, _: bytes) -> bytes:
        answer = await obstore.get_async(store, name)
        return bytes(await answer.bytes_async())

    return {"put": put, "get": get}


async def aiobotocore_acts(opened: AsyncExitStack) -> dict[str, Act]:
    """Return what does the same with aiobotocore."""
    from aiobotocore.config import AioConfig
    from aiobotocore.session import get_session

    config = AioConfig(max_pool_connections=64, s3={"addressing_style": "path"})
    client = await opened.enter_async_context(
        get_session().create_client(
            "s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], config=config
        )
    )

    async def put(name: str, data: bytes) -> None:
        await client.put_object(Bucket="bucket", Key=f"aiobotocore/{name}", Body=data)

    async def get(name: str, _: bytes) -> bytes:
        answer = await client.get_object(Bucket="bucket", Key=f"aiobotocore/{name}")
        async with answer["Body"] as body:
            content: bytes = await body.read()
            return content

    return {"put": put, "get": get}


async def measured(act: Act, data: bytes, count: int) -> tuple[float, list[float]]:
    """Return the CPU time of a request in microseconds, and the times of all in milliseconds."""
    walls_ms: list[float] = []
    names = iter(range(count))

    async def one_after_the_other() -> None:
        for number in names:
            began = time.perf_counter()
            await act(f"{len(data)}-{number}", data)
            walls_ms.append((time.perf_counter() - began) * 1e3)

    before = time.process_time()
    await asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))
    return (time.process_time() - before) / count * 1e6, walls_ms


if __name__ == "__main__":
    asyncio.run(main())
