"""Bundles of a program's compilations: access, and reasons for a missing bundle.

tests/evaluators, where programs are recorded, checks the contents.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from tritonc.cli.main import main

from compiler.problem import failure_problem
from programs.program_record import ProgramKernel, Reward
from programs.program_request import EXAMPLE
from tests.integration.service.running import Deployment
from tests.programs.service.conftest import PROGRAMS, ScriptedRecorder

WARMED = {"source": EXAMPLE["source"], "stop_after": "kernels", "target": "cuda:90"}
BROKEN = ProgramKernel(
    name="add_kernel",
    launches=1,
    problem=failure_problem("compile_error", "user.py:7: no attribute 'arnge'"),
)


def warmed(client: httpx.Client, recorder: ScriptedRecorder, **found: Any) -> str:
    """Post a program that stops after its kernels, end it, and return its URL."""
    url = client.post(PROGRAMS, json=WARMED).json()["url"]
    recorder.do(**({"reward": Reward(compiled=True, correct=False)} | found))
    return f"{url}/bundle"


def test_a_bundle_is_not_there_while_its_program_is_under_way(alice: httpx.Client) -> None:
    url = alice.post(PROGRAMS, json=WARMED).json()["url"]
    answer = alice.get(f"{url}/bundle")
    assert (answer.status_code, answer.json()["state"]) == (202, "running")
    assert "retry-after" in answer.headers


def test_a_bundle_is_its_callers(
    alice: httpx.Client, bob: httpx.Client, recorder: ScriptedRecorder
) -> None:
    url = warmed(alice, recorder)
    assert bob.get(url).status_code == 404


def test_a_program_that_launches_nothing_has_no_bundle(
    alice: httpx.Client, recorder: ScriptedRecorder
) -> None:
    answer = alice.get(warmed(alice, recorder))
    assert (answer.status_code, answer.json()["slug"]) == (422, "not_derivable")
    assert "it launches no kernel" in answer.json()["detail"]


def test_kernels_that_do_not_compile_are_why_there_is_none(
    alice: httpx.Client, recorder: ScriptedRecorder
) -> None:
    answer = alice.get(warmed(alice, recorder, kernels=[BROKEN]))
    assert answer.status_code == 422
    assert "user.py:7: no attribute 'arnge'" in answer.json()["detail"]


def test_a_compilation_that_is_not_kept_is_not_found(
    alice: httpx.Client, recorder: ScriptedRecorder
) -> None:
    lost = ProgramKernel(name="add_kernel", launches=1, compilation_key="c" * 64)
    assert alice.get(warmed(alice, recorder, kernels=[lost])).status_code == 404


def test_warm_refuses_a_place_that_nothing_can_be_written_to(
    recording: Deployment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new.py").write_text(EXAMPLE["source"])
    nowhere = str(tmp_path / "none" / "new.tar")
    given = ["--url", recording.url, "warm", str(tmp_path / "new.py"), "-o", nowhere]
    assert main(given) == 2
    assert "does not exist; create it" in capsys.readouterr().err
