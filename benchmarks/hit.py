"""How much a hit costs the server, beside a bare handler that does one Redis GET, and whether 1,000
equal requests are one compile.

Client and server share the cores here, so CPU per request counts, not requests per second. All
variants run in turns (A B C A B C ...), so that a noisy neighbour meets them alike.
"""

import argparse
import json
import statistics
from pathlib import Path

import load
import redis
from deployment import Deployment, Server
from kernels.mix import Mix
from table import Row, show

CONNECTIONS = 16
ROUNDS = 8
CROWD = 1000
PATH = "/v1/compilations?wait=60"
GRACE_MS = 250.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=24_000, help="per variant, in all rounds")
    parser.add_argument("--crowds", type=int, default=3, help="how often 1,000 ask for one kernel")
    arguments = parser.parse_args()
    mix = Mix()
    with Deployment() as deployment:
        rows = costs(mix, deployment, arguments.requests)
        rows.append(crowd(mix, deployment, arguments.crowds))
    show(rows)


def costs(mix: Mix, deployment: Deployment, count: int) -> list[Row]:
    """Return the cost of hits from memory and from the store, beside the bare handler."""
    bodies = [json.dumps(mix.answer_of_22_kb()) for _ in range(2 * CONNECTIONS)]
    variants = {
        "bare": deployment.start(
            str(Path(__file__).with_name("bare.py")), "{port}", deployment.redis_url, "bench:answer"
        ),
        "memory": deployment.serve(),
        "store": deployment.serve(memory_cache_bytes=0),
    }
    answers = [first_answer(variants["store"], body) for body in bodies]
    with redis.Redis.from_url(deployment.redis_url) as client:
        client.set("bench:answer", answers[0])
    for server in variants.values():  # connections, code paths and the LRU are warm after this
        ask(server, bodies, 500)
    us: dict[str, list[float]] = {name: [] for name in variants}
    latency_ms: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(ROUNDS):
        for name, server in variants.items():
            before_s = server.cpu_s()
            report = ask(server, bodies, count // ROUNDS)
            us[name].append((server.cpu_s() - before_s) / (count // ROUNDS) * 1e6)
            latency_ms[name].append(report.percentile_ms(50))
    print(f"{count} hits each, {len(answers[0])} B answers, {CONNECTIONS} connections;", end=" ")
    print(*(f"{name} p50 {statistics.median(ms):.2f} ms" for name, ms in latency_ms.items()))
    mean = {name: statistics.fmean(values) for name, values in us.items()}
    return [
        Row(
            f"hit from {name}: server CPU per request",
            f"{mean[name]:.0f} us",
            f"{mean['bare']:.0f} us",
            mean[name] / mean["bare"],
            bar,
        )
        for name, bar in (("memory", 1.5), ("store", 2.5))
    ]


def ask(server: Server, bodies: list[str], count: int) -> load.Report:
    """Post `bodies` in turn, `count` in all; no two equal ones are under way at once."""
    return load.in_own_process(load.Load(server.port, PATH, bodies, count, CONNECTIONS))


def first_answer(server: Server, body: str) -> str:
    """Compile it and return the answer, which must be a success."""
    answer = load.run(load.Load(server.port, PATH, [body], 2, 1)).last_body
    if json.loads(answer)["state"] != "succeeded" or json.loads(answer)["cache"] != "hit":
        raise RuntimeError(f"the kernel of this benchmark must compile: {answer[:2000]}")
    return answer


def crowd(mix: Mix, deployment: Deployment, times: int) -> Row:
    """Return how much later than the compile itself the last of 1,000 equal requests is answered."""
    server = deployment.serve()
    ask(server, [json.dumps(mix.small())], 50)
    compiles_ms, p99s_ms = [], []
    for _ in range(times):
        body = json.dumps(mix.small())
        report = load.in_own_process(load.Load(server.port, PATH, [body], CROWD, CROWD))
        p99s_ms.append(report.percentile_ms(99))
        compiles_ms.append(json.loads(report.last_body)["timings_ms"]["total"])
    p99, compile_ms = statistics.median(p99s_ms), statistics.median(compiles_ms)
    return Row(
        f"{CROWD} equal requests at once: p99",
        f"{p99:.0f} ms",
        f"{compile_ms:.0f} + {GRACE_MS:.0f} ms",
        p99 / (compile_ms + GRACE_MS),
        1.0,
    )


if __name__ == "__main__":
    main()
