"""What is installed is pinned once, and each package has its reason in the documents."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIRED = [*PROJECT["dependencies"], *(one for extra in EXTRAS.values() for one in extra)]
LOCKED = (ROOT / "requirements.lock").read_text().split()
REASONS = (ROOT / "docs/dependencies.md").read_text()


def normal(requirement: str) -> str:
    return re.sub("[-_.]+", "-", requirement.partition("[")[0]).lower()


def test_gpus_are_driven_through_cuda_python():
    assert [one.partition("==")[0] for one in EXTRAS["gpu"]] == ["cuda-python"]


@pytest.mark.parametrize("requirement", REQUIRED)
def test_the_lock_has_the_version_that_the_project_asks_for(requirement):
    name, _, version = requirement.partition("==")
    locked = dict(one.split("==") for one in LOCKED)
    assert {normal(key): value for key, value in locked.items()}[normal(name)] == version


def test_what_cuda_python_brings_is_locked_too():
    names = {normal(one.partition("==")[0]) for one in LOCKED}
    assert {"cuda-bindings", "cuda-core", "cuda-pathfinder"} <= names


@pytest.mark.parametrize("requirement", REQUIRED)
def test_each_package_has_its_reason(requirement):
    name = requirement.partition("==")[0].partition("[")[0]
    assert f"`{name}`" in REASONS
