"""Measures the server's cost of a hit, compared with a bare handler that does one Redis GET.

Also checks that 1,000 equal requests for a new kernel are one compile. Client and server share the
cores, so CPU per request counts, not requests per second. All variants take turns (A B C A B C
...), so that a noisy machine affects them alike.
"""

import argparse
import json
import random
import re
import statistics
import urllib.request
from itertools import cycle, islice
from pathlib import Path

import load
import redis
from cpu import own_cpu_s
from deployment import Deployment, Server
from mix import Mix
from table import Row, show

CONNECTIONS = 16
ROUNDS = 8
CROWD = 1000
PATH = "/v1/compilations?wait=60"
GRACE_MS = 250.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=24_000, help="per variant, in all rounds")
    parser.add_argument("--crowds", type=int, default=3, help="number of crowds of 1,000 requests")
    arguments = parser.parse_args()
    mix = Mix()
    with Deployment() as deployment:
        rows = costs(mix, deployment, arguments.requests)
        rows.append(crowd(mix, deployment, arguments.crowds))
    show(rows)


def costs(mix: Mix, deployment: Deployment, count: int) -> list[Row]:
    """Return the cost of hits from memory and from the store, compared with the bare handler."""
    bodies = [json.dumps(mix.answer_of_22_kb()) for _ in range(2 * CONNECTIONS)]
    bare = str(Path(__file__).with_name("bare.py"))
    servers = {
        "bare": deployment.start(bare, "{port}", deployment.redis_url, "bench:answer"),
        "memory": deployment.serve(),
        "store": deployment.serve(memory_cache_bytes=0),
        "store, by the first service that ever reads it": deployment.serve(memory_cache_bytes=0),
    }
    answers = [first_answer(servers["store"], body) for body in bodies]
    with redis.Redis.from_url(deployment.redis_url) as client:
        client.set("bench:answer", answers[0])
    for server in servers.values():  # warms connections, code paths and caches
        ask(server, bodies, 500)
    us: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(ROUNDS):
        for name, server in servers.items():
            is_first = name.endswith("ever reads it")
            sent = never_read(bodies, count // ROUNDS) if is_first else bodies
            before_s = own_cpu_s(server.pid)
            ask(server, sent, count // ROUNDS)
            us[name].append((own_cpu_s(server.pid) - before_s) / (count // ROUNDS) * 1e6)
    print(f"{count} hits each, {CONNECTIONS} connections, answers of {len(answers[0])} bytes")
    mean = {name: statistics.fmean(values) for name, values in us.items()}
    bars = dict.fromkeys(servers, 2.5) | {"memory": 1.2}
    return [
        Row(
            f"hit from {name}: CPU",
            f"{mean[name]:.0f} us",
            f"{mean['bare']:.0f} us",
            mean[name] / mean["bare"],
            bars[name],
        )
        for name in servers
        if name != "bare"
    ]


def never_read(bodies: list[str], count: int) -> list[str]:
    """Return `count` new bodies with the same meaning as `bodies`."""
    return [
        json.dumps({**json.loads(body), "timeout_s": 60 - random.random()})
        for body in islice(cycle(bodies), count)
    ]


def ask(server: Server, bodies: list[str], count: int) -> load.Report:
    """Post `bodies` in turn, `count` in all; no two equal ones at the same time."""
    return load.in_own_process(load.Load(server.port, PATH, bodies, count, CONNECTIONS))


def first_answer(server: Server, body: str) -> str:
    """Compile it and return the answer, which must be a success."""
    answer = load.run(load.Load(server.port, PATH, [body], 2, 1)).last_body
    if json.loads(answer)["state"] != "succeeded" or json.loads(answer)["cache"] != "hit":
        raise RuntimeError(f"the kernel of this benchmark must compile: {answer[:2000]}")
    return answer


def crowd(mix: Mix, deployment: Deployment, times: int) -> Row:
    """Return the time of 1,000 equal requests for a new kernel, relative to one compile."""
    server = deployment.serve()
    ask(server, [json.dumps(mix.answer_of_22_kb())], 50)
    compiles_ms, p99s_ms = [], []
    for _ in range(times):
        body = json.dumps(mix.answer_of_22_kb())
        before = misses(server)
        report = load.in_own_process(load.Load(server.port, PATH, [body], CROWD, CROWD))
        if misses(server) != before + 1:
            raise RuntimeError(f"{misses(server) - before} compiles for {CROWD} equal requests")
        p99s_ms.append(report.percentile_ms(99))
        compiles_ms.append(json.loads(report.last_body)["timings_ms"]["total"])
    p99, compile_ms = statistics.median(p99s_ms), statistics.median(compiles_ms)
    return Row(
        f"{CROWD} equal requests at once, one compile: p99",
        f"{p99:.0f} ms",
        f"{compile_ms:.0f} ms compile + {GRACE_MS:.0f}",
        p99 / (compile_ms + GRACE_MS),
        1.0,
    )


def misses(server: Server) -> int:
    """Return the number of jobs that this service has created."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
        text = answer.read().decode()
    match = re.search(r'^tritond_compilations_total\{cache="miss"\} (\S+)', text, re.MULTILINE)
    return int(float(match[1])) if match else 0


if __name__ == "__main__":
    main()
