"""Locks contain what pyproject.toml requires, so an installation without network finds it."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCKS = Path(__file__).parents[3] / "requirements"
REQUIRED: dict[str, list[str]] = run_path(str(LOCKS / "lock.py"))["required"]()


@pytest.mark.parametrize("lock", REQUIRED)
def test_a_lock_contains_each_requirement_of_its_set(lock: str) -> None:
    text = (LOCKS / f"{lock}.txt").read_text()
    locked = dict(re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==([\w.+!-]+)", text, re.MULTILINE))

    for requirement in map(Requirement, REQUIRED[lock]):
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)])
