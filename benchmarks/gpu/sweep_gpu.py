"""Measures a search among 64 configurations of a matrix product on a GPU, within 120 s.

`python benchmarks/gpu/sweep_gpu.py` starts its own `tritond up` and needs a GPU, and torch (here or
in `--torch-python`) for the comparison with autotuning. `--stand-in` tries the script without
either: a stand-in replaces the launcher (stand_in_gpu.py). Its invented times have a best
configuration, but say nothing about a GPU.

- *From nothing*: service and worker are idle, and nothing of this kernel or its reference is
  cached. The time ends when all configurations are verified and the winner is known.
- *Busy*: `utilization.gpu` of `nvidia-smi`, the share of time in which a kernel ran, while only
  measuring was left to do: from the last compilation to the last answer. Before that the GPU waits
  for compilations. Also shown are the same from the first launch on, and the time of the timed runs
  alone (their medians times their repeats, without warm-up and flushes of the L2 cache).
- *Beside*: exhaustive search by @triton.autotune over the same configurations in a fresh process
  with torch (autotuned_matmul.py), which then times its best and the sweep's winner in turn.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.gpu.asked_service import PORT, URL, Body, Service, started, until_ready  # noqa: E402
from benchmarks.gpu.bars import Line, show  # noqa: E402
from benchmarks.gpu.launch_bodies import add, matmuls  # noqa: E402
from benchmarks.gpu.stand_in_gpu import ALL_OTHERS, BEHAVIOURS  # noqa: E402
from store.embedded import EmbeddedValkey  # noqa: E402

AXES: dict[str, list[int]] = {
    "constexprs.BLOCK_M": [64, 128],
    "constexprs.BLOCK_N": [64, 128],
    "constexprs.BLOCK_K": [32, 64],
    "options.num_warps": [4, 8],
    "options.num_stages": [2, 3, 4, 5],
}
GROUP_M = 8
WITHIN_S = 120.0
SAMPLED_EVERY_MS = 50
STAND_IN_BEST = {"us": 20.0}
STAND_IN_OTHERS = {"us": 30.0}


class NoWinner(Exception):
    """The sweep failed, which invalidates its measurements."""


@dataclass
class GpuUse:
    """Samples of `nvidia-smi`'s GPU utilization with their times."""

    samples: list[tuple[float, float]] = field(default_factory=list)

    def percent(self, begin: float, end: float) -> float | None:
        """Return the mean between two instants, None without samples."""
        percents = [percent for at, percent in self.samples if begin <= at <= end]
        return statistics.fmean(percents) if percents else None


@contextlib.asynccontextmanager
async def watched(ask: bool) -> AsyncIterator[GpuUse]:
    """Sample the GPU while the block runs; a stand-in has none."""
    use = GpuUse()
    if not ask:
        yield use
        return
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits",
               f"--id={first_gpu()}", f"--loop-ms={SAMPLED_EVERY_MS}"]  # fmt: skip
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)

    async def read() -> None:
        while process.stdout is not None and (line := await process.stdout.readline()):
            with contextlib.suppress(ValueError):
                use.samples.append((time.monotonic(), float(line)))

    reading = asyncio.create_task(read())
    try:
        yield use
    finally:
        process.terminate()
        await process.wait()
        await reading


def first_gpu() -> str:
    """Return nvidia-smi's name of the first GPU that CUDA programs see."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]


def sweep_of(size: int, salt: str, triton: str | None) -> Body:
    """Return the body of the sweep; another `salt` makes it new to every cache."""
    base = matmuls(1, size, salt)[0]
    base.pop("timing")
    base["compilation"] |= {"constexprs": {"GROUP_M": GROUP_M}, "options": {}}
    if triton is not None:
        base["compilation"]["triton"] = triton
    for seed, name in enumerate(("a_ptr", "b_ptr")):
        base["arguments"][name]["init"]["seed"] = int.from_bytes(os.urandom(4)) + seed
    return {"base": base, "space": {"product": AXES}, "search": {}}


@dataclass(frozen=True)
class Course:
    """The times of posting the sweep and of its answer, by the monotonic clock."""

    begun: float
    ended: float

    @property
    def took_s(self) -> float:
        """The total time."""
        return self.ended - self.begun


async def searched(service: httpx.AsyncClient, body: Body) -> tuple[Body, Course]:
    """Return the finished sweep and its times. Raises NoWinner."""
    begun = time.monotonic()
    answer = await service.post("/v1/sweeps?wait=60", json=body)
    if answer.status_code not in {200, 202}:
        raise NoWinner(f"{answer.status_code}: {answer.text[:2000]}")
    sweep: Body = answer.json()
    while sweep["state"] in {"queued", "running"} and time.monotonic() - begun < WITHIN_S:
        sweep = (await service.get(f"{sweep['url']}?wait=10")).json()
    return sweep, Course(begun, time.monotonic())


def checked(sweep: Body) -> Body:
    """Check every row and return the winner. Raises NoWinner."""
    wrong = [
        row
        for row in sweep["rows"]
        if row["verdict"] not in {None, "passed"} or row["state"] not in {"completed", "pruned"}
    ]
    unrun = [row for row in sweep["rows"] if row["verdict"] is None and not row["pruned"]]
    [winner] = sweep["winners"] or [{"variant": None, "note": sweep.get("note")}]
    if sweep["state"] != "completed" or wrong or unrun or winner["variant"] is None:
        reported = {"state": sweep["state"], "problem": sweep["problem"], "winner": winner}
        raise NoWinner(f"{reported}; wrong: {wrong[:2]}; not run: {unrun[:2]}")
    return dict(winner)


def lines_of(sweep: Body, winner: Body, course: Course, use: GpuUse) -> list[Line]:
    """Return the measurements of the sweep itself."""
    search = sweep["search"]
    measuring_s, compiling_s = search["measuring_ms"] / 1000, search["compiling_ms"] / 1000
    pruned = Counter(row["pruned"]["reason"] for row in sweep["rows"] if row["pruned"])
    note = f"all compiled after {compiling_s:.2f} s; {search['launches']} launches within "
    note += f"{measuring_s:.2f} s; pruned: {dict(pruned)}"
    name = f"{len(sweep['rows'])} matmul configurations, verified, from nothing"
    lines = [Line(name, course.took_s, "s", 8, note=note)]
    timed = 100 * search["timed_ms"] / search["measuring_ms"]
    busy = use.percent(course.begun + compiling_s, course.ended)
    if busy is not None:
        whole = use.percent(course.ended - measuring_s, course.ended)
        note = f"from the first launch on {whole:.1f} %, timed runs alone {timed:.1f} %"
        lines.append(Line("GPU busy while measuring", busy, "%", 50, at_least=True, note=note))
    else:
        lines.append(Line("timed runs, of the time since the first launch", timed, "%"))
    lead = winner["lead"]
    note = f"{lead['interval_percent']} %, clear: {lead['clear']}; "
    note += f"{values_of(winner)}, {winner['median_us']:.2f} µs"
    lines.append(Line("the winner's lead", lead["percent"], "%", note=note))
    return lines


def values_of(row: Body) -> dict[str, int]:
    """Return a variant's values by Triton's names, the last parts of their axes."""
    return {axis.rpartition(".")[2]: value for axis, value in row["values"].items()}


class NotCompared(Exception):
    """Autotuning did not finish, so there is nothing to compare the winner with."""


def beside_autotune(asked: argparse.Namespace, sweep: Body, winner: Body, left_s: float) -> Line:
    """Return how much slower the winner is than @triton.autotune's best. Raises NotCompared."""
    configurations = [values_of(row) | {"GROUP_M": GROUP_M} for row in sweep["rows"]]
    request = {
        "size": asked.size,
        "configurations": configurations,
        "winner": values_of(winner) | {"GROUP_M": GROUP_M},
    }
    reported = json.loads(tuned(asked.torch_python, request, left_s).splitlines()[-1])
    slower = 100 * (reported["ratio"] - 1)
    note = (
        f"best {reported['best']} {reported['best_us']:.2f} µs, "
        f"winner {reported['winner_us']:.2f} µs by do_bench; "
        f"Triton {reported['triton']} tuned for {reported['tuning_s']:.1f} s"
    )
    name = "the winner's time compared with that of @triton.autotune's best: longer by"
    return Line(name, slower, "%", 2, note=note)


def tuned(python: str, request: Body, left_s: float) -> str:
    """Return the output of autotuned_matmul.py. Raises NotCompared."""
    script = str(ROOT / "benchmarks" / "gpu" / "autotuned_matmul.py")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "request.json")
        path.write_text(json.dumps(request))
        process = subprocess.Popen(
            [python, script, str(path)],
            env=os.environ | {"TRITON_CACHE_DIR": str(Path(folder, "triton"))},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=max(1.0, left_s))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # it has child processes
            process.communicate()
            raise NotCompared(f"autotuning took more than the {left_s:.0f} s left") from None
    if process.returncode != 0 or not output.strip():
        raise NotCompared(f"autotuning ended with {process.returncode}; has {python} torch?")
    return output


async def measure(asked: argparse.Namespace, tritond: Sequence[Any]) -> tuple[Body, Body]:
    """Wait for the GPU, search, and print; return the sweep and its winner."""
    async with httpx.AsyncClient(base_url=URL, timeout=180) as client:
        service = Service(client)
        await until_ready(service, tritond)
        print(f"device: {await service.device()}\n", flush=True)
        await service.ask(add())  # the worker's first launch of any kind
        salt = f"\n# {os.urandom(8).hex()}\n"
        body = sweep_of(asked.size, salt, asked.triton)
        async with watched(not asked.stand_in) as use:
            sweep, course = await searched(client, body)
        winner = checked(sweep)
        show(lines_of(sweep, winner, course, use))
        return sweep, winner


async def with_stand_in(asked: argparse.Namespace, data: Path) -> None:
    """Search with a stand-in launcher, whose best configuration must win."""
    print("STAND-IN LAUNCHER: no kernel runs, nothing here is a measurement of a GPU\n", flush=True)
    programs = (asked.size // 128) * (asked.size // 64)
    made_up = {f"{programs}x256": STAND_IN_BEST, ALL_OTHERS: STAND_IN_OTHERS}
    async with EmbeddedValkey(data) as valkey:
        settings = {"TRITOND_REDIS_URL": valkey.url, "TRITOND_PORT": str(PORT)}
        settings[BEHAVIOURS] = json.dumps(made_up)
        with started(["service"], ["benchmarks.gpu.stand_in_gpu"], **settings) as parts:
            _, winner = await measure(asked, parts)
    values = values_of(winner)
    if {values["BLOCK_M"], values["BLOCK_N"]} != {64, 128} or values["num_warps"] != 8:
        raise NoWinner(f"{values} won, but the stand-in's best is another one")


def main() -> int:
    """Measure the sweep, then the baseline of its winner."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stand-in", action="store_true", help="try the script without a GPU")
    parser.add_argument("--size", type=int, help="size of the square matrices (default 2048)")
    parser.add_argument("--triton", help="the Triton that the sweep compiles with")
    parser.add_argument("--torch-python", default=sys.executable, help="a Python that has torch")
    asked = parser.parse_args()
    asked.size = asked.size or (256 if asked.stand_in else 2048)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        if asked.stand_in:
            asyncio.run(with_stand_in(asked, Path(folder)))
            return 0
        with started(["service.command", "up", "--port", str(PORT), "--data", folder]) as parts:
            sweep, winner = asyncio.run(measure(asked, parts))
    left_s = WITHIN_S - (time.monotonic() - begun)
    try:
        show([beside_autotune(asked, sweep, winner, left_s)])
    except NotCompared as error:
        print(f"not compared with @triton.autotune: {error}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
