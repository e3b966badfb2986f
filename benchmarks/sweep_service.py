"""Measures sweeps over HTTP: new kernels compared with direct compilation, and sweeps of hits.

55 uncached variants of a matmul, eleven configurations for five targets, are compiled as a sweep,
as a batch of POST /v1/compilations, and with `triton.compile` in as many warm processes as there
are cores, in turns. The bar is relative to direct compilation; the batch shows the overhead of the
sweep itself. Other work on the machine affects the wall time but hardly the CPU time, which is also
reported: for worker, children and service, without Valkey (3 ms per variant).
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
from cpu import tree_cpu_s
from deployment import Deployment
from direct import WarmProcess
from mix import Mix
from table import Row, show

TARGETS = ("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950")
CONFIGURATIONS = [
    ((block_m, block_n, block_k), num_warps)
    for block_m, block_n, block_k, num_warps in (
        (32, 64, 32, 2), (64, 32, 32, 2), (64, 64, 32, 4), (64, 64, 64, 4), (64, 128, 32, 4),
        (128, 32, 32, 4), (128, 64, 32, 4), (128, 64, 64, 4), (128, 128, 32, 8), (64, 256, 32, 8),
        (32, 32, 64, 2),
    )
]  # fmt: skip
HITS = 1000
SETTLED_S = 0.5


def main() -> None:
    """Measure all ways, and print the bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="sweeps of new variants, each way")
    parser.add_argument("--hits", type=int, default=10, help="sweeps of hits")
    arguments = parser.parse_args()
    with Deployment() as deployment, ExitStack() as stack:
        cores = len(os.sched_getaffinity(0))
        folders = [deployment.folder / f"direct-{n}" for n in range(cores)]
        for folder in folders:
            folder.mkdir()
        warm = [stack.enter_context(WarmProcess(folder)) for folder in folders]
        service = deployment.serve()
        url = f"http://127.0.0.1:{service.port}"
        client = stack.enter_context(httpx.Client(base_url=url, timeout=120))
        ours = [deployment.worker.pid, service.pid]
        rows = compiled(client, ours, warm, arguments.repeats)
        rows.append(hits(client, arguments.hits))
    show(rows)


@dataclass
class Way:
    """One way to compile all variants, with its wall and CPU times."""

    once: Callable[[], float]
    pids: list[int]
    seconds: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def measure(self) -> None:
        """Compile all variants once more."""
        before_s = sum(map(tree_cpu_s, self.pids))
        self.seconds.append(self.once())
        time.sleep(SETTLED_S)  # until the last children are reaped
        self.cpu_s.append(sum(map(tree_cpu_s, self.pids)) - before_s)


def compiled(
    client: httpx.Client, ours: list[int], warm: list[WarmProcess], repeats: int
) -> list[Row]:
    """Return the time of 55 new variants as a sweep, compared with both other ways."""
    mix = Mix()
    sweep = Way(lambda: swept(client, mix), ours)
    batch = Way(lambda: batched(client, mix), ours)
    alone = Way(lambda: direct(warm, mix), [process.pid for process in warm])
    swept(client, mix)  # starts children of every kind
    direct(warm, mix)
    for repeat in range(repeats):
        for way in (sweep, batch, alone) if repeat % 2 == 0 else (alone, batch, sweep):
            way.measure()
    for reported, way in (("sweep", sweep), ("batch", batch), ("direct", alone)):
        print(
            reported,
            [
                f"{s:.2f} s, CPU {cpu_s:.2f} s"
                for s, cpu_s in zip(way.seconds, way.cpu_s, strict=True)
            ],
        )
    return rows_of(sweep, batch, alone, len(warm))


def rows_of(sweep: Way, batch: Way, alone: Way, processes: int) -> list[Row]:
    """Return the sweep's bars, by medians."""
    name = f"{len(TARGETS) * len(CONFIGURATIONS)} variants over {len(TARGETS)} targets"
    reported = f"triton.compile in {processes} warm processes"
    rows = []
    for what, baseline, described, is_cpu in (
        (name, alone, reported, False),
        (f"{name}, CPU time", alone, reported, True),
        (f"{name}, the sweep's own", batch, "as a batch", False),
    ):
        ours_s, other_s = (
            statistics.median(way.cpu_s if is_cpu else way.seconds) for way in (sweep, baseline)
        )
        rows.append(Row(what, f"{ours_s:.2f} s", f"{other_s:.2f} s {described}",
                        ours_s / other_s, 1.1))  # fmt: skip
    return rows


def swept(client: httpx.Client, mix: Mix) -> float:
    """Return the seconds of one sweep of all variants."""
    bodies = requests(mix)
    kept = ("constexprs", "options")
    variants = [{name: body[name] for name in kept} for body in bodies[:: len(TARGETS)]]
    base = {name: part for name, part in bodies[0].items() if name not in (*kept, "include")}
    space = {"variants": variants, "target": list(TARGETS)}
    started = time.perf_counter()
    answer = client.post("/v1/sweeps?wait=60", json={"base": base, "space": space}).json()
    while answer["state"] in ("queued", "running"):
        answer = client.get(f"{answer['url']}?wait=60").json()
    took_s = time.perf_counter() - started
    check([row["cache"] for row in answer["rows"]], answer["counts"])
    return took_s


def batched(client: httpx.Client, mix: Mix) -> float:
    """Return the seconds of one batch of the same compilations."""
    bodies = [body | {"include": []} for body in requests(mix)]
    started = time.perf_counter()
    body = {"kind": "compilations", "requests": bodies}
    answer = client.post("/v1/batches?wait=60", json=body).json()
    while answer["state"] == "running":
        answer = client.get(f"{answer['url']}?wait=60").json()
    took_s = time.perf_counter() - started
    counts = {name: count for name, count in answer["counts"].items() if count}
    check([item["result"]["cache"] for item in answer["items"]], counts)
    return took_s


def direct(warm: list[WarmProcess], mix: Mix) -> float:
    """Return the seconds of compiling the variants in separate processes, all of them busy."""
    waiting = iter(requests(mix))

    def work(process: WarmProcess) -> None:
        for body in waiting:
            process.compile_ms(body)

    started = time.perf_counter()
    with ThreadPoolExecutor(len(warm)) as pool:
        for done in [pool.submit(work, process) for process in warm]:
            done.result()
    return time.perf_counter() - started


def requests(mix: Mix) -> list[dict[str, Any]]:
    """Return the compilations, all targets of a configuration together, made new by one salt."""
    usual = next(body for body in mix.real() if body["kernel"] == "matmul_kernel")
    return [
        usual | {
            "target": target,
            "constexprs": usual["constexprs"]
            | dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), blocks, strict=True)),
            "options": usual["options"] | {"num_warps": num_warps},
            "include": [],
        }
        for blocks, num_warps in CONFIGURATIONS
        for target in TARGETS
    ]  # fmt: skip


def hits(client: httpx.Client, count: int) -> Row:
    """Return the time of a sweep of 1,000 variants, all hits."""
    body = Mix().small() | {"stop_after": "ttir"}
    base = {name: part for name, part in body.items() if name != "include"}
    axes = {
        "constexprs.BLOCK_SIZE": [2**n for n in range(5, 15)],
        "options.num_warps": [1, 2, 4, 8],
        "options.maxnreg": list(range(100, 125)),
    }
    whole = json.dumps({"base": base, "space": {"product": axes}})
    times = []
    for index in range(count + 1):
        started = time.perf_counter()
        answer = client.post(
            "/v1/sweeps?wait=60", content=whole, headers={"Content-Type": "application/json"}
        ).json()
        while answer["state"] in ("queued", "running"):
            answer = client.get(f"{answer['url']}?wait=60").json()
        if index:  # the first sweep compiles them
            times.append(time.perf_counter() - started)
            caches = {row["cache"] for row in answer["rows"]}
            if caches != {"hit"} or len(answer["rows"]) != HITS:
                raise RuntimeError(f"not {HITS} hits: {answer['counts']}, {caches}")
    print("hits", [round(each, 2) for each in times])
    took_s = statistics.median(times)
    return Row(f"{HITS} variants, all hits, p50", f"{took_s:.2f} s", "2 s", took_s / 2, 1.0)


def check(caches: list[str | None], counts: dict[str, int]) -> None:
    """Raise RuntimeError unless all were compiled anew."""
    expected = len(TARGETS) * len(CONFIGURATIONS)
    if set(caches) != {"miss"} or counts != {"succeeded": expected}:
        raise RuntimeError(f"not {expected} new kernels that compile: {counts}, {set(caches)}")


if __name__ == "__main__":
    main()
