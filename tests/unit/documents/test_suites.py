"""Every test belongs to a suite of `make test` or to another target of the Makefile."""

import re

from tests.conftest import TESTS

MAKEFILE = (TESTS.parent / "Makefile").read_text()
FOLDERS = re.findall(r"(?m)^FOLDERS_\w+ := (.+)$", MAKEFILE)


def test_every_suite_has_folders() -> None:
    suites = " ".join(re.findall(r"(?m)^(?:SUITES|FEATURES) := (.+)$", MAKEFILE)).split()

    assert sorted(re.findall(r"(?m)^FOLDERS_(\w+)", MAKEFILE)) == sorted(suites)


def test_every_test_is_run_by_one_target() -> None:
    in_suites = " ".join(FOLDERS).split()
    assert len(in_suites) == len(set(in_suites))
    elsewhere = set(re.findall(r"tests/[\w/]+\b", re.sub(r"(?m)^FOLDERS_.*$", "", MAKEFILE)))
    files = sorted(f"tests/{path.relative_to(TESTS)}" for path in TESTS.rglob("test_*.py"))
    run = tuple(f"{folder}/" for folder in (*in_suites, *elsewhere))

    assert [file for file in files if not file.startswith(run)] == []
