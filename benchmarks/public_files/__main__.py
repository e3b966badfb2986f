"""Posts whole files of PyPI packages, no field touched, and compares with `triton.compile`.

It posts every file with a kernel, some of each package in turn; `--files`,
`--kernels` and `--minutes` bound that. Plain Python imports the same files in the environment of
the corpus (`benchmarks/corpus`), and compiles the same kernels with the same types. What was posted
at a commit is stored in `.cache/public`, and not posted again. Prints the tables of
benchmarks/results/public-files.md.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from corpus.direct import DirectCompiler
from deployment import ROOT, Deployment
from tritonc import Client

from public_files.outcomes import Outcome, Outcomes, plan_of
from public_files.packages import PACKAGES, PublicPackage, unpacked
from public_files.posting import Posted, Poster
from public_files.report import show

CACHE = ROOT / ".cache/public"
CORPUS = ROOT / ".cache/corpus"
FILES_OF_A_TURN = 2


def main() -> None:
    """Post the files of every package, compile them directly, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10**6, help="files of each package")
    parser.add_argument("--kernels", type=int, default=10**6, help="kernels of each file")
    parser.add_argument("--minutes", type=float, default=1e6, help="start nothing new after these")
    parser.add_argument("--package", action="append", help="only these packages")
    parser.add_argument("--seed", type=int, default=0, help="of the order of files")
    parser.add_argument("--as", dest="run", help="the run to continue; otherwise the commit")
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes
    packages = [
        unpacked(name, CACHE, CORPUS / "venv/bin/python") for name in arguments.package or PACKAGES
    ]
    outcomes = Outcomes(CACHE / "outcomes" / f"{arguments.run or _commit()}.jsonl")
    with Deployment() as deployment, DirectCompiler(CORPUS) as direct:
        client = Client(f"http://127.0.0.1:{deployment.serve().port}")
        poster = Poster(client, deployment.worker.pid)
        for package, files in _turns(packages, arguments.files, arguments.seed):
            if time.monotonic() > end:
                break
            made = [
                posted
                for path in files
                if not outcomes.has(package.name, str(path.relative_to(package.root)))
                for posted in poster.posted(
                    package.name, package.root, path, arguments.kernels, arguments.seed
                )
            ]
            for outcome in _compared(package, made, direct):
                outcomes.add(outcome)
                print(outcome.line, file=sys.stderr, flush=True)
    show(packages, outcomes.all)


def _turns(
    packages: list[PublicPackage], most: int, seed: int
) -> Iterator[tuple[PublicPackage, list[Path]]]:
    """Yield some files of every package in turn, so that an early end covers all."""
    files = {package.name: package.files(seed)[:most] for package in packages}
    longest = max(map(len, files.values()))
    for first in range(0, longest, FILES_OF_A_TURN):
        for package in packages:
            if turn := files[package.name][first : first + FILES_OF_A_TURN]:
                yield package, turn


def _compared(
    package: PublicPackage, made: list[Posted], direct: DirectCompiler
) -> Iterator[Outcome]:
    plans = [plan_of(posted) for posted in made if posted.kernel]
    answers = direct.answers(package.name, package.root, plans)
    for posted in made:
        answer, ptx = next(answers) if posted.kernel else ({}, "")
        members = {name: value for name, value in asdict(posted).items() if name != "ptx"}
        yield Outcome(
            **members,
            way=answer.get("way", ""),
            direct_error="" if ptx else next(iter(answer.get("errors", [])), ""),
            is_direct=bool(ptx),
            is_equal=bool(ptx) and posted.ptx == ptx,
        )


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(command, cwd=ROOT, text=True, check=True, stdout=-1).stdout.strip()


if __name__ == "__main__":
    main()
