"""The guide on stages is right: its edits, made in a copy of the tree, add a derived text."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.service import bodies
from tests.integration.service.running import ROOT, Deployment

GUIDE = ROOT / "docs/how-to/add-a-stage.md"
BLOCK = re.compile(r"^ {4}```diff\n(.*?)^ {4}```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = (".*", "__pycache__", "node_modules", "*.pyc")


def edits() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the guide's edits: for each file, texts that are there and texts to replace them."""
    found = []
    for block in BLOCK.findall(GUIDE.read_text()):
        lines = [line[4:] for line in block.splitlines()]
        path = lines[0].removeprefix("--- a/")
        hunks = "\n".join(lines[2:]).split("@@\n")[1:]
        found.append((path, [replacement(hunk.splitlines()) for hunk in hunks]))
    return found


def replacement(hunk: list[str]) -> tuple[str, str]:
    before = "\n".join(line[1:] for line in hunk if not line.startswith("+"))
    after = "\n".join(line[1:] for line in hunk if not line.startswith("-"))
    return before, after


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree with the guide's edits."""
    copy = tmp_path_factory.mktemp("edited") / "tree"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    for path, replacements in edits():
        text = (copy / path).read_text()
        for before, after in replacements:
            assert text.count(before) == 1, f"{path} has no single {before!r}"
            text = text.replace(before, after)
        (copy / path).write_text(text)
    return copy


def python(tree: Path, *words: str) -> None:
    """Run Python on the edited code."""
    environment = os.environ | {"PYTHONPATH": f"{tree}:{tree}/client"}
    done = subprocess.run(
        [sys.executable, *words], cwd=tree, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_a_derived_text_takes_four_edits() -> None:
    assert len(edits()) == 4


def test_after_the_edits_the_row_is_complete(edited: Path) -> None:
    python(edited, "-m", "page.tables")
    python(edited, "-m", "pytest", "-q", "tests/unit/compiler/test_stages.py")


def test_after_the_edits_a_deployment_derives_the_text(edited: Path, tmp_path: Path) -> None:
    deployment = Deployment(tmp_path, PYTHONPATH=f"{edited}:{edited}/client")
    deployment.start_store()
    deployment.start_service(root=edited)
    deployment.start_worker(root=edited)
    deployment.wait_for_workers()
    with deployment.client() as http:
        made = http.post("/v1/compilations?wait=60", json=bodies.vector_add()).json()
        ptx = http.get(f"{made['url']}/artifacts/ptx").text
        plain = http.get(f"{made['url']}/artifacts/plain?wait=60")
    deployment.stop()

    assert ".loc" in ptx
    assert plain.status_code == 200
    assert plain.text.splitlines() == [
        line for line in ptx.splitlines() if not line.lstrip().startswith(".loc")
    ]
