"""Every test belongs to a suite of `make test`, or to another target of the Makefile."""

import re

from tests.conftest import TESTS

MAKEFILE = (TESTS.parent / "Makefile").read_text()
FOLDERS = re.findall(r"(?m)^FOLDERS_\w+ := (.+)$", MAKEFILE)


def test_every_suite_has_folders() -> None:
    [suites] = re.findall(r"(?m)^SUITES := (.+)$", MAKEFILE)

    assert sorted(re.findall(r"(?m)^FOLDERS_(\w+)", MAKEFILE)) == sorted(suites.split())


def test_every_test_is_run_by_one_target() -> None:
    in_suites = " ".join(FOLDERS).split()
    elsewhere = set(re.findall(r"tests/\w+", re.sub(r"(?m)^FOLDERS_.*$", "", MAKEFILE)))
    files = sorted(f"tests/{path.relative_to(TESTS)}" for path in TESTS.rglob("test_*.py"))
    suites = {file: [each for each in in_suites if file.startswith(f"{each}/")] for file in files}

    assert [file for file, found in suites.items() if len(found) > 1] == []
    assert [
        file
        for file, found in suites.items()
        if not found and not file.startswith(tuple(f"{folder}/" for folder in elsewhere))
    ] == []
