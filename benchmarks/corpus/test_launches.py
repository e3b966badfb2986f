"""Launches in a package's own tests, recorded without a GPU by `launch_recorder.py`.

Tests come with a wheel or with a source distribution of the same release. Only test files of a
drawn kernel's module, or of one that imports it, are run.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus.kernels import Kernel
from corpus.packages import Package

Launch = dict[str, Any]
_IMPORTED = re.compile(r"\b(\w+) import")
MAX_FILES = 4
"""Test files of one kernel's modules."""
_COMMON = {"__init__", "utils", "ops", "common", "config", "kernels", "kernel", "model", "base"}
"""Names of modules that say nothing."""


def recorded(
    package: Package, root: Path, kernels: list[Kernel], cache: Path, *, record: bool
) -> dict[tuple[str, str], list[Launch]]:
    """Return the launches of the package's tests by file and kernel, none where it has no tests.

    Without `record` only those of earlier calls.
    """
    out = cache / "launches" / f"{package.name}.jsonl"
    if package.tests and record:
        out.parent.mkdir(parents=True, exist_ok=True)
        _record(package, root, kernels, cache, out)
    launches = defaultdict[tuple[str, str], list[Launch]](list)
    for line in out.read_text().splitlines() if out.exists() else ():
        launch = json.loads(line)
        launches[launch["file"], launch["name"]].append(launch)
    return launches


def _record(package: Package, root: Path, kernels: list[Kernel], cache: Path, out: Path) -> None:
    ended = out.with_suffix(".ended")
    before = set(ended.read_text().splitlines()) if ended.exists() else set()
    tests = [test for test in _test_files(package, root, kernels, cache) if str(test) not in before]
    if not tests:
        return
    command = [cache / "venv/bin/python", Path(__file__).with_name("launch_recorder.py")]
    with ended.open("a") as done, out.with_suffix(".log").open("a") as log:
        process = subprocess.Popen(
            [*command, root, out, *tests], stdout=subprocess.PIPE, stderr=log, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert process.stdout
        for line in process.stdout:
            log.write(line)
            if line.startswith("ended: "):
                done.write(line.removeprefix("ended: "))
                done.flush()
        process.wait()


def _test_files(package: Package, root: Path, kernels: list[Kernel], cache: Path) -> list[Path]:
    """Return the test files whose name has a module's, or that import a module without such a file.

    The modules are those of the kernels, and those that import them.
    """
    folder = _tests(package, root, cache)
    tests = [
        path
        for path in sorted(folder.rglob("*.py"))
        if path.stem.startswith("test_") or path.stem.endswith("_test")
    ]
    texts = {path: path.read_text(errors="replace") for path in tests}
    files: dict[Path, None] = {}
    for stems in _modules(root, package, kernels):
        named = [path for path in tests if any(stem in path.stem for stem in stems)]
        names = "|".join(map(re.escape, stems))
        pattern = re.compile(rf"import.*\b({names})\b|\b({names}) import")
        importing = [path for path, text in texts.items() if pattern.search(text)]
        files |= dict.fromkeys((named or importing)[:MAX_FILES])
    return list(files)


def _modules(root: Path, package: Package, kernels: list[Kernel]) -> Iterator[list[str]]:
    """Yield for each kernel the telling names among its module and those that import it."""
    imported_by: dict[str, set[str]] = {}
    for folder in {Path(folder).parts[0] for folder in package.folders}:
        for path in (root / folder).rglob("*.py"):
            for module in set(_IMPORTED.findall(path.read_text(errors="replace"))):
                imported_by.setdefault(module, set()).add(path.stem)
    for kernel in kernels:
        stem = Path(kernel.file).stem
        importers = set() if stem in _COMMON else imported_by.get(stem, set())
        if stems := {*importers, stem} - _COMMON:
            yield sorted(stems)


def _tests(package: Package, root: Path, cache: Path) -> Path:
    """Return the folder of a package's tests, downloading its source the first time."""
    origin, _, folder = package.tests.partition(":")
    if origin == "wheel":
        return root / folder
    source = cache / "sdists" / package.name
    if not source.exists():
        source.mkdir(parents=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-clean"]
        command += ["--no-binary", ":all:", "--no-build-isolation", "--dest", str(source)]
        # pip builds metadata, which may need a GPU's tools; it leaves what it unpacked before
        subprocess.run(
            [*command, f"{package.name}=={package.version}"],
            check=False, env=os.environ | {"TMPDIR": str(source)},
        )  # fmt: skip
        for archive in source.glob("*.tar.gz"):
            with tarfile.open(archive) as opened:
                opened.extractall(source, filter="data")
    folders = sorted(path for path in source.rglob(folder) if path.is_dir())
    return min(folders, key=lambda path: len(path.parts))
