"""Measures how fast new kernels are compiled over HTTP, compared with `triton.compile` in-process.

One small kernel at a time on an idle system, and a mix of real-sized kernels on all cores. Nothing
is ever cached. Service and baseline take turns, so that a noisy machine affects both.
"""

import argparse
import json
import os
import statistics
import time
from typing import Any

import load
from cpu import tree_cpu_s
from deployment import Deployment, Server
from direct import WarmProcess, fresh_process_ms
from mix import Mix
from table import Row, show

PATH = "/v1/compilations?wait=60"
IDLE_S = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=40, help="small kernels, each way")
    parser.add_argument("--fresh", type=int, default=5, help="fresh Python processes")
    parser.add_argument("--mixes", type=int, default=3, help="runs of the whole mix, each way")
    arguments = parser.parse_args()
    mix = Mix()
    with Deployment() as deployment, WarmProcess(deployment.folder) as warm:
        service = deployment.serve()
        rows = small_kernels(mix, service, warm, arguments.small)
        rows.append(fresh_processes(mix, deployment, service, arguments.fresh))
        rows.append(real_kernels(mix, deployment, service, warm, arguments.mixes))
    show(rows)


def small_kernels(mix: Mix, service: Server, warm: WarmProcess, count: int) -> list[Row]:
    """Return the time of a new vector add, one at a time, on an idle system."""
    for _ in range(3):
        post_ms(service, mix.small())
        warm.compile_ms(mix.small())
    ours_ms, direct_ms = [], []
    for _ in range(count):
        time.sleep(IDLE_S)
        ours_ms.append(post_ms(service, mix.small()))
        direct_ms.append(warm.compile_ms(mix.small()))
    ours, direct = statistics.median(ours_ms), statistics.median(direct_ms)
    return [
        Row(
            "new small kernel, HTTP to PTX and cubin, p50",
            f"{ours:.1f} ms",
            f"{direct:.1f} ms warm in-process",
            ours / direct,
            1.5,
        )
    ]


def fresh_processes(mix: Mix, deployment: Deployment, service: Server, count: int) -> Row:
    """Return the speed-up of a small kernel over a new Python process."""
    ours_ms, fresh_ms = [], []
    for _ in range(count):
        time.sleep(IDLE_S)
        ours_ms.append(post_ms(service, mix.small()))
        fresh_ms.append(fresh_process_ms(mix.small(), deployment.folder))
    ours, fresh = statistics.median(ours_ms), statistics.median(fresh_ms)
    return Row(
        "the same, compared with a fresh Python process, p50",
        f"{ours:.1f} ms",
        f"{fresh:.0f} ms",
        fresh / ours,
        5.0,
        at_least=True,
    )


def real_kernels(
    mix: Mix, deployment: Deployment, service: Server, warm: WarmProcess, count: int
) -> Row:
    """Return the throughput of a mix on all cores, in multiples of one warm in-process loop."""
    cores = len(os.sched_getaffinity(0))
    ours_s, direct_s, direct_ms = [], [], []
    cpu_s = {"ours": 0.0, "direct": 0.0}
    kernels = len(mix.real())
    for _ in range(count):
        before_s = tree_cpu_s(warm.pid)
        times_ms = [warm.compile_ms(request) for request in mix.real()]
        direct_ms += times_ms
        direct_s.append(sum(times_ms) / 1000)
        cpu_s["direct"] += tree_cpu_s(warm.pid) - before_s
        bodies = [json.dumps(request) for request in mix.real()]
        before_s = tree_cpu_s(deployment.worker.pid)
        report = load.in_own_process(load.Load(service.port, PATH, bodies, len(bodies), cores))
        ours_s.append(report.seconds)
        cpu_s["ours"] += tree_cpu_s(deployment.worker.pid) - before_s
    ours, direct = (kernels / statistics.median(times) for times in (ours_s, direct_s))
    print(
        f"mix: direct p50 {statistics.median(direct_ms):.0f} ms, max {max(direct_ms):.0f} ms;",
        end="",
    )
    print(*(f" CPU {who} {s / count / kernels * 1000:.0f} ms a kernel" for who, s in cpu_s.items()))
    return Row(
        f"mix of {kernels} real kernels, {cores} cores",
        f"{ours:.1f} /s",
        f"{direct:.1f} /s one warm loop",
        ours / direct,
        0.8 * cores,
        at_least=True,
    )


def post_ms(service: Server, request: dict[str, Any]) -> float:
    """Return the milliseconds of one POST of a kernel, which must be new and compile."""
    report = load.run(load.Load(service.port, PATH, [json.dumps(request)], 1, 1))
    answer = json.loads(report.last_body)
    if (answer["state"], answer["cache"]) != ("succeeded", "miss"):
        raise RuntimeError(f"not a new kernel that compiles: {report.last_body[:2000]}")
    return report.latencies_ms[0]


if __name__ == "__main__":
    main()
