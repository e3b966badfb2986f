"""Measures the puzzles on the CPU device, from request to verdict, on an idle system.

Each puzzle runs in two ways: with another line in the kernel for each launch, like a learner's
edit, so that it is compiled anew; and posted again unchanged, so that only the run is new. The
reference's result is cached in both ways.
"""

import argparse
import itertools
import json
import re
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deployment import Deployment, Server
from derived import asked
from table import Row, show

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.integration.service.launches.puzzles import PUZZLES, puzzle

BAR_MS = 50.0
IDLE_S = 0.3
"""Between requests: an idle worker prepares the next children."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="launches of each puzzle")
    arguments = parser.parse_args()
    with Deployment() as deployment:
        service = deployment.serve()
        for name in PUZZLES:
            launched(service, puzzle(name))
        edits = itertools.count()
        rows = [
            measured(service, f"puzzle {name}{how}, p50", bodies, arguments.repeats)
            for name in PUZZLES
            for how, bodies in (
                (", edited", (edited(puzzle(name), edit) for edit in edits)),
                (", once more", itertools.repeat(puzzle(name))),
            )
        ]
        show(rows)


def edited(body: dict[str, Any], edit: int) -> dict[str, Any]:
    """Return the launch with one more line in its kernel, different for each `edit`."""
    compilation = body["compilation"]
    head = re.compile(rf"(def {compilation['kernel']}\([^)]*\):\n)")
    source, count = head.subn(rf"\1    edited = {edit}\n", compilation["source"])
    if count != 1:
        raise RuntimeError(f"no head of {compilation['kernel']} was found to edit")
    return body | {"compilation": compilation | {"source": source}}


def measured(service: Server, name: str, bodies: Iterator[dict[str, Any]], repeats: int) -> Row:
    """Return the time of `repeats` of the launches `bodies`, one after the other."""
    times_ms, runs_ms = [], []
    for body in itertools.islice(bodies, repeats):
        time.sleep(IDLE_S)
        started = time.perf_counter()
        answer = launched(service, body)
        times_ms.append((time.perf_counter() - started) * 1000)
        runs_ms.append(answer["timings_ms"]["run"])
    median_ms = statistics.median(times_ms)
    reported = f"{BAR_MS:g} ms allowed; in the worker {statistics.median(runs_ms):.0f} ms"
    return Row(name, f"{median_ms:.0f} ms", reported, median_ms / BAR_MS, 1.0)


def launched(service: Server, body: dict[str, Any]) -> Any:
    """Return the answer to a launch, which must pass."""
    answer = asked(service, "POST", "/v1/launches?wait=60", json.dumps(body))
    if answer["verdict"] != "passed":
        raise RuntimeError(f"a puzzle did not pass: {answer}")
    return answer


if __name__ == "__main__":
    main()
