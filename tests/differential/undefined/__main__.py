"""Random kernels with lanes that have no value: `python -m tests.differential.undefined`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from launch.checks.kernel_run import RunOptions
from launch.cpu.grid_run import run_grid
from launch.cpu.undefined_runs import undefined_values
from tests.differential.small_launches import SmallMemory, small_form, small_order
from tests.differential.undefined.kernel import MaskedKernel, masked_kernel_of

_WORDS = {(True, True): "found", (True, False): "missed", (False, True): "false alarm"}


def outcome(kernel: MaskedKernel) -> str:
    """Return whether the CPU device finds lanes without a value that matter."""
    contents = kernel.contents()
    form = small_form(kernel.source(), list(contents))
    order = small_order({name: len(given) for name, given in contents.items()}, kernel.programs)
    memory = SmallMemory(contents)
    ran = run_grid(form, order, memory, RunOptions())
    assert ran.stopped is None, ran.stopped
    found = undefined_values(form, order, memory, ran, 0.0)
    return _WORDS.get((kernel.depends(), bool(found)), "clean")


def main() -> int:
    """Try kernels; return 1 after a false alarm, or where fewer than 95 % are found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=300)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(given.seed, given.seed + given.kernels):
        result = outcome(masked_kernel_of(seed))
        counts[result] += 1
        if result in {"false alarm", "missed"}:
            print(f"{result}: --seed {seed} --kernels 1", flush=True)
    print("\n".join(f"undefined: {name} {count}" for name, count in sorted(counts.items())))
    return 1 if counts["false alarm"] or counts["missed"] * 19 > counts["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
