"""Records what the simulated fleet plays: the jobs of the mix on a real deployment, one by one.

The 57 kernels of the mix are compiled, and each is then launched on the CPU device. For every job
the time that a worker took is read from its events, by Valkey's clock; with its sizes and the
number of its events it goes to `recorded_jobs.json`. `PYTHONPATH=benchmarks python -m
simulated_fleet.record` writes that file.
"""

import asyncio
import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import load
from cpu_launches import CpuLaunch, of_the_mix
from deployment import Deployment, Server
from mix import Mix

from store import keys
from store.connection import StoreClient, connect

RECORDED = Path(__file__).parent / "recorded_jobs.json"
WARM_UP = 3
SETTLE_S = 6.0  # a worker writes what it notes in memory every few seconds


@dataclass(frozen=True)
class RecordedJob:
    """One job: its lane's kind, the worker's time, and what it sends to the store."""

    kind: str
    run_ms: int
    payload_bytes: int
    record_bytes: int
    events: int


def main() -> None:
    """Record, write the file, and print what Valkey spent."""
    with Deployment() as deployment:
        asyncio.run(_record(deployment.redis_url, deployment.serve()))


async def _record(redis_url: str, service: Server) -> None:
    mix, launches = Mix(), of_the_mix()
    for _ in range(WARM_UP):
        _post(service, "/v1/compilations", mix.small())
    async with connect(redis_url) as redis:
        compiled = await _recorded(
            redis, "compile", [launch.request for launch in launches],
            lambda body: _post(service, "/v1/compilations", body)["key"],
        )  # fmt: skip
        launched = await _recorded(
            redis, "launch", [_launch(launch) for launch in launches],
            lambda body: _post(service, "/v1/launches", body)["id"],
        )  # fmt: skip
    RECORDED.write_text(
        json.dumps({"jobs": [asdict(job) for job in compiled + launched]}, indent=1) + "\n"
    )


async def _recorded(
    redis: StoreClient, kind: str, bodies: list[Mapping[str, Any]], post: Callable[[Any], str]
) -> list[RecordedJob]:
    """Return the jobs, and print what Valkey spent on one."""
    before = await _spent(redis)
    ids = [post(body) for body in bodies]
    await asyncio.sleep(SETTLE_S)
    spent = zip(before, await _spent(redis), strict=True)
    cpu_us, kept_bytes = [(now - then) / len(ids) for then, now in spent]
    jobs = [await _job(redis, kind, job_id, body) for job_id, body in zip(ids, bodies, strict=True)]
    times_ms = [job.run_ms for job in jobs]
    print(
        f"{len(jobs)} {kind} jobs: {statistics.mean(times_ms):.0f} ms of a worker on average, "
        f"median {statistics.median(times_ms):.0f}, longest {max(times_ms)}; "
        f"Valkey {cpu_us:.0f} us, {kept_bytes:.0f} bytes a job",
        flush=True,
    )
    return jobs


async def _spent(redis: StoreClient) -> tuple[float, float]:
    cpu, memory = [await redis.info(part) for part in ("cpu", "memory")]
    seconds = cpu["used_cpu_user_main_thread"] + cpu["used_cpu_sys_main_thread"]
    return 1e6 * seconds, memory["used_memory"]


async def _job(redis: StoreClient, kind: str, job_id: str, body: Any) -> RecordedJob:
    entries: Any = await redis.xrange(keys.EVENTS + job_id)
    at_ms = {fields[b"type"]: int(entry.split(b"-")[0]) for entry, fields in entries}
    record, payload = await redis.hmget(keys.RESULT + job_id, "record", "payload")
    return RecordedJob(
        kind=kind,
        run_ms=at_ms[b"finished"] - at_ms[b"started"],
        payload_bytes=len(payload or json.dumps(body)),  # that of a launch is not kept
        record_bytes=len(record or b""),
        events=sum(fields[b"type"] not in _OF_SCRIPTS for _, fields in entries),
    )


_OF_SCRIPTS = (b"queued", b"started", b"finished")


def _post(service: Server, path: str, body: Any) -> dict[str, Any]:
    report = load.run(load.Load(service.port, f"{path}?wait=60", [json.dumps(body)], 1, 1))
    answer: dict[str, Any] = json.loads(report.last_body)
    if answer["state"] not in ("succeeded", "completed") or answer.get("cache") == "hit":
        raise RuntimeError(f"not a job that was done: {report.last_body[:1000]}")
    return answer


def _launch(launch: CpuLaunch) -> dict[str, Any]:
    """Return the body of a launch on the CPU device."""
    request = launch.request
    names = ("source", "kernel", "signature", "constexprs", "target", "options")
    arguments: dict[str, Any] = dict(launch.scalars)
    for name, (elements, end) in launch.buffers.items():
        random = {"kind": "randint", "low": 0, "high": end} if end else {"kind": "uniform"}
        dtype = launch.dtypes[name].removeprefix("*")
        arguments[name] = {"shape": [elements], "dtype": dtype, "init": {**random, "seed": 1}}
        if name in launch.outputs:
            arguments[name]["output"] = True
    return {
        "compilation": {name: request[name] for name in names},
        "device": "cpu",
        "grid": list(launch.grid),
        "arguments": arguments,
    }


if __name__ == "__main__":
    main()
