"""Measures large blobs in a bucket: which frames are large, what a get costs, and what a hit costs.

Set `--rclone` to an rclone, such as .cache/blobs/bin/rclone of `make test-blobs`. The variants take
turns, so that a noisy machine affects them alike.
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import redis
import zstandard
from cpu import own_cpu_s
from deployment import Deployment, Server
from hit import CONNECTIONS, PATH, ask, first_answer
from load import Load, in_own_process
from mix import Mix

from store import blobs as store_blobs
from store.blobs import Blobs
from store.bucket import Bucket
from store.connection import connect
from store.frames import LEVEL

GETS_KIB = (1, 4, 8, 16, 32, 64, 256)
THRESHOLDS_KIB = (1, 4, 8, 16, 32, 64)
ROUNDS = 8
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "accesskey", "AWS_SECRET_ACCESS_KEY": "secretkey"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rclone", required=True)
    parser.add_argument("--requests", type=int, default=8_000, help="hits per variant")
    arguments = parser.parse_args()
    with Deployment() as deployment, s3(arguments.rclone, deployment.folder / "s3") as endpoint:
        os.environ |= CREDENTIALS | {"AWS_ENDPOINT_URL": endpoint}
        frames(deployment)
        asyncio.run(gets(deployment.redis_url))
        hits(deployment, arguments.requests)


@contextlib.contextmanager
def s3(rclone: str, folder: Path) -> Iterator[str]:
    """Serve a folder as S3; yield the endpoint."""
    (folder / "bucket").mkdir(parents=True)
    key = ",".join(CREDENTIALS.values())
    command = [rclone, "serve", "s3", "--addr", "127.0.0.1:0", "--auth-key", key, str(folder)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=os.environ | {"RCLONE_CONFIG": os.devnull}
    ) as server:
        assert server.stderr is not None
        match = re.search(r"\[(http://[^/]+)/\]", server.stderr.readline())
        if match is None:
            raise RuntimeError("rclone does not serve; run it by hand to see why")
        yield match[1]
        server.terminate()


def frames(deployment: Deployment) -> None:
    """Print how many frames of realistic kernels have some size, and their share of all bytes."""
    server = deployment.serve()
    bodies = [json.dumps(body) for body in Mix().real()]
    in_own_process(Load(server.port, PATH, bodies, len(bodies), 2))
    with redis.Redis.from_url(deployment.redis_url) as client:
        names = list(client.scan_iter("tritond:blob:*", count=1000))
        sizes = [client.strlen(name) for name in names]
    server.stop()
    print(f"{len(sizes)} frames of {len(bodies)} kernels, {sum(sizes)} bytes")
    print("| from KiB | frames | of all bytes |\n|---|---|---|")
    for kib in THRESHOLDS_KIB:
        large = [size for size in sizes if size >= kib << 10]
        print(f"| {kib} | {len(large) / len(sizes):.0%} | {sum(large) / sum(sizes):.0%} |")


async def gets(redis_url: str) -> None:
    """Print CPU and time of a verified get from the cache and from the bucket, by size."""
    store_blobs.LARGE_BYTES = 1
    print("| KiB | CPU us, cache | CPU us, bucket | ratio | ms, cache | ms, bucket |")
    print("|---|---|---|---|---|---|")
    async with connect(redis_url) as client:
        variants = {"cache": Blobs(client), "bucket": Blobs(client, bucket=Bucket("s3://bucket/a"))}
        for kib in GETS_KIB:
            cpu: dict[str, list[float]] = {name: [] for name in variants}
            wall: dict[str, list[float]] = {name: [] for name in variants}
            for _ in range(ROUNDS):
                for name, blobs in variants.items():
                    digest = await blobs.put(os.urandom(kib << 10))
                    for _ in range(40):
                        before_s, began_s = time.process_time(), time.perf_counter()
                        assert await blobs.get(digest) is not None
                        cpu[name].append((time.process_time() - before_s) * 1e6)
                        wall[name].append((time.perf_counter() - began_s) * 1e3)
            us = {name: statistics.fmean(values) for name, values in cpu.items()}
            ms = {name: statistics.median(values) for name, values in wall.items()}
            ratio = us["bucket"] / us["cache"]
            print(
                f"| {kib} | {us['cache']:.0f} | {us['bucket']:.0f} | {ratio:.1f} "
                f"| {ms['cache']:.2f} | {ms['bucket']:.2f} |"
            )
    store_blobs.LARGE_BYTES = 16 << 10


def hits(deployment: Deployment, count: int) -> None:
    """Print the service's CPU time of hits from the store, without and with a bucket."""
    bodies = [json.dumps(Mix().answer_of_22_kb()) for _ in range(2 * CONNECTIONS)]
    without = deployment.serve(memory_cache_bytes=0)
    answers = [first_answer(without, body) for body in bodies]
    frame = zstandard.ZstdCompressor(level=LEVEL)
    included = json.loads(answers[0])["included"]
    sizes = {stage: len(frame.compress(text.encode())) for stage, text in included.items()}
    print(f"hits of {len(answers[0])} bytes, whose frames have {sizes} bytes")
    servers: dict[str, Server] = {
        "no bucket": without,
        "a bucket, which these frames are too small for": deployment.serve(
            memory_cache_bytes=0, blobs_url="s3://bucket/hits"
        ),
    }
    for server in servers.values():
        ask(server, bodies, 500)
    us: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(ROUNDS):
        for name, server in servers.items():
            before_s = own_cpu_s(server.pid)
            ask(server, bodies, count // ROUNDS)
            us[name].append((own_cpu_s(server.pid) - before_s) / (count // ROUNDS) * 1e6)
    for name, values in us.items():
        ratio = statistics.fmean(values) / statistics.fmean(us["no bucket"])
        print(f"| {name} | {statistics.fmean(values):.0f} us | {ratio:.2f} |")


if __name__ == "__main__":
    main()
