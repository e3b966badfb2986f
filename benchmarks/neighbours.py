"""Measures what one caller notices of another: a batch of 1,000 items, or requests beyond limits.

Alice compiles new kernels, and asks again for one that is cached; bob submits a batch of 1,000 new
kernels; eve, at her limits, repeats a launch on a GPU over eight connections and never waits.
Alice's time without the other and with the other take turns. All processes, eve's too, share the
machine. The worker's GPU is a stand-in (`gpu/stand_in_gpu.py`), since no GPU is needed to refuse.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).parent.parent))

from deployment import Deployment, Server
from gpu.launch_bodies import add
from mix import Mix
from table import Row, show

from store.api_keys import ApiKeys
from store.connection import connect

ITEMS = 1_000
EVES_REQUESTS_PER_S = 20
EVES_GPU_SECONDS_PER_HOUR = 0.001
SLICE_S = 2.0
PAUSE_S = 0.1
MAX_SLOWED = 1.1
IDLE_S = 2.0  # the service closes a connection that is idle for longer


class Asking:
    """One caller's connection."""

    def __init__(self, service: Server, secret: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", service.port)
        self._used_at_s = time.monotonic()
        self._headers = {
            "Authorization": f"Bearer {secret}",
            "Content-Type": "application/json",
        }

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return the status and the answer."""
        text = None if body is None else json.dumps(body)
        if time.monotonic() - self._used_at_s > IDLE_S:
            self._connection.close()  # the next request opens it again
        self._connection.request(method, path, text, self._headers)
        response = self._connection.getresponse()
        answered = response.read()
        self._used_at_s = time.monotonic()
        return response.status, json.loads(answered) if answered else None

    def compile_ms(self, request: Any) -> float:
        """Return the time of a compilation that must succeed."""
        began_s = time.perf_counter()
        status, answer = self.ask("POST", "/v1/compilations?wait=60", request)
        if status != 200 or answer["state"] != "succeeded":
            raise RuntimeError(f"not compiled: {status} {str(answer)[:500]}")
        return 1000 * (time.perf_counter() - began_s)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4, help="batches")
    parser.add_argument("--compiles", type=int, default=25, help="in each half of a round")
    parser.add_argument("--slices", type=int, default=12, help="of two seconds, each way")
    arguments = parser.parse_args()
    with Deployment("benchmarks.gpu.stand_in_gpu") as deployment:
        alice, bob, eve = asyncio.run(_make_keys(deployment.redis_url))
        service = deployment.serve()
        rows = next_to_a_batch(service, alice, bob, arguments.rounds, arguments.compiles)
        rows += next_to_a_limited_caller(service, alice, eve, arguments.slices)
    show(rows)


async def _make_keys(redis_url: str) -> list[str]:
    async with connect(redis_url) as redis:
        keys = ApiKeys(redis)
        secrets = [(await keys.create(name, ("compile", "launch")))[1] for name in ("alice", "bob")]
        key, secret = await keys.create("eve", ("launch",))
        limits = {
            "requests_per_s": EVES_REQUESTS_PER_S,
            "gpu_seconds_per_hour": EVES_GPU_SECONDS_PER_HOUR,
        }
        await keys.update(key.id, limits)
        return [*secrets, secret]


def next_to_a_batch(service: Server, alice: str, bob: str, rounds: int, count: int) -> list[Row]:
    """Return the p95 of interactive compilations during another caller's batch."""
    if not rounds:
        return []
    mix, asking, batching = Mix(), Asking(service, alice), Asking(service, bob)
    for _ in range(3):
        asking.compile_ms(mix.small())
    alone_ms, batch_ms, job_ms = list[float](), list[float](), list[float]()
    for _ in range(rounds):
        job_ms += [asking.compile_ms(request) for request in mix.real()[:8]]
        alone_ms += _compiles_ms(asking, mix, count)
        batch = {"kind": "compilations", "requests": _items(mix)}
        with ThreadPoolExecutor(1) as thread:
            posting = thread.submit(batching.ask, "POST", "/v1/batches?results=none", batch)
            batch_ms += _compiles_ms(asking, mix, count)
            _, submitted = posting.result()
        _, answer = batching.ask("GET", f"{submitted['url']}?results=none")
        print(f"batch: {answer['counts']}", flush=True)
        if not answer["counts"]["queued"]:
            raise RuntimeError("the batch ended before alice did; give fewer --compiles")
        batching.ask("DELETE", submitted["url"])
    alone, with_batch = _p95(alone_ms), _p95(batch_ms)
    job = statistics.median(job_ms)
    print(
        f"alone p50 {statistics.median(alone_ms):.0f} ms, p95 {alone:.0f}; next to a batch p50 "
        f"{statistics.median(batch_ms):.0f}, p95 {with_batch:.0f}, longest {max(batch_ms):.0f}; a "
        f"job of the batch alone {job:.0f} ms (median of {len(job_ms)})"
    )
    name = f"p95 of {len(alone_ms)} new small kernels next to a batch of {ITEMS}"
    bound = 2 * alone + job
    row = Row(
        name, f"{with_batch:.0f} ms", f"2 x {alone:.0f} + {job:.0f} ms", with_batch / bound, 1
    )
    return [row]


def _items(mix: Mix) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    while len(items) < ITEMS:
        items += [{**request, "include": []} for request in mix.real()]
    return items[:ITEMS]


def _compiles_ms(asking: Asking, mix: Mix, count: int) -> list[float]:
    times_ms = []
    for _ in range(count):
        time.sleep(PAUSE_S)
        times_ms.append(asking.compile_ms(mix.small()))
    return times_ms


def next_to_a_limited_caller(service: Server, alice: str, eve: str, slices: int) -> list[Row]:
    """Return how much slower alice's hits and compilations are next to eve's."""
    mix, asking = Mix(), Asking(service, alice)
    cached = mix.answer_of_22_kb()
    asking.compile_ms(cached)
    Asking(service, eve).ask("POST", "/v1/launches?wait=60", add())
    uses: dict[str, Callable[[], float]] = {
        "a hit": lambda: asking.compile_ms(cached),
        "a new small kernel": lambda: asking.compile_ms(mix.small()),
    }
    times: dict[tuple[str, bool], list[float]] = {}
    answers: Counter[str] = Counter()
    with Eve(service, eve) as hammer:
        for number in range(2 * slices):
            has_eve = number % 4 in (1, 2)  # ABBA
            if has_eve:
                hammer.begin(SLICE_S)
            for name, use in uses.items():
                times.setdefault((name, has_eve), []).extend(_repeated_ms(use, SLICE_S / len(uses)))
            if has_eve:
                answers.update(hammer.answers())
    seconds = slices * SLICE_S
    print(f"eve's answers a second: { {name: round(n / seconds) for name, n in answers.items()} }")
    rows = []
    for name in uses:
        alone, with_eve = (statistics.median(times[name, has_eve]) for has_eve in (False, True))
        print(
            f"{name}: p95 {_p95(times[name, False]):.1f} ms, with it {_p95(times[name, True]):.1f}"
        )
        label = f"p50 of {name} next to a caller at its limits"
        rows.append(
            Row(label, f"{with_eve:.1f} ms", f"{alone:.1f} ms", with_eve / alone, MAX_SLOWED)
        )
    return rows


def _repeated_ms(use: Callable[[], float], seconds: float) -> list[float]:
    until_s, times_ms = time.monotonic() + seconds, list[float]()
    while time.monotonic() < until_s:
        times_ms.append(use())
    return times_ms


class Eve:
    """The process that posts a launch on a GPU again and again. Use it with `with`."""

    def __init__(self, service: Server, secret: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("hammer.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        order = {"port": service.port, "path": "/v1/launches", "secret": secret, "body": add()}
        self._say(json.dumps(order))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def begin(self, seconds: float) -> None:
        """Let her post for so long."""
        self._say(f"{seconds}")

    def answers(self) -> dict[str, int]:
        """Wait until she is done, and return how often each status came."""
        assert self._process.stdout is not None
        counts: dict[str, int] = json.loads(self._process.stdout.readline())
        return counts

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()


def _p95(times_ms: Sequence[float]) -> float:
    return statistics.quantiles(times_ms, n=20)[-1]


if __name__ == "__main__":
    main()
