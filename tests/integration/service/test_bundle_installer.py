"""The `install.py` of a bundle warns of differences that make Triton miss the kernels in it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from service.compilations.bundle import INSTALL

HERE = ".".join(map(str, sys.version_info[:2]))
SET = """import os
def get_cache_invalidating_env_vars():
    names = ("TRITON_DEFAULT_FP_FUSION", "DISABLE_LLVM_OPT")
    return {name: "true" for name in names if os.environ.get(name)}
"""
EXPORT = "same wheel: also for the same minor version of Python ({python} here)"


def warnings(
    folder: Path, triton: str | None = "3.9.0", python: str = HERE, **environment: str
) -> list[str]:
    """Install a bundle for Triton 3.9.0 and `python` under `triton`; return the warnings."""
    (folder / "triton-cache").mkdir()
    (folder / "install.py").write_text(INSTALL)
    (folder / "bundle.json").write_text(json.dumps({"entries": [{"triton": "3.9.0"}]}))
    program = f"{EXPORT.format(python=python)!r}\n".encode()
    with tarfile.open(folder / "triton-cache" / "one.tar", "w") as archive:
        entry = tarfile.TarInfo("install.py")
        entry.size = len(program)
        archive.addfile(entry, io.BytesIO(program))
    core = folder / "path" / "triton" / "_C"
    core.mkdir(parents=True)
    if triton is None:
        (core.parent / "__init__.py").write_text("raise ImportError('no Triton here')\n")
    else:
        (core.parent / "__init__.py").write_text(f"__version__ = {triton!r}\n")
    (core / "libtriton.py").write_text(SET)
    ran = subprocess.run(
        [sys.executable, folder / "install.py"],
        env={"PYTHONPATH": str(folder / "path"), "HOME": str(folder), **environment},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    begin = "warning: Triton will compile again: "
    assert all(line.startswith(begin) for line in ran.stderr.splitlines()), ran.stderr
    return [line.removeprefix(begin) for line in ran.stderr.splitlines()]


def test_nothing_is_warned_of_where_all_is_equal(tmp_path: Path) -> None:
    assert warnings(tmp_path) == []


@pytest.mark.parametrize("name", ["TRITON_DEFAULT_FP_FUSION", "DISABLE_LLVM_OPT"])
def test_a_variable_of_tritons_key_is_named(tmp_path: Path, name: str) -> None:
    [warning] = warnings(tmp_path, **{name: "1"})

    assert warning == f"{name} is set, and was not for these kernels: unset it for the job"


def test_another_ptxas_is_named(tmp_path: Path) -> None:
    [warning] = warnings(tmp_path, TRITON_PTXAS_PATH="/opt/ptxas")

    assert warning.startswith("TRITON_PTXAS_PATH is set")


def test_another_triton_and_python_are_named(tmp_path: Path) -> None:
    assert warnings(tmp_path, triton="3.6.0", python="2.7") == [
        f"the kernels are for Python 2.7, and this is Python {HERE}",
        "the kernels are for Triton 3.9.0, and this is 3.6.0",
    ]


def test_a_python_without_triton_is_told_so(tmp_path: Path) -> None:
    assert warnings(tmp_path, triton=None) == [
        "the Triton of this Python cannot be compared with 3.9.0: no Triton here"
    ]


@pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("--dry-run", 2)])
def test_an_argument_installs_nothing(tmp_path: Path, argument: str, code: int) -> None:
    (tmp_path / "autotune-cache" / "one").mkdir(parents=True)
    (tmp_path / "autotune-cache" / "one" / "k.autotune.json").write_text("{}")
    (tmp_path / "install.py").write_text(INSTALL)
    (tmp_path / "bundle.json").write_text(json.dumps({"entries": []}))

    ran = subprocess.run(
        [sys.executable, tmp_path / "install.py", argument],
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == code
    assert "usage: install.py" in ran.stdout + ran.stderr
    assert not (tmp_path / ".triton").exists()


def test_an_export_writes_its_python_as_the_installer_reads_it() -> None:
    root = Path(__file__).parents[3]
    assert EXPORT in (root / "compiler/back/triton_cache.py").read_text()
