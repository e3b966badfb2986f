"""Counts the kernels of PyPI packages that can be translated to NumPy, by stage, with times.

It takes every kernel of the corpus that Triton compiles to IR. `--also
NAME=FOLDER` adds those of another package's newest wheel. Refused kernels are listed with reasons.
`.cache/corpus` stores the IR, which a second call translates again.
"""

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deployment import ROOT

from compiler.diagnostic import Failure
from compiler.messages.orders import NumpyOrder
from compiler.target import Target
from compiler.ttir_to_numpy.task import numpy
from corpus.direct import DirectCompiler
from corpus.packages import PACKAGES, Package, unpacked
from corpus.plans import drawn, plan_of

CACHE = ROOT / ".cache/corpus"
STAGES = ("source", "ttir")
TARGET = Target("cuda", 90, 32)
NEEDS_A_GPU = "inline assembly"


@dataclass(frozen=True)
class Translation:
    """One stage of a kernel: its milliseconds, and why it was refused (None if it was not)."""

    kernel: str
    stage: str
    ms: float
    reason: str | None


def main() -> None:
    """Translate all kernels and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=10**6, help="kernels of each package")
    parser.add_argument("--package", action="append", help="only these packages")
    parser.add_argument("--also", action="append", default=[], help="NAME=FOLDER of another one")
    arguments = parser.parse_args()
    others = [Package(*_named(text), held_out=True) for text in arguments.also]
    packages = [*PACKAGES, *others]
    chosen = [p for p in packages if p.name in (arguments.package or [p.name])]
    by_package: dict[Package, list[Translation]] = {}
    with DirectCompiler(CACHE, to_ir=True) as direct:
        for package in chosen:
            by_package[package] = list(_translations(package, direct, arguments.most))
    _show(by_package)


def _named(text: str) -> tuple[str, str, tuple[str, ...]]:
    name, _, folders = text.partition("=")
    return name, "", tuple((folders or name.replace("-", "_")).split(","))


def _translations(package: Package, direct: DirectCompiler, most: int) -> Iterator[Translation]:
    root = unpacked(package, CACHE)
    plans = [plan_of(kernel) for kernel in drawn(package, root)[:most]]
    for plan, stem in zip(plans, direct.made(package.name, root, plans), strict=True):
        if stem is not None:
            for stage in STAGES:
                yield _translated(plan["id"], stage, stem.with_suffix(f".{stage}"))


def _translated(kernel: str, stage: str, file: Path) -> Translation:
    body = file.read_bytes()
    made: list[bytes] = []
    order = NumpyOrder(
        stage=stage, target=TARGET, files={}, parameters=()
    )  # fmt: skip
    started = time.perf_counter()
    reason = None
    try:
        numpy(order, body, lambda _, text: made.append(text))
    except Failure as failure:
        reason = failure.message
    ms = (time.perf_counter() - started) * 1000
    if reason is None:
        compile(made[0], "told.py", "exec")
        file.with_suffix(f".{stage}.py").write_bytes(made[0])
    return Translation(kernel, stage, ms, reason)


def _show(by_package: dict[Package, list[Translation]]) -> None:
    print("| package | kernels | from `source` | from `ttir` | inline assembly | p50, p90 ms |")
    print("|---|---|---|---|---|---|")
    for package, translations in by_package.items():
        print(_row(package.name, translations))
    every = [translation for translations in by_package.values() for translation in translations]
    print(_row("**all**", every))
    reasons = Counter(
        (_what(translation.reason), translation.stage)
        for translation in every
        if translation.reason
    )
    print("\n| refused | stage | kernels |\n|---|---|---|")
    for (what, stage), count in reasons.most_common():
        print(f"| {what} | {stage} | {count} |")
    for translation in every:
        if translation.reason and translation.reason.find(NEEDS_A_GPU) < 0:
            print(f"{translation.kernel} {translation.stage}: {translation.reason[:300]}")


def _row(name: str, translations: list[Translation]) -> str:
    by_stage = {
        stage: [translation for translation in translations if translation.stage == stage]
        for stage in STAGES
    }
    assembly = sum(NEEDS_A_GPU in (translation.reason or "") for translation in by_stage["source"])
    cells = [name, str(len(by_stage["source"]))]
    for stage in STAGES:
        possible = [t for t in by_stage[stage] if NEEDS_A_GPU not in (t.reason or "")]
        done = sum(translation.reason is None for translation in possible)
        share = f" ({100 * done / len(possible):.1f} %)" if possible else ""
        cells.append(f"{done} of {len(possible)}{share}")
    times = sorted(translation.ms for translation in translations) or [0.0]
    spent = f"{statistics.median(times):.0f}, {times[len(times) * 9 // 10]:.0f}"
    return f"| {' | '.join([*cells, str(assembly), spent])} |"


def _what(reason: str | None) -> str:
    return (reason or "").rpartition(": ")[2][:120]


if __name__ == "__main__":
    main()
