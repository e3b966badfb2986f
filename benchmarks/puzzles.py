"""How long the puzzles take on the CPU device, from request to verdict, on an idle system.

Every request is sent again: the front end's result and the reference's answer are kept, as for a
learner who posts once more; no run is, so each pays for its kernel and the comparison.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from deployment import Deployment, Server
from derived import asked
from table import Row, show

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.integration.service.launches.test_launches_puzzles import PUZZLES, puzzle

BAR_MS = 50.0
IDLE_S = 0.3
"""Between requests: the worker prepares the next children when nothing runs."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="launches of each puzzle")
    arguments = parser.parse_args()
    with Deployment() as deployment:
        service = deployment.serve()
        for name in PUZZLES:
            launched(service, puzzle(name))
        show([measured(service, name, arguments.repeats) for name in PUZZLES])


def measured(service: Server, name: str, repeats: int) -> Row:
    """Return the time of one puzzle, launched `repeats` times, one after the other."""
    times_ms, runs_ms = [], []
    for _ in range(repeats):
        time.sleep(IDLE_S)
        started = time.perf_counter()
        answer = launched(service, puzzle(name))
        times_ms.append((time.perf_counter() - started) * 1000)
        runs_ms.append(answer["timings_ms"]["run"])
    median_ms = statistics.median(times_ms)
    told = f"{BAR_MS:g} ms allowed; in the worker {statistics.median(runs_ms):.0f} ms"
    return Row(f"puzzle {name}, p50", f"{median_ms:.0f} ms", told, median_ms / BAR_MS, 1.0)


def launched(service: Server, body: dict[str, Any]) -> Any:
    """Return the answer to a launch that passes."""
    answer = asked(service, "POST", "/v1/launches?wait=60", json.dumps(body))
    if answer["verdict"] != "passed":
        raise RuntimeError(f"a puzzle that passes was expected: {answer}")
    return answer


if __name__ == "__main__":
    main()
