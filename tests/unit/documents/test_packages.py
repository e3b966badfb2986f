"""Lists of our packages are complete, and no two test files have the same name."""

import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))


def test_the_wheel_holds_every_package():
    assert sorted(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == PACKAGES


def test_the_images_are_built_from_every_package():
    sent = (ROOT / ".dockerignore").read_text().splitlines()

    assert {f"!{package}" for package in PACKAGES} <= set(sent)


def test_types_and_imports_of_every_package_are_checked():
    checked = {"tritonc", *PACKAGES}

    assert set(PROJECT["tool"]["mypy"]["packages"]) == checked
    assert set(PROJECT["tool"]["importlinter"]["root_packages"]) == checked


def test_no_two_files_of_tests_have_one_name():
    # pytest imports test files by base name, so two of one name in a run are an error.
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))

    assert [name for name, count in names.items() if count > 1] == []
