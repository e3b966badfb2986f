"""Fuzzes correct and wrong kernels, and measures the findings and the times.

Correct kernels must have no findings with any seed; wrong kernels must always have one.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from deployment import Deployment, Server
from derived import asked

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.integration.service.launches.fuzzed import WRONG, fuzzed
from tests.integration.service.launches.fuzzed_right import RIGHT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="of each kernel")
    parser.add_argument("--cases", type=int, default=24, help="of each seed")
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    arguments = parser.parse_args()
    wrong = {f"wrong: {name}": (body, verdict) for name, (body, verdict) in WRONG.items()}
    tried = {name: (body, "passed") for name, body in RIGHT.items()} | wrong
    failures = 0
    with Deployment() as deployment:
        service = deployment.serve()
        for name, (body, verdict) in tried.items():
            if arguments.only in name:
                failures += measured(service, name, body, verdict, arguments)
    print(f"{failures} wrong verdicts")


def measured(
    service: Server, name: str, body: dict[str, Any], verdict: str, arguments: argparse.Namespace
) -> int:
    """Print the result of one launch; return the number of wrong verdicts."""
    wrong, cases, times_ms, skipped = 0, [], [], 0
    for seed in range(arguments.seeds):
        started = time.perf_counter()
        posted = json.dumps(fuzzed(body, seed, cases=arguments.cases))
        answer = asked(service, "POST", "/v1/launches?wait=60", posted)
        times_ms.append((time.perf_counter() - started) * 1000)
        if answer["verdict"] != verdict:
            wrong += 1
            print(f"  {name}, seed {seed}: {answer['verdict']} {answer['problem']}")
            for finding in answer["findings"] or []:
                print(f"    {finding['message'][:600]}")
        if answer["fuzz"]:
            cases.append(answer["fuzz"]["cases"])
            skipped += sum(answer["fuzz"]["skipped"].values())
            if not seed:
                kinds, kept = answer["fuzz"]["kinds"], answer["fuzz"]["not_varied"]
                print(f"  {kinds} {answer['fuzz']['reference']}; kept: {kept}")
    median_ms = sorted(times_ms)[len(times_ms) // 2]
    print(f"{name:34} {wrong} wrong; {median_ms:6.0f} ms; cases {cases}, {skipped} left out")
    return wrong


if __name__ == "__main__":
    main()
