"""Random kernels and their oracles: `python -m tests.differential races undefined tuning`.

It uses all cores, prints counts every ten seconds, and ends with 1 after a false alarm, or where
fewer than 95 % of the faults of a kind are found.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count
from multiprocessing import get_context

from tests.differential.outcomes import FALSE_ALARM, FOUND, MISSED, OUTCOMES, Counts, tried

_CHUNK = 25
"""Kernels that a process tries before it reports."""
_CHUNKS_OF_PROCESS = 20
"""Then another process takes its place: Triton does not free all of its memory."""
_SHOWN_S = 10.0
_MIN_VALUE = 0.95


def _chunks(first: int, total: int) -> Iterator[range]:
    for start in range(first, first + total, _CHUNK):
        yield range(start, min(start + _CHUNK, first + total))


def explore(name: str, given: argparse.Namespace) -> Counts:
    """Try kernels of one class until the count or the time is used up."""
    counts: Counts = Counter()
    started = shown = time.monotonic()
    left = _chunks(given.seed, given.count)
    pool = ProcessPoolExecutor(
        given.processes, get_context("spawn"), max_tasks_per_child=_CHUNKS_OF_PROCESS
    )
    with pool:
        running: set[Future[tuple[Counts, list[str]]]] = set()
        for number in count():
            late = time.monotonic() - started > given.seconds
            chunk = None if late else next(left, None)
            if chunk is not None:
                running.add(pool.submit(tried, name, chunk))
            if chunk is None and not running:
                break
            if chunk is not None and number < 2 * given.processes:
                continue
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for one in ended:
                some, bad = one.result()
                counts += some
                print("".join(f"{line}\n" for line in bad), end="", flush=True)
            if time.monotonic() - shown > _SHOWN_S:
                shown = time.monotonic()
                print(f"after {shown - started:.0f} s: {_words(counts)}", flush=True)
    return counts


def _words(counts: Counts) -> str:
    kinds = sorted({kind for kind, _ in counts})
    return "; ".join(
        f"{kind}: "
        + ", ".join(
            f"{what} {number}" for (of, what), number in sorted(counts.items()) if of == kind
        )
        for kind in kinds
    )


def _is_good(counts: Counts) -> bool:
    kinds = {kind for kind, _ in counts}
    alarms = any(counts[kind, FALSE_ALARM] for kind in kinds)
    few = any(
        counts[kind, FOUND] < _MIN_VALUE * (counts[kind, FOUND] + counts[kind, MISSED])
        for kind in kinds
    )
    return not (alarms or few)


def main() -> int:
    """Try kernels of each class that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("classes", nargs="+", choices=sorted(OUTCOMES))
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=300, help="kernels of each class")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of each class")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    is_good = True
    for name in given.classes:
        counts = explore(name, given)
        is_good = is_good and _is_good(counts)
        print("\n".join(f"{kind}: {what} {n}" for (kind, what), n in sorted(counts.items())))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
