"""Loads a GPU for minutes: every verdict must be correct, and memory must stay flat.

`python benchmarks/gpu/soak_gpu.py --minutes 10` starts its own `tritond up` and needs a GPU. In
parallel it launches many sizes, wrong kernels, faults, endless kernels, accesses to foreign memory,
timed runs with fresh inputs, and cases. Prints the results of each kind, and the memory of the GPU
and of each kind of process: the minimum of each half, and the end. Exits with 1 if a verdict is
wrong or memory grows. `--stand-in` tries the script without a GPU.

With `--report soak.txt` all output goes there, a line per minute and the tables at the end, and the
run survives the process that started it:
`CUDA_VISIBLE_DEVICES=0 TRITOND_PORT=8291 setsid python benchmarks/gpu/soak_gpu.py --report soak.txt
< /dev/null > soak.log 2>&1 &`.
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.gpu.asked_service import PORT, URL, Service, started, until_ready  # noqa: E402
from benchmarks.gpu.launch_bodies import (  # noqa: E402
    ADD,
    BEFORE_START,
    FAR_AWAY,
    WRONG,
    add,
    endless,
    many_cases,
)
from benchmarks.gpu.processes import resident_bytes  # noqa: E402
from store.embedded import EmbeddedValkey  # noqa: E402

CALLERS = 12
SAMPLE_S = 10.0
SAMPLES_A_LINE = 6
SIZES = (1, 1000, 4096, 98_432, 98_431, 1 << 20, (1 << 20) + 3, 1 << 22)
SETTLED = 0.2
"""Part of the run after which caches should be full: growth counts from here."""
GROWTH, GROWTH_BYTES = 1.15, 128 << 20
"""Memory is flat if the minimum of the second half is below the first's times this, and more.

Current work varies by a GiB of GPU memory, but memory that is never freed raises the minimum.
"""

Body = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """Launches of one kind: their weight, and their expected verdict."""

    name: str
    weight: int
    verdict: str
    body: Callable[[random.Random], Body]


def _fresh(draw: random.Random) -> Body:
    timing = {"min_repeats": 20, "max_ms": 20, "fresh_inputs": True}
    return add(n_elements=draw.choice(SIZES[:6])) | {"timing": timing}


def _sized(draw: random.Random) -> Body:
    return add(n_elements=draw.choice(SIZES), seed=draw.randrange(20))


GOOD = [
    Kind("good, many sizes", 60, "passed", _sized),
    Kind("fresh inputs", 10, "passed", _fresh),
    Kind("ten cases", 5, "passed", lambda _: many_cases(10, timed=False)),
]
KINDS = [
    *GOOD,
    Kind("wrong", 15, "mismatch", lambda _: add(WRONG)),
    Kind("writes before its start", 4, "out_of_bounds", lambda _: add(BEFORE_START)),
    Kind("illegal access", 1, "illegal_access", lambda _: add(FAR_AWAY)),
    Kind("endless", 1, "timeout", lambda _: endless()),
    Kind("a separate process", 1, "passed", lambda _: add(ADD) | {"isolation": "process"}),
]


@dataclass
class Soak:
    """The results of a run so far."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    samples: list[tuple[float, Counter[str]]] = field(default_factory=list)


async def load(service: Service, kinds: Sequence[Kind], soak: Soak, until: float) -> None:
    """Launch random kinds, one after the other, until the time is over."""
    draw = random.Random()
    while time.monotonic() < until:
        (kind,) = draw.choices(kinds, [each.weight for each in kinds])
        try:
            answer = await service.launch(kind.body(draw))
        except (httpx.HTTPError, ValueError) as error:
            soak.verdicts[kind.name, "no answer"] += 1
            soak.wrong.append(f"{kind.name}: no answer ({error!r})")
            await asyncio.sleep(1)
            continue
        verdicts = verdicts_of(answer)
        soak.verdicts[kind.name, "+".join(sorted(verdicts))] += 1
        if verdicts != {kind.verdict}:
            reported = {name: answer.get(name) for name in ("id", "problem", "findings", "outputs")}
            soak.wrong.append(f"{kind.name}: {verdicts}, not {kind.verdict}: {str(reported)[:600]}")


def verdicts_of(launch: Body) -> set[str]:
    """Return every verdict of a launch, or its state if it has none."""
    cases = launch.get("cases") or [launch]
    return {
        str(case.get("verdict") or (case.get("problem") or {}).get("slug") or launch.get("state"))
        for case in cases
    }


async def sample(soak: Soak, started_at: float) -> None:
    """Record the memory of the GPU and of tritond's processes every few seconds until cancelled."""
    while True:
        held = await memory()
        soak.samples.append((time.monotonic() - started_at, held))
        if len(soak.samples) % SAMPLES_A_LINE == 0:
            reported = ", ".join(f"{kind} {size >> 20}" for kind, size in sorted(held.items()))
            launches, wrong = sum(soak.verdicts.values()), len(soak.wrong)
            at_s = soak.samples[-1][0]
            print(f"{at_s:.0f} s: {launches} launches, {wrong} wrong; MiB: {reported}", flush=True)
        await asyncio.sleep(SAMPLE_S)


async def memory() -> Counter[str]:
    """Return the current memory of the GPU and of each kind of process."""
    held = resident_bytes(os.getpid())
    if (used := await gpu_bytes()) is not None:
        held["GPU"] = used
    return held


async def gpu_bytes() -> int | None:
    """Return the used memory of the first GPU, None if it is unknown."""
    gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0] or "0"
    query = ("--query-gpu=memory.used", "--format=csv,noheader,nounits", f"--id={gpu}")
    try:
        process = await asyncio.create_subprocess_exec(
            "nvidia-smi", *query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None
    printed, _ = await process.communicate()
    text = printed.decode().strip()
    return int(text) << 20 if text.isdigit() else None


def show(soak: Soak, minutes: float) -> bool:
    """Print the results of the run; return whether all are correct."""
    spent_s = soak.samples[-1][0]
    print(f"\n{sum(soak.verdicts.values())} launches in {minutes:g} minutes ({spent_s:.0f} s)\n")
    print("| kind | verdict | launches |\n|---|---|---|")
    for (kind, verdict), count in sorted(soak.verdicts.items()):
        print(f"| {kind} | {verdict} | {count} |")
    kept = [held for _, held in soak.samples[int(SETTLED * len(soak.samples)) :]]
    halves = kept[: len(kept) // 2 + 1], kept[len(kept) // 2 :]
    print("\n| memory in MiB | least, first half | least, second half | end | |")
    print("|---|---|---|---|---|")
    growing = []
    for kind in sorted(kept[-1]):
        before, after = (min(held[kind] for held in half) for half in halves)
        if after > before * GROWTH + GROWTH_BYTES:
            growing.append(kind)
        cells = [f"{size >> 20}" for size in (before, after, kept[-1][kind])]
        print(f"| {kind} | {' | '.join(cells)} | {'GROWS' if kind in growing else 'flat'} |")
    print("\n" + "\n".join(soak.wrong[:10]) if soak.wrong else "\nevery verdict is right")
    return not soak.wrong and not growing


async def run(asked: argparse.Namespace, tritond: Sequence["subprocess.Popen[bytes]"]) -> bool:
    """Load the service for the requested time and print the results."""
    async with httpx.AsyncClient(base_url=URL, timeout=180) as client:
        service = Service(client)
        await until_ready(service, tritond)
        soak, begun = Soak(), time.monotonic()
        sampling = asyncio.create_task(sample(soak, begun))
        kinds, until = GOOD if asked.stand_in else KINDS, begun + 60 * asked.minutes
        await asyncio.gather(*(load(service, kinds, soak, until) for _ in range(CALLERS)))
        after = await service.launch(add())
        soak.samples.append((time.monotonic() - begun, await memory()))
        if verdicts_of(after) != {"passed"}:
            soak.wrong.append(f"a good launch afterwards: {verdicts_of(after)}")
        sampling.cancel()
    return show(soak, asked.minutes)


async def with_stand_in(asked: argparse.Namespace, data: Path) -> bool:
    """Try the script with a stand-in launcher."""
    print("STAND-IN LAUNCHER: no kernel runs\n", flush=True)
    async with EmbeddedValkey(data) as valkey:
        settings = {"TRITOND_REDIS_URL": valkey.url, "TRITOND_PORT": str(PORT)}
        with started(["service"], ["benchmarks.gpu.stand_in_gpu"], **settings) as parts:
            return await run(asked, parts)


def main() -> int:
    """Load a tritond and print the results; return 1 if anything is wrong."""
    asked = arguments()
    if asked.report is None:
        return soaked(asked)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # survive the end of the parent
    with asked.report.open("w", buffering=1) as report, redirect_stdout(report):
        status = 1
        try:
            status = soaked(asked)
        except BaseException:
            traceback.print_exc(file=report)
            raise
        finally:
            print(f"over, status {status}")
    return status


def soaked(asked: argparse.Namespace) -> int:
    """Start tritond, load it, stop it; return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        if asked.stand_in:
            return 0 if asyncio.run(with_stand_in(asked, Path(folder))) else 1
        up = ["service.command", "up", "--port", str(PORT), "--data", folder]
        with started(up) as parts:
            return 0 if asyncio.run(run(asked, parts)) else 1


def arguments() -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--report", type=Path, help="a file for all output")
    parser.add_argument("--stand-in", action="store_true", help="try the script without a GPU")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
