"""`.ci/run` runs every suite of the Makefile, skips with a reason, and hides no failure."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import TESTS

ROOT = TESTS.parent
TOGETHER = {"test-features", "test-slow", "test-all"}
"""Targets that run others, which `.ci/run` runs itself."""
IN_TEST = {f"test-{name}" for name in ("unit", "compiler", "launches", "service", "worker")}
"""Suites that `make test` runs, which `.ci/run` calls as a whole."""
MAKEFILE = """
one: environment ; @echo one passes
two: environment other ; @echo two is wrong; exit 1
three: broken ; @echo three passes
four: ; @echo four passes, share $(TRITOND_TEST_SHARE)
five: ; @echo five leaves out $(ELSEWHERE).
environment: ; @echo is built; touch $@
other: environment ; @test -e environment && touch $@
broken: ; @exit 1
help: ; @true
.PHONY: one two three four five
"""


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("ci_suites", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def suites(tmp_path: Path) -> ModuleType:
    """Return the runner in a folder with a small Makefile."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return load(Path(shutil.copy(ROOT / ".ci/suites.py", tmp_path / ".ci")))


def test_every_suite_of_the_makefile_is_in_the_table() -> None:
    suites = load(ROOT / ".ci/suites.py")
    targets = {name for name in suites.rules() if re.match(r"(test|slow)-|golden$|lint$", name)}
    assert len(targets) > 25
    listed = {suite.target for suite in suites.SUITES}
    assert targets - TOGETHER - IN_TEST == listed - {"test", "docs", "dist"}


def test_a_failure_hides_no_other_suite(
    suites: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    suites.SUITES = tuple(suites.Suite(name) for name in ("one", "two", "three", "four"))
    with pytest.raises(SystemExit, match="failed: broken three two"):
        suites.main([])
    printed = capsys.readouterr().out
    assert "one passes" in printed
    assert "two is wrong" in printed
    assert "four passes" in printed
    assert "three passes" not in printed
    assert "make three: not run, since broken failed" in printed
    assert printed.count("is built") == 1, "an environment is built once, before what needs it"


def test_a_suite_that_cannot_run_is_skipped_with_its_reason(
    suites: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = suites.command("no-such-command", package="no-such-package")
    suites.SUITES = (suites.Suite("one", (absent,)), suites.Suite("four"))
    suites.main([])
    line = (
        "make one: not run: no no-such-command is installed here (apt-get install no-such-package)"
    )
    printed = capsys.readouterr().out.splitlines()
    assert printed[1:3] == ["==== skipped", line]
    assert line in printed[printed.index("==== summary") :]
    assert "one passes" not in printed


@pytest.mark.parametrize(("arguments", "share"), [([], r"\d/3"), (["--all"], "0/1")])
def test_all_cases_of_a_shared_suite_run_on_demand(
    suites: ModuleType, capsys: pytest.CaptureFixture[str], arguments: list[str], share: str
) -> None:
    suites.SUITES = (suites.Suite("four", shared="cases"),)
    suites.main(arguments)
    assert re.search(f"four passes, share {share} cases$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(("is_here", "left_out"), [(True, "tests/slow/export"), (False, "")])
def test_a_folder_of_two_suites_runs_once(
    suites: ModuleType, capsys: pytest.CaptureFixture[str], is_here: bool, left_out: str
) -> None:
    compilers = suites.Need("no compilers", "install some", lambda: is_here)
    exports = suites.Suite("one", (compilers,), folders_of_slow=("tests/slow/export",))
    suites.SUITES = (suites.Suite("five"), exports)
    suites.main([])
    assert f"five leaves out {left_out}." in capsys.readouterr().out


def test_folders_that_run_elsewhere_are_run_there_and_left_out_here() -> None:
    suites = load(ROOT / ".ci/suites.py")
    for suite in suites.SUITES:
        if suite.folders_of_slow:
            (folder,) = suite.folders_of_slow
            assert f" {folder}" in recipe(suite.target)
            assert f"--ignore={folder} " in recipe("slow-others", f"ELSEWHERE={folder}")


def recipe(*arguments: str) -> str:
    """Return what make would run."""
    command = ["make", "--no-print-directory", "--dry-run", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_the_command_of_ci_runs_the_table() -> None:
    script = (ROOT / ".ci/run").read_text()
    assert 'python3 .ci/suites.py "$@"' in script
    helped = subprocess.run(
        [ROOT / ".ci/run", "--list"], check=True, capture_output=True, text=True
    )
    assert "make test\n" in helped.stdout
