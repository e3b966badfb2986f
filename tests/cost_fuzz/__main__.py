"""`python -m tests.cost_fuzz [--seed N] [--most N] [--only TEXT]`: costs of requests.

Requests at the limits of each field, and of each two fields, go to a real deployment. None may
take more of the service, the worker or the store than `bars` allows. It prints a table, and exits
with 1 if a request missed a bar.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.cost_fuzz.bars import HEAD, Row
from tests.cost_fuzz.case import Case
from tests.cost_fuzz.generated import generated
from tests.cost_fuzz.operations import operations
from tests.cost_fuzz.products import products
from tests.cost_fuzz.running import Runner


def cases(seed: int) -> list[Case]:
    """Return all cases: products first, then generated ones in an order that `seed` decides."""
    chance = random.Random(f"cost {seed}")
    drawn = list(generated(chance))
    chance.shuffle(drawn)
    return [*products(), *drawn]


def untried(tried: list[Case]) -> list[str]:
    """Return the operations without a case."""
    names = {case.operation for case in tried}
    return [operation.name for operation in operations() if operation.name not in names]


def main() -> None:
    """Measure the cases that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.cost_fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 20))
    parser.add_argument("--most", type=int, default=1000, help="cases; all products are among them")
    parser.add_argument("--only", default="", help="cases with this text in their name")
    parser.add_argument("--follow", type=float, default=60, help="cancel jobs after these seconds")
    arguments = parser.parse_args()
    every = cases(arguments.seed)
    wrong = [f"no case for {name}" for name in untried(every)]
    chosen = [case for case in every if arguments.only in case.name][: arguments.most]
    print(f"seed {arguments.seed}; {len(chosen)} of {len(every)} cases", HEAD, sep="\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="cost-fuzz-") as folder:
        runner = Runner(Path(folder), arguments.follow)
        try:
            for case in chosen:
                row = runner.measure(case)
                print(row.line(), flush=True)
                wrong += _missed(row)
        finally:
            runner.stop()
    print("\n".join(wrong) or "every request is within all bars", flush=True)
    sys.exit(1 if wrong else 0)


def _missed(row: Row) -> list[str]:
    missed = row.violations()
    if missed:
        print("  MISSED: " + "; ".join(missed), flush=True)
    return [f"{row.name}: {each}" for each in missed]


if __name__ == "__main__":
    main()
