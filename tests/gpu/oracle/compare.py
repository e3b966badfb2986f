"""Compares a GPU's results for the cases with this machine's, and prints a table.

`python -m tests.gpu.oracle.compare VISIT [--device artifact|cpu]... [ID...]`, where VISIT is the
folder of a visit's results. It writes a line for each case and device to `agreements.jsonl`.
"""
# ruff: noqa: T201 - a program that reports

import argparse
import json
import signal
from collections import Counter, defaultdict
from multiprocessing import get_context
from pathlib import Path

from tests.gpu.oracle import devices
from tests.gpu.oracle.comparing import FAILED, Agreement, agreement, is_exact
from tests.gpu.oracle.gpu_results import GpuResult, results
from tests.gpu.oracle.make import FOLDER

LIMIT_S = 40
PROCESSES = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("visit", type=Path)
    parser.add_argument("--device", action="append", choices=list(devices.DEVICES))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=int, default=40)
    parser.add_argument("--only", dest="ids", action="append", help="part of a case's id")
    arguments = parser.parse_args()
    out = arguments.out or FOLDER / "agreements.jsonl"
    found: list[Agreement] = []
    with out.open("a") as file, get_context("fork").Pool(PROCESSES, maxtasksperchild=20) as pool:
        for device in arguments.device or ["artifact"]:
            wanted = (
                (device, one)
                for one in results(arguments.visit, FOLDER / "cases")
                if not arguments.ids or any(part in one.case["id"] for part in arguments.ids)
            )
            for one in pool.imap_unordered(_compared, wanted):
                found.append(one)
                file.write(json.dumps(one.to_json()) + "\n")
    table(found)
    bad = [one for one in found if one.state not in {"bits", "tolerance"}]
    for one in sorted(bad, key=lambda one: one.id)[: arguments.show]:
        print(one.device, one.id, one.state, f"{one.differing} of {one.of}", one.why or one.first)


def _compared(what: tuple[str, GpuResult]) -> Agreement:
    device, one = what
    ir = (one.folder / "source.ttir").read_text()

    def stop(*_: object) -> None:
        raise TimeoutError(f"not within {LIMIT_S} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT_S)
    try:
        ours = devices.DEVICES[device](one.case, one.folder)
    except BaseException as error:  # noqa: BLE001 - it is what is reported
        why = f"{type(error).__name__}: {error}"[:300]
        return Agreement(one.case["id"], device, FAILED, is_exact(ir), why=why)
    finally:
        signal.alarm(0)
    return agreement(one.case, device, ir, one.before, one.after, ours)


def table(found: list[Agreement]) -> None:
    """Print the number of agreeing cases by device and origin."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one in found:
        for row in (one.id.split(".")[0], "all"):
            counts[one.device, row][one.state] += 1
            counts[one.device, row]["all"] += 1
            if one.exact_expected:
                counts[one.device, row]["exact, bits" if one.state == "bits" else "exact, not"] += 1
    states = ("all", "bits", "tolerance", "differs", "failed", "exact, bits", "exact, not")
    print(f"| device | of | {' | '.join(states)} |\n|{'---|' * (len(states) + 2)}")
    for (device, row), count in sorted(counts.items()):
        print(f"| {device} | {row} | {' | '.join(str(count[state]) for state in states)} |")


if __name__ == "__main__":
    main()
