"""Counts the autotuned kernels of PyPI packages with known configurations and plain heuristics.

It posts the file of every kernel of the corpus's packages that has
`@triton.autotune` or `@triton.heuristics` to `/v1/inspect` with a target, with the files of its
package that it imports. Unreadable ones are listed with their reasons. Nothing is stored.
"""

import argparse
import ast
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from deployment import ROOT, Deployment

from corpus.imports import needed_files
from corpus.kernels import Kernel, kernels_in
from corpus.packages import PACKAGES, Package, unpacked

CACHE = ROOT / ".cache/corpus"
TARGET = "cuda:90"
ANSWER_S = 120
SHOWN = 40


@dataclass
class Coverage:
    """Facts about the kernels of one package."""

    kernels: int = 0
    listed: int = 0
    """Kernels whose configurations are a list of literals in the text."""
    read: int = 0
    configurations: list[int] = field(default_factory=list)
    plain: int = 0
    """Heuristics that are plain expressions."""
    other: Counter[str] = field(default_factory=Counter)
    """Other heuristics, by reason."""
    failed: list[str] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)


def main() -> None:
    """Inspect all kernels and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=10**6, help="kernels of each package")
    parser.add_argument("--package", action="append", help="only these packages")
    arguments = parser.parse_args()
    chosen = [p for p in PACKAGES if p.name in (arguments.package or [p.name])]
    coverages: dict[str, Coverage] = {}
    with Deployment() as deployment:
        url = f"http://127.0.0.1:{deployment.serve().port}"
        with httpx.Client(base_url=url, timeout=ANSWER_S) as client:
            for package in chosen:
                coverages[package.name] = _coverage(client, package, arguments.most)
    _show(coverages)


def _coverage(client: httpx.Client, package: Package, most: int) -> Coverage:
    root = unpacked(package, CACHE)
    coverage = Coverage()
    for kernel in list(_tuned(package))[:most]:
        coverage.kernels += 1
        body = {
            "source": (root / kernel.file).read_text(errors="replace"),
            "files": needed_files(root, kernel.file, None),
            "kernel": kernel.name,
            "target": TARGET,
        }
        started = time.perf_counter()
        answer = client.post("/v1/inspect", params={"wait": 60}, json=body)
        coverage.ms.append((time.perf_counter() - started) * 1000)
        _note(coverage, kernel, answer.json())
    return coverage


def _tuned(package: Package) -> Iterator[Kernel]:
    """Yield the kernels with a Triton decorator that acts at launches."""
    for kernel in kernels_in(package.name, unpacked(package, CACHE), package.folders):
        above = {ast.unparse(item).partition("(")[0] for item in kernel.node.decorator_list}
        if {name.rpartition(".")[2] for name in above} & {"autotune", "heuristics"}:
            yield kernel


def _note(coverage: Coverage, kernel: Kernel, answer: dict[str, Any]) -> None:
    written = [item for item in answer.get("kernels", ()) if item["name"] == kernel.name]
    if written and (configs := written[0]["configs"]):
        coverage.listed += all(_is_literal(config) for config in configs)
    reading = answer.get("autotune")
    if reading is None:
        problem = answer.get("problem") or answer
        coverage.failed.append(f"{kernel.id}: {str(problem.get('detail'))[:200]}")
        return
    coverage.read += 1
    if reading["is_autotuned"]:
        coverage.configurations.append(len(reading["configs"]))
    for heuristic in reading["heuristics"]:
        coverage.plain += heuristic["expression"] is not None
        if heuristic["expression"] is None:
            coverage.other[heuristic["why_not"][:120]] += 1


def _is_literal(config: dict[str, Any]) -> bool:
    return "expression" not in config and all(
        "literal" in value for part in ("constexprs", "options") for value in config[part].values()
    )


def _show(coverages: dict[str, Coverage]) -> None:
    print("| package | kernels | read | listed in the text | configurations | plain heuristics |")
    print("|---|---|---|---|---|---|")
    for name, coverage in coverages.items():
        others = sum(coverage.other.values())
        print(
            f"| {name} | {coverage.kernels} | {coverage.read} | {coverage.listed} | "
            f"{sum(coverage.configurations)} of {len(coverage.configurations)} kernels | "
            f"{coverage.plain} of {coverage.plain + others} |"
        )
    every = [ms for coverage in coverages.values() for ms in coverage.ms]
    if every:
        print(f"\nmedian {sorted(every)[len(every) // 2]:.0f} ms for one, file and all")
    for why, count in sum(
        (coverage.other for coverage in coverages.values()), Counter[str]()
    ).most_common():
        print(f"not plain, {count}: {why}")
    for line in [line for coverage in coverages.values() for line in coverage.failed][:SHOWN]:
        print(f"not read: {line}")


if __name__ == "__main__":
    main()
