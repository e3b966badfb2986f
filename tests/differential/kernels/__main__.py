"""Random kernels on the CPU device against an oracle: `python -m tests.differential.kernels`."""

from __future__ import annotations

import argparse
import signal
import sys
from collections import Counter

from tests.differential.kernels.faults import FAULTS
from tests.differential.kernels.trying import found_after, table, tried


def main() -> int:
    """Try kernels; return 1 where one disagrees. SIGTERM ends it after the present process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=300)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument(
        "--fault", choices=list(FAULTS), help="plant one, and stop when it is found"
    )
    given = parser.parse_args()
    if given.fault:
        needed = found_after(given.seed, given.kernels, FAULTS[given.fault])
        print(f"{given.fault}: found by kernel {needed}" if needed else f"{given.fault}: not found")
        return 0 if needed else 1
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    counts: Counter[str] = Counter()
    for some in tried(given.seed, given.kernels):
        counts += some
        if counts["kernels"] % 1000 < some["kernels"]:
            print(f"{counts['kernels']} kernels, {counts['disagree']} disagree", flush=True)
        if ended:
            break
    print(table(counts), flush=True)
    return 1 if counts["disagree"] or counts["refused"] or counts["died"] else 0


if __name__ == "__main__":
    sys.exit(main())
