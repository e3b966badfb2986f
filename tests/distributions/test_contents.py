"""Both distributions hold all that belongs to them, and nothing that lies about beside it."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
ADDED = {"PKG-INFO"}
"""By whoever builds an sdist."""


def tracked(folder: Path) -> set[str]:
    """Return the files of git below `folder`, relative to it."""
    command = ["git", "ls-files", "-z"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return {name for name in done.stdout.split("\0") if name and (folder / name).exists()}


def in_wheel(built: Path, name: str) -> set[str]:
    [wheel] = built.glob(f"{name}-*.whl")
    names = ZipFile(wheel).namelist()
    return {one for one in names if ".dist-info/" not in one}


def in_sdist(built: Path, name: str) -> set[str]:
    [archive] = built.glob(f"{name}-*.tar.gz")
    with tarfile.open(archive) as sdist:
        return {one.name.partition("/")[2] for one in sdist.getmembers() if one.isfile()}


def test_the_wheel_of_the_server_is_its_packages(built: Path):
    packages = tuple(f"{path.parent.name}/" for path in ROOT.glob("*/__init__.py"))

    assert in_wheel(built, "tritond") == {n for n in tracked(ROOT) if n.startswith(packages)}


def test_the_wheel_of_the_client_is_its_package(built: Path):
    files = tracked(ROOT / "client")

    assert in_wheel(built, "tritonc") == {name for name in files if name.startswith("tritonc/")}


@pytest.mark.parametrize(("name", "folder"), [("tritond", ROOT), ("tritonc", ROOT / "client")])
def test_an_sdist_is_the_checkout(built: Path, name: str, folder: Path):
    of_git = {".gitignore"}  # hatchling takes the one that it obeys along, from wherever it lies

    assert in_sdist(built, name) - ADDED - of_git == tracked(folder) - of_git
