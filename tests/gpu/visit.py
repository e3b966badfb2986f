"""Runs everything that needs a GPU in one short visit to a GPU machine.

`python tests/gpu/visit.py` with the cubins of make_cubins.py, or `... visit.py
tests/gpu/test_checks.py` for a part. Test files run concurrently; those that measure run alone and
last. A failure stops nothing. Needs pytest and a worker's packages.
"""
# ruff: noqa: T201 - a script that reports

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "gpu"
LOG = Path(os.environ.get("OUT", tempfile.gettempdir())) / "visit.log"
ALONE = {"test_timing.py"}
BENCHMARKS = (
    "benchmarks/gpu/launch.py",
    "benchmarks/gpu/launch_service.py",
    "tests/gpu/puzzles.py",
)
FILE_S, BENCHMARK_S = 300, 120
PARALLEL = 3
SHOWN_LINES = 8


def main() -> None:
    started = time.monotonic()
    print(ended(["nvidia-smi", "-L"], 20), sys.version.split()[0], flush=True)
    files = [Path(name).resolve() for name in sys.argv[1:]] or sorted(FOLDER.glob("test_*.py"))
    with ThreadPoolExecutor(PARALLEL) as pool:
        lines = list(pool.map(tested, [file for file in files if file.name not in ALONE]))
    lines += [tested(file) for file in files if file.name in ALONE]
    print("\n".join(lines), f"\n{time.monotonic() - started:.0f} s for the tests", flush=True)
    for benchmark in BENCHMARKS if len(sys.argv) == 1 else ():
        print(f"\n{benchmark}\n{ended([sys.executable, benchmark], BENCHMARK_S)}", flush=True)


def ended(command: list[str], limit_s: float) -> str:
    """Return the output of a program, or its error."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        said = error.stdout or b""
        return f"{said.decode() if isinstance(said, bytes) else said}\nstopped after {limit_s:g} s"
    except OSError as error:
        return str(error)
    tail = f"\nexit status {done.returncode}: {done.stderr[-1500:]}" if done.returncode else ""
    return done.stdout.strip() + tail


def tested(file: Path) -> str:
    """Run the tests of one file in a process; return its line, figures and failures."""
    with tempfile.TemporaryDirectory() as folder:
        xml = Path(folder) / "junit.xml"
        said = ended(
            [
                *(sys.executable, "-m", "pytest", "-q", "--require-gpu", "--tb=short"),
                *("-p", "no:cacheprovider", "-o", "junit_family=xunit1", "-o", "addopts="),
                *("--junitxml", str(xml), str(file)),
            ],
            FILE_S,
        )
        with LOG.open("a") as log:
            log.write(f"== {file.name}\n{said}\n")
        words = next((line for line in reversed(said.splitlines()) if " in " in line), said)
        return "\n".join([f"== {file.name}: {words[:200]}", *reported(xml)])


def reported(xml: Path) -> Iterator[str]:
    """Yield the figures of every test, and the first lines of every failure."""
    for case in ET.parse(xml).iter("testcase") if xml.exists() else ():
        name, seconds = case.get("name", "")[:64], float(case.get("time") or 0)
        for figure in (one for one in case.iter("property") if one.get("name") == "figure"):
            yield f"   {name} {seconds:.1f} s: {figure.get('value', '')[:240]}"
        for bad in (child for child in case if child.tag in {"failure", "error", "skipped"}):
            lines = [line for line in (bad.text or "").splitlines() if line.startswith("E ")]
            yield f"!! {bad.tag} {name}\n" + "\n".join((lines or [bad.text or ""])[:SHOWN_LINES])


if __name__ == "__main__":
    main()
