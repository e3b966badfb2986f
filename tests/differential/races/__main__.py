"""Random kernels with and without races, and an oracle: `python -m tests.differential.races`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.differential.races.kernel import kernel_of
from tests.differential.races.trying import compare


def main() -> int:
    """Try kernels; return 1 after a false alarm, or where fewer than 95 % are found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=300)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(given.seed, given.seed + given.kernels):
        for kind, outcome in compare(kernel_of(seed)).items():
            counts[f"{kind}: {outcome}"] += 1
            if outcome in {"false alarm", "missed"}:
                print(f"{kind} {outcome}: --seed {seed} --kernels 1", flush=True)
    print("\n".join(f"{name} {count}" for name, count in sorted(counts.items())))
    kinds = {name.partition(":")[0] for name in counts}
    alarms = any(counts[f"{kind}: false alarm"] for kind in kinds)
    missed = any(counts[f"{k}: missed"] * 19 > counts[f"{k}: found"] for k in kinds)
    return 1 if alarms or missed else 0


if __name__ == "__main__":
    sys.exit(main())
