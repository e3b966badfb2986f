"""Builds the oracle's cases in .artifacts/oracle/cases, without a GPU.

`python -m tests.gpu.oracle.make [--most N] [--minutes M] [ORIGIN ...]`; a second call continues
where the first one ended. `outcomes.jsonl` has the outcome of every kernel tried. `--pack` only
packs existing cases for the visit.

`--draw 1 --without OUTCOMES` makes a held-out draw: other seeds, and no kernel with a name that
earlier draws tried.
"""
# ruff: noqa: T201 - a program that reports

import argparse
import io
import itertools
import json
import os
import resource
import tarfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tests.gpu.oracle.building import Compilers, NoCase, built
from tests.gpu.oracle.candidates import (
    PACKAGES,
    ROOT,
    Candidate,
    of_package,
    of_the_mix,
    of_the_tests,
)
from tests.gpu.oracle.number_kernels import of_numbers

FOLDER = Path(os.environ.get("TRITOND_ORACLE", ROOT / ".artifacts/oracle"))
CACHE = Path(os.environ.get("TRITOND_CORPUS", ROOT / ".cache/corpus"))
MEMORY_BYTES = 5 << 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=60, help="kernels of each package")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--draw", type=int, default=0, help="another one guesses otherwise")
    parser.add_argument("--without", type=Path, action="append", default=[],
                        help="outcomes.jsonl of an earlier draw")  # fmt: skip
    parser.add_argument("--pack", action="store_true", help="only pack what there is")
    parser.add_argument("origins", nargs="*")
    arguments = parser.parse_args()
    if not arguments.pack:
        end = time.monotonic() + 60 * arguments.minutes
        draw = Draw(
            tuple(arguments.origins), arguments.most, arguments.draw, _tried(arguments.without)
        )
        parts = [(n, arguments.processes, draw, end) for n in range(arguments.processes)]
        with get_context("fork").Pool(arguments.processes) as pool:
            pool.starmap(_work, parts)
    print(pack())


@dataclass(frozen=True)
class Draw:
    """The kernels to try: a maximum for each package, and no names in `without`."""

    origins: tuple[str, ...]
    most: int
    number: int
    without: frozenset[str]


def _tried(outcomes: list[Path]) -> frozenset[str]:
    lines = (line for path in outcomes for line in path.read_text().splitlines())
    return frozenset(json.loads(line)["id"].split(".")[1] for line in lines)


def candidates(draw: Draw) -> Iterator[Candidate]:
    """Yield our kernels, then those of the packages in turn."""
    origins = draw.origins
    if not origins or "tests" in origins:
        yield from of_the_mix()
        yield from of_the_tests()
    if not origins or "numbers" in origins:
        yield from of_numbers()
    names = [p.name for p in PACKAGES if not origins or p.name in origins]
    streams = [
        itertools.islice(of_package(name, CACHE, draw.number, draw.without), draw.most)
        for name in names
    ]
    for row in itertools.zip_longest(*streams):
        yield from (one for one in row if one is not None)


def _work(number: int, processes: int, draw: Draw, end: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    FOLDER.mkdir(parents=True, exist_ok=True)
    log = FOLDER / "outcomes.jsonl"
    known = (
        {json.loads(line)["id"] for line in log.read_text().splitlines()} if log.exists() else set()
    )
    children = Compilers()
    for index, candidate in enumerate(candidates(draw)):
        if time.monotonic() > end:
            break
        if index % processes != number or candidate.id in known:
            continue
        started = time.monotonic()
        try:
            case = built(children, candidate, FOLDER / "cases")
            outcome = {"case": True, "notes": case["notes"], "score": case["score"]}
        except NoCase as reason:
            outcome = {"case": False, "reason": str(reason)}
        except Exception:  # noqa: BLE001 - one kernel is not worth the others
            outcome = {"case": False, "reason": traceback.format_exc()[-1500:]}
            children = Compilers()
        outcome = {"id": candidate.id, **outcome, "s": round(time.monotonic() - started, 2)}
        with log.open("a") as file:
            file.write(json.dumps(outcome) + "\n")


def pack() -> str:
    """Pack the files of all cases that a GPU machine needs: cubins and launches."""
    archive = FOLDER / "visit.tar.xz"
    folders = sorted(path.parent for path in (FOLDER / "cases").glob("*/case.json"))
    with tarfile.open(archive, "w:xz", preset=6) as tar:
        for folder in folders:
            for name in ("kernel.cubin", "case.json"):
                content = (folder / name).read_bytes()
                member = tarfile.TarInfo(f"{folder.name}/{name}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return f"{len(folders)} cases, {archive.stat().st_size / 1e6:.1f} MB in {archive}"


if __name__ == "__main__":
    main()
