"""A file's dotted name follows from the folders around it, in each layout that projects have."""

from __future__ import annotations

from pathlib import Path

import pytest
from tritonc.packages.module_place import place_of


def made(folder: Path, *files: str) -> None:
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


LAYOUTS = {
    "a file alone": (["add.py"], "add.py", "add"),
    "a package": (["pkg/__init__.py", "pkg/ops/__init__.py"], "pkg/ops/add.py", "pkg.ops.add"),
    "the file of a package itself": (["pkg/__init__.py"], "pkg/__init__.py", "pkg.__init__"),
    "a folder without init inside a package": (
        ["pkg/__init__.py"], "pkg/kernels/deep/add.py", "pkg.kernels.deep.add",
    ),
    "a project without any init": (["pyproject.toml"], "pkg/ops/add.py", "pkg.ops.add"),
    "a project of setup.py": (["setup.py"], "pkg/ops/add.py", "pkg.ops.add"),
    "a checkout": ([".git/config"], "pkg/add.py", "pkg.add"),
    "a package below a project's folder": (
        ["pyproject.toml", "python/pkg/__init__.py"], "python/pkg/add.py", "pkg.add",
    ),
    "src": (["pyproject.toml", "src/pkg/__init__.py"], "src/pkg/add.py", "pkg.add"),
    "a namespace package in src": (
        ["pyproject.toml", "src/company/pkg/__init__.py"],
        "src/company/pkg/add.py",
        "company.pkg.add",
    ),
    "the nearest project": (
        ["pyproject.toml", "sub/pyproject.toml", "__init__.py"], "sub/pkg/add.py", "pkg.add",
    ),
    "site-packages": (
        ["pyproject.toml", "lib/site-packages/pkg/__init__.py"],
        "lib/site-packages/pkg/ops/add.py",
        "pkg.ops.add",
    ),
    "a namespace package in site-packages": (
        [], "lib/site-packages/company/pkg/add.py", "company.pkg.add",
    ),
    "a folder that no import can name": (
        ["pyproject.toml"], "third-party/kernels/add.py", "kernels.add",
    ),
    "a file that no import can name": (["pkg/__init__.py"], "pkg/my-kernel.py", "pkg.user"),
    "such a file alone": ([], "my-kernel.py", "user"),
    "a file called like a module of Python": ([], "random.py", "user"),
    "a folder called like a module of Python": (["pyproject.toml"], "json/unit/add.py", "unit.add"),
    "Triton's own tree": (["triton/__init__.py"], "triton/ops/add.py", "ops.add"),
    "the file of a package that no import can name": ([], "my-pkg/__init__.py", "user"),
}  # fmt: skip


@pytest.mark.parametrize(("files", "path", "name"), LAYOUTS.values(), ids=LAYOUTS)
def test_the_name_of_a_file(tmp_path: Path, files: list[str], path: str, name: str) -> None:
    made(tmp_path, *files, path)

    assert place_of(tmp_path / path, "").name == name


def test_relative_imports_need_packages_above_the_file(tmp_path: Path) -> None:
    made(tmp_path, "my-project/kernels/add.py")
    path = tmp_path / "my-project" / "kernels" / "add.py"

    place = place_of(path, "from .helpers import relu\nfrom ..sizes import N\n")

    assert place.name == "my_project.kernels.add"
    assert place.folder_of(1) == tmp_path / "my-project"
    assert place_of(path, "import triton\n").name == "add"


def test_a_name_that_no_request_can_have_is_that_of_the_file_alone(tmp_path: Path) -> None:
    deep = "/".join(["folder"] * 40)
    made(tmp_path, "pyproject.toml", f"{deep}/add.py")

    assert place_of(tmp_path / deep / "add.py", "").name == "add"


def test_the_python_files_of_the_outermost_package_are_counted(tmp_path: Path) -> None:
    made(tmp_path, "pkg/__init__.py", "pkg/a/b.py", "pkg/a/c.txt", "pkg/.hidden/d.py", "other.py")
    (tmp_path / "pkg" / "circle").symlink_to(tmp_path / "pkg")

    assert place_of(tmp_path / "pkg" / "a" / "b.py", "").python_files() == 2
    assert place_of(tmp_path / "other.py", "").python_files() == 0
