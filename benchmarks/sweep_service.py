"""How long sweeps take over HTTP: compiled ones beside what compiling takes, and one of hits.

55 variants of a matmul, eleven configurations for five targets, none ever in a cache: as a sweep,
as a batch of POST /v1/compilations of the same 55, and with `triton.compile` in as many warm
processes of one's own as there are cores, in turns. The bar is against the direct one: that is the
time that compiling them takes; the batch says what of it is the sweep's own.
"""

import argparse
import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
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


def main() -> None:
    """Measure both, and print how they keep their bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="sweeps of new variants, each way")
    parser.add_argument("--hits", type=int, default=10, help="sweeps of hits")
    given = parser.parse_args()
    with Deployment() as deployment, ExitStack() as stack:
        cores = len(os.sched_getaffinity(0))
        folders = [deployment.folder / f"direct-{n}" for n in range(cores)]
        for folder in folders:
            folder.mkdir()
        warm = [stack.enter_context(WarmProcess(folder)) for folder in folders]
        url = f"http://127.0.0.1:{deployment.serve().port}"
        client = stack.enter_context(httpx.Client(base_url=url, timeout=120))
        rows = compiled(client, warm, given.repeats)
        rows.append(hits(client, given.hits))
    show(rows)


def compiled(client: httpx.Client, warm: list[WarmProcess], repeats: int) -> list[Row]:
    """Return the time of 55 new variants as a sweep, beside both other ways."""
    mix = Mix()
    swept(client, mix)  # children of every kind have been started then
    direct(warm, mix)
    times: dict[str, list[float]] = {"sweep": [], "batch": [], "direct": []}
    ways = {
        "sweep": lambda: swept(client, mix),
        "batch": lambda: batched(client, mix),
        "direct": lambda: direct(warm, mix),
    }
    for repeat in range(repeats):
        turns = list(ways.items())
        for way, measure in turns if repeat % 2 == 0 else reversed(turns):
            times[way].append(measure())
    print({way: [round(s, 2) for s in each] for way, each in times.items()})
    sweep, batch, alone = (statistics.median(each) for each in times.values())
    name = f"{len(TARGETS) * len(CONFIGURATIONS)} variants over {len(TARGETS)} targets"
    processes = f"{alone:.2f} s triton.compile in {len(warm)} warm processes"
    return [
        Row(name, f"{sweep:.2f} s", processes, sweep / alone, 1.1),
        Row(f"{name}, the sweep's own", f"{sweep:.2f} s", f"{batch:.2f} s as a batch",
            sweep / batch, 1.1),
    ]  # fmt: skip


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
    """Return the seconds of compiling the same in processes of one's own, all of them busy."""
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
    """Return the compilations, all targets of a configuration together, each new by one salt."""
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
    """Return the time of a sweep of 1,000 variants that were all compiled before."""
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
        if index:  # the first compiles them
            times.append(time.perf_counter() - started)
            found = {row["cache"] for row in answer["rows"]}
            if found != {"hit"} or len(answer["rows"]) != HITS:
                raise RuntimeError(f"not {HITS} hits: {answer['counts']}, {found}")
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
