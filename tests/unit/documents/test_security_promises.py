"""Each promise in SECURITY.md links a test, and that test exists."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROMISES = "## What tritond promises\n"
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def promises(text: str) -> dict[str, list[str]]:
    """Return the rows and items of each section of promises."""
    found: dict[str, list[str]] = {}
    section = ""
    for line in text.partition(PROMISES)[2].splitlines():
        if line.startswith("## "):
            break
        if line.startswith("### "):
            section = line.removeprefix("### ")
            found[section] = []
        elif line.startswith(("| ", "- ")) and line != "| promise | test |":
            found[section].append(line)
        elif line.startswith("  ") and found.get(section):
            found[section][-1] += line
    return found


def faults(promise: str) -> list[str]:
    """Return the broken links of one promise."""
    links = LINK.findall(promise)
    wrong = [] if links else ["no link to a test"]
    for name, path in links:
        if not (ROOT / path).is_file():
            wrong.append(f"{path} is not there")
        elif name.startswith("test_") and name not in names_in(ROOT / path):
            wrong.append(f"{path} has no {name}")
    return wrong


@cache
def names_in(path: Path) -> set[str]:
    return set(re.findall(r"^ *(?:async )?def (test_\w+)\(", path.read_text(), re.MULTILINE))


SECTIONS = promises((ROOT / "SECURITY.md").read_text())


def test_there_are_promises_in_every_section():
    assert len(SECTIONS) > 10
    assert [section for section, found in SECTIONS.items() if not found] == []


@pytest.mark.parametrize("section", SECTIONS)
def test_every_promise_has_its_test(section: str):
    wrong = {promise[:80]: faults(promise) for promise in SECTIONS[section]}

    assert {promise: found for promise, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    ("promise", "wrong"),
    [
        ("| A is so. | believe it |", ["no link to a test"]),
        ("- B. [test_b](tests/test_b.py)", ["tests/test_b.py is not there"]),
        ("| C. | [test_c](tests/conftest.py) |", ["tests/conftest.py has no test_c"]),
        ("| D. | [contracts](pyproject.toml) |", []),
    ],
)
def test_a_promise_without_its_test_is_found(promise: str, wrong: list[str]):
    [[found]] = promises(f"{PROMISES}### One\n\n{promise}\n\n## Other\n- no promise\n").values()

    assert faults(found) == wrong
