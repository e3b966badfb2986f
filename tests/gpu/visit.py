"""Runs everything that needs a GPU in one go, for a machine that is there for a few minutes only.

`python3 tests/gpu/visit.py` on the GPU machine, with the cubins of make_cubins.py beside it. Every
test runs in a process of its own with a time limit; nothing stops at a failure; a table and the
failures come last. Needs pytest, numpy, ml_dtypes and cuda-bindings.
"""
# ruff: noqa: T201 - a script that reports

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[2]
SERIAL = ("test_timing.py",)
TEST_S, BENCHMARK_S, WHOLE_S = 60, 75, 225
PARALLEL = 6
SHOWN_CHARS, SHOWN_LINES = 4000, 6
LOG = Path(os.environ.get("OUT", tempfile.gettempdir())) / "visit.log"
ENDED = time.monotonic() + WHOLE_S


@dataclass
class Checked:
    """One line of the table, and the text of a failure."""

    name: str
    state: str
    seconds: float
    figure: str = ""
    words: str = ""
    reasons: str = ""


def main() -> None:
    print(outside(["nvidia-smi", "-L"]), sys.version.split()[0], flush=True)
    names, words = collect()
    if not names:
        print("no tests were found:", words)
    first, rest = names[:1], names[1:]
    serial = [name for name in rest if any(part in name for part in SERIAL)]
    checked = [check(name) for name in first]
    with ThreadPoolExecutor(PARALLEL) as pool:
        checked += pool.map(check, [name for name in rest if name not in serial])
    checked += [check(name) for name in serial]
    benchmark = outside([sys.executable, "benchmarks/launch.py"], BENCHMARK_S)
    report(checked, benchmark)


def outside(command: list[str], limit_s: float = 60) -> str:
    """Return what a program prints, or why it did not."""
    limit_s = max(5.0, min(limit_s, ENDED - time.monotonic()))
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


def pytest_command(*arguments: str) -> list[str]:
    return [
        *(sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(ROOT), "-q"),
        *("-p", "no:cacheprovider", "-p", "no:warnings", "--require-gpu", *arguments),
    ]


def collect() -> tuple[list[str], str]:
    said = outside(pytest_command("--collect-only", "tests/gpu"))
    found = [line.strip() for line in said.splitlines() if "::" in line and " " not in line]
    found = [name if name.startswith("tests/") else f"tests/gpu/{name}" for name in found]
    first = [name for name in found if "vector_add_is_right" in name]
    return first + [name for name in found if name not in first], said


def check(name: str) -> Checked:
    """Run one test in its own process."""
    short = name.removeprefix("tests/gpu/test_").replace(".py::test_", ": ")
    left_s = ENDED - time.monotonic()
    if left_s < 5:
        return Checked(short, "not run", 0.0)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        xml = Path(folder) / "junit.xml"
        command = pytest_command("--tb=short", f"--junitxml={xml}", name)
        words = outside(command, min(TEST_S, left_s))
        seconds = time.monotonic() - started
        state, figure, reasons = read(xml)
    if state != "ok":
        print(f"{state}: {short}", flush=True)
    return Checked(short, state, seconds, figure, words, reasons or words[-600:])


def read(xml: Path) -> tuple[str, str, str]:
    """Return the state, the figures and the reasons of the one test in a report."""
    case = ET.parse(xml).find(".//testcase") if xml.exists() else None
    if case is None:
        return "CRASHED", "", ""
    bad = [child for child in case if child.tag in {"failure", "error", "skipped"}]
    figures = [one.get("value", "") for one in case.iter("property") if one.get("name") == "figure"]
    lines = [line for child in bad for line in (child.text or "").splitlines()]
    said = [line[:300] for line in lines if line.startswith(("E ", "tests/gpu"))]
    reasons = "\n".join((said or lines)[:SHOWN_LINES])
    return ("FAILED" if bad else "ok"), "; ".join(figures), reasons


def report(checked: list[Checked], benchmark: str) -> None:
    failed = [one for one in checked if one.state != "ok"]
    LOG.write_text(
        "\n\n".join(f"== {one.name} {one.state}\n{one.figure}\n{one.words}" for one in checked)
        + f"\n\n{benchmark}\n"
    )
    for one in checked:
        print(f"{one.state:7}{one.seconds:5.1f} s {one.name[:58]} {one.figure[:200]}")
    print(f"\n{benchmark}\n")
    shown = "\n".join(f"== {one.name}\n{one.reasons}" for one in failed)
    print(shown[:SHOWN_CHARS])
    print(f"{len(checked) - len(failed)} ok, {len(failed)} not; everything is in {LOG}")


if __name__ == "__main__":
    main()
