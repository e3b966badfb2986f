"""Compiles the kernels of PyPI packages directly and over HTTP, and compares the results.

`make corpus` takes hours; `--most 20` takes a part of each package, `--minutes` ends it early.
`.cache/corpus` stores the direct results, and the outcomes of each commit, so that a second call
continues. Prints the tables of benchmarks/results/corpus.md.
"""

import argparse
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
from deployment import ROOT, Deployment

from corpus.direct import DirectCompiler
from corpus.kernels import Kernel
from corpus.outcomes import Outcomes
from corpus.packages import PACKAGES, Package, unpacked
from corpus.plans import drawn, plan_of
from corpus.posts import outcome_of
from corpus.report import Row, show

CACHE = ROOT / ".cache/corpus"
ANSWER_S = 400
ROUND = 10
AT_ONCE = 3


@dataclass(frozen=True)
class _Turn:
    """Some kernels of one package, compiled directly and posted together."""

    package: Package
    kernels: list[Kernel]


def main() -> None:
    """Process every package and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=100, help="kernels of each package")
    parser.add_argument("--minutes", type=float, default=1e6, help="start nothing new after these")
    parser.add_argument("--package", action="append", help="only these packages")
    arguments = parser.parse_args()
    chosen = [p for p in PACKAGES if p.name in (arguments.package or [p.name])]
    end = time.monotonic() + 60 * arguments.minutes
    outcomes = Outcomes(CACHE / "outcomes" / f"{_commit()}.jsonl")
    with Deployment() as deployment, DirectCompiler(CACHE) as direct:
        url = f"http://127.0.0.1:{deployment.serve().port}"
        with httpx.Client(base_url=url, timeout=ANSWER_S) as client:

            def take(turn: _Turn) -> None:
                if time.monotonic() < end:
                    _take(turn, direct, client, outcomes)

            with ThreadPoolExecutor(AT_ONCE) as threads:
                list(threads.map(take, _turns(chosen, arguments.most)))
    show([Row(package, outcomes.of(package.name)) for package in chosen])


def _turns(packages: list[Package], most: int) -> Iterator[_Turn]:
    """Yield all kernels, some of every package in turn, so that an early end covers all."""
    kernels: dict[Package, list[Kernel]] = {}
    for first in range(0, most, ROUND):
        for package in packages:
            if package not in kernels:
                kernels[package] = drawn(package, unpacked(package, CACHE))[:most]
            if kernels[package][first:]:
                yield _Turn(package, kernels[package][first : first + ROUND])


def _take(turn: _Turn, direct: DirectCompiler, client: httpx.Client, outcomes: Outcomes) -> None:
    root = unpacked(turn.package, CACHE)
    plans = [plan_of(kernel) for kernel in turn.kernels if not outcomes.has(kernel.id)]
    for plan, made in zip(plans, direct.compiled(turn.package, root, plans), strict=True):
        outcome = None if made is None else outcome_of(client, root, plan, *made)
        outcomes.add(turn.package.name, plan["id"], outcome)


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(command, cwd=ROOT, text=True, check=True, stdout=-1).stdout.strip()


if __name__ == "__main__":
    main()
