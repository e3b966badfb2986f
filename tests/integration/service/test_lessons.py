"""Lessons over HTTP, and with `tritonc learn`."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.service.command_runs import run
from tests.integration.service.running import ROOT, Deployment


@pytest.fixture
def lessons(system: Deployment) -> dict[str, dict[str, Any]]:
    with system.client() as http:
        found = http.get("/v1/lessons").json()["lessons"]
    return {lesson["name"]: lesson for lesson in found}


def test_every_lesson_has_all_that_a_learner_needs(lessons: dict[str, dict[str, Any]]) -> None:
    assert len(lessons) >= 20
    for name, lesson in lessons.items():
        assert f"def {name}(" in lesson["start"]
        assert f"def {name}(" in lesson["solution"]
        assert len(lesson["hints"]) == 3
        assert [launch["is_hidden"] for launch in lesson["launches"]] == [False, True, True, True]
        assert "source" not in lesson["launches"][0]["body"]["compilation"]


def test_lessons_are_asked_for_again_only_if_they_change(system: Deployment) -> None:
    with system.client() as http:
        etag = http.get("/v1/lessons").headers["etag"]
        again = http.get("/v1/lessons", headers={"If-None-Match": etag})

    assert (again.status_code, again.content) == (httpx.codes.NOT_MODIFIED, b"")


def test_a_lesson_begins_with_a_file_that_is_never_overwritten(
    system: Deployment, tmp_path: Path, lessons: dict[str, dict[str, Any]]
) -> None:
    shown = run(system.url, "learn", "add_ten", folder=tmp_path)
    assert "Task: z[i] = x[i] + 10" in shown.stdout
    assert "\nGrid: 1\n" in shown.stdout
    assert "\nReference:\n\n    def reference(x_ptr, **_):\n" in shown.stdout
    assert (tmp_path / "add_ten.py").read_text() == lessons["add_ten"]["start"]

    (tmp_path / "add_ten.py").write_text("mine")
    run(system.url, "learn", "add_ten", folder=tmp_path)
    assert (tmp_path / "add_ten.py").read_text() == "mine"


def test_a_kernel_is_judged_at_hidden_sizes_too(
    system: Deployment, tmp_path: Path, lessons: dict[str, dict[str, Any]]
) -> None:
    solution = lessons["add_ten_in_blocks"]["solution"]
    (tmp_path / "add_ten_in_blocks.py").write_text(solution)
    only_here = solution.replace("offsets < N0", "offsets < 200")
    (tmp_path / "other.py").write_text(only_here)

    right = run(system.url, "learn", "add_ten_in_blocks.py", "--json", folder=tmp_path)
    named = ("--lesson", "add_ten_in_blocks")
    wrong = run(system.url, "learn", "other.py", *named, folder=tmp_path)

    assert right.returncode == 0
    assert json.loads(right.stdout)["is_solved"]
    assert wrong.returncode == 1
    assert "right at the sizes of the lesson, but not at others: x_ptr [1]" in wrong.stdout
    assert "other.py:9: out_of_bounds" in wrong.stdout


def test_an_unknown_lesson_names_a_close_one(system: Deployment) -> None:
    done = run(system.url, "learn", "ad_ten")

    assert done.returncode == 2
    assert "did you mean add_ten?" in done.stderr


@pytest.mark.skipif(
    shutil.which("node") is None or not (ROOT / "page/node_modules/esbuild").is_dir(),
    reason="needs Node and the page's packages: make page",
)
def test_the_file_of_lessons_is_what_the_page_would_write(tmp_path: Path) -> None:
    written = tmp_path / "lessons.json"

    subprocess.run(["node", ROOT / "page/lessons.mjs", written], check=True)

    assert written.read_text() == (ROOT / "service/lessons.json").read_text()
