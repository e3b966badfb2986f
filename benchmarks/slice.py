"""Measures an edit outside of the slice: its key is new, but nothing is compiled.

Each request is the same file with another comment in a line that the kernel does not use, so its
compile key is new but its slice is known. One request at a time, on an idle system.
"""

import argparse
import statistics
import time
from typing import Any

from deployment import Deployment, Server
from derived import asked, posted
from mix import Mix
from table import Row, show

BAR_MS = 10.0
WARM_UP = 5
IDLE_S = 0.1
"""Between requests, so that waiting children have time to prepare."""
CHANGED = "# edit {number}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=100, help="of each kernel")
    arguments = parser.parse_args()
    mix = Mix()
    kernels = {"vector add": mix.small(), "real kernel": mix.real()[0]}
    with Deployment() as deployment:
        service = deployment.serve()
        rows = [
            row
            for name, request in kernels.items()
            for row in measured(service, name, request, arguments.edits)
        ]
    show(rows)


def measured(service: Server, name: str, request: dict[str, Any], edits: int) -> list[Row]:
    """Return rows for the whole request and for the worker's part of it, p50 of `edits` edits."""
    first = posted(service, edited(request, 0))
    times_ms, worker_ms, hits_ms = [], [], []
    for number in range(1, WARM_UP + edits + 1):
        body = edited(request, number)
        time.sleep(IDLE_S)
        started = time.perf_counter()
        made = posted(service, body)
        spent_ms = (time.perf_counter() - started) * 1000
        check_nothing_was_compiled(first, made)
        started = time.perf_counter()
        asked(service, "GET", made["url"])
        if number > WARM_UP:
            times_ms.append(spent_ms)
            worker_ms.append(made["timings_ms"]["total"])
            hits_ms.append((time.perf_counter() - started) * 1000)
    median_ms, hit_ms = statistics.median(times_ms), statistics.median(hits_ms)
    inside_ms = statistics.median(worker_ms)
    reported = f"{BAR_MS:g} ms allowed; GET of it {hit_ms:.1f} ms"
    return [
        Row(f"edit outside the slice, {name}: HTTP p50", f"{median_ms:.1f} ms", reported,
            median_ms / BAR_MS, 1.0),
        Row(f"edit outside the slice, {name}: in the worker, p50", f"{inside_ms:.1f} ms",
            f"{BAR_MS:g} ms allowed", inside_ms / BAR_MS, 1.0),
    ]  # fmt: skip


def edited(request: dict[str, Any], number: int) -> dict[str, Any]:
    """Return `request` with a new last line, which no kernel uses."""
    return request | {"source": f"{request['source']}\n{CHANGED.format(number=number)}\n"}


def check_nothing_was_compiled(first: dict[str, Any], made: dict[str, Any]) -> None:
    """Raise RuntimeError if a stage has other bytes, or the request was a plain hit."""
    if made["cache"] != "miss":
        raise RuntimeError(f"the edited source was a {made['cache']}, so nothing was measured")
    if made["artifacts"]["ttir"]["digest"] != first["artifacts"]["ttir"]["digest"]:
        raise RuntimeError("the edit changed the kernel")


if __name__ == "__main__":
    main()
