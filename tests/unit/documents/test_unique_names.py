"""Module and class names are unique, except for listed pairs that are one noun.

The client, a separate distribution, shares nouns with the server. So do the two sides of a trust
boundary, the store and the routes of one resource, and the two forms of a kernel in NumPy.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import pytest

from tests.conftest import TESTS

ROOT = TESTS.parent
PACKAGES = (
    "compiler launch jobs sweeps programs proofs store worker service adapters "
    "client/tritonc".split()
)
BOUNDARIES = [
    ("compiler/messages", "worker"),  # a child writes a report, the worker reads it
    ("launch/messages", "worker"),
    ("worker/gpu/launcher", "worker/gpu/supervisor"),
    ("worker/gpu/tools", "worker/gpu/supervisor"),
    ("store", "service/routes"),  # one resource
    ("compiler/ttir_to_numpy", "compiler/ttir_to_numpy/batched"),  # two forms of a kernel
    ("compiler/ttir_to_numpy", "launch/cpu"),  # what the forms call, and where they run
    ("compiler/front/stubs/numpy_stub", "compiler/front/stubs/torch_stub"),
]
CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.MULTILINE)
ROLES = {"__init__", "__main__", "feature", "settings", "composition", "routes"}
"""Modules with a fixed role, in each package that has it."""
PAIRS = {
    "comparison": "compares in a child, and drives that child from a worker",
    "reference": "computes in a child, and drives that child from a worker",
    "submission": "of any job, and the policy of compilations",
    "consumer": "the store's side of the job protocol, and the worker's loop",
}


def definitions() -> Iterator[tuple[str, str]]:
    """Yield the name and file of each module and public class."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            file = path.relative_to(ROOT).with_suffix("").as_posix()
            if "/_sync/" in file:  # generated from `_async`
                continue
            if path.stem not in ROLES:
                yield path.stem, file
            for name in CLASS.findall(path.read_text()):
                yield name, file


def is_one_noun(first: str, second: str) -> bool:
    if first.startswith("client/") != second.startswith("client/"):
        return True
    pairs = [*BOUNDARIES, *((b, a) for a, b in BOUNDARIES)]
    return any(_in(first, one) and _in(second, other) for one, other in pairs)


def _in(file: str, folder: str) -> bool:
    return f"{file}/".startswith(f"{folder}/")


@cache
def shared() -> dict[str, list[str]]:
    """Return names that several files define and no rule above allows."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for name, file in definitions():
        files[name].append(file)
    return {
        name: found
        for name, found in files.items()
        if any(not is_one_noun(a, b) for a in found for b in found if a < b)
    }


def test_a_name_stands_for_one_thing() -> None:
    assert {name: files for name, files in shared().items() if name not in PAIRS} == {}


@pytest.mark.parametrize("name", PAIRS)
def test_a_listed_pair_is_there(name: str) -> None:
    assert name in shared(), f"{name} is one thing now: take it off the list"


def test_two_things_of_one_name_are_found() -> None:
    assert not is_one_noun("launch/checks/roofline", "worker/gpu/launcher/timing")
    assert is_one_noun("compiler/compilation", "client/tritonc/compilation")
