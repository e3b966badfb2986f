"""Both distributions contain all of their files, and no others."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from adapters.mcp.resources import PAGES

ROOT = Path(__file__).parents[2]
ADDED = {"PKG-INFO"}
"""Added by the build of an sdist."""


def tracked(folder: Path) -> set[str]:
    """Return the files of git below `folder`, relative to it."""
    command = ["git", "ls-files", "-z"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return {name for name in done.stdout.split("\0") if name and (folder / name).exists()}


def built_page() -> set[str]:
    """Return the page files that `make page` made in the checkout, which git ignores."""
    folder = ROOT / "service/page/built"
    return {f"service/page/built/{file.name}" for file in folder.iterdir()}


def generated_client() -> set[str]:
    """Return the files of the blocking client, which a build writes and git ignores."""
    files = (ROOT / "client/tritonc/_async").glob("*.py")
    return {f"tritonc/_sync/{file.name}" for file in files}


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

    of_git = {name for name in tracked(ROOT) if name.startswith(packages)}
    pages = {f"adapters/mcp/pages/{path}" for path, _ in PAGES.values()}
    assert in_wheel(built, "tritond") == of_git | built_page() | pages


def test_the_page_is_scripts_styles_and_its_preview(built: Path):
    names = built_page() & in_wheel(built, "tritond")

    assert "service/page/built/index.html" in names
    assert {name.rpartition(".")[2] for name in names} == {"css", "html", "js", "png"}


def test_the_wheel_of_the_client_is_its_package_and_its_command(built: Path):
    package = {name for name in tracked(ROOT / "client") if name.startswith("tritonc/")}

    modules = {"tritonc_command.py", "tritonc_version.py"}
    assert in_wheel(built, "tritonc") == package | generated_client() | modules


@pytest.mark.parametrize(("name", "folder"), [("tritond", ROOT), ("tritonc", ROOT / "client")])
def test_an_sdist_is_the_checkout(built: Path, name: str, folder: Path):
    of_git = {".gitignore"}  # hatchling includes the .gitignore that it obeys, from any folder

    made_by_build = built_page() if folder == ROOT else generated_client()
    assert in_sdist(built, name) - ADDED - of_git == (tracked(folder) | made_by_build) - of_git
