"""Lists of our packages are complete."""

import tomllib
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
