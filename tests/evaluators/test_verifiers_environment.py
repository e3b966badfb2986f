"""The environment in examples/verifiers, loaded and scored by the published package 0.4.0."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.evaluators.conftest import EXAMPLES

SCORE = """
import asyncio, json, sys
import verifiers.v1 as vf
from tritond_programs.taskset import TritondProgramsConfig, TritondProgramsTaskset

async def score(task, reply):
    message = vf.MessageNode(message=vf.AssistantMessage(content=reply), sampled=True)
    trace = vf.Trace(
        task=vf.TraceTask(type=type(task).__name__, data=task.data),
        agent=vf.AgentInfo(config=vf.AgentConfig()),
        nodes=[message],
    )
    await task.score(trace)
    program = trace.info.get("program")
    verdict = program and program["verdict"]
    return {"reward": trace.reward, "metrics": trace.metrics, "verdict": verdict}

folder, *replies = json.load(sys.stdin)
[task] = TritondProgramsTaskset(TritondProgramsConfig(folder=folder))
print(json.dumps([asyncio.run(score(task, reply)) for reply in replies]))
"""


@pytest.fixture(scope="session")
def scores(url: str, programs: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return the scores of replies."""
    names = ("rms_norm", "rms_norm_wrong", "rms_norm_cheat")
    replies = {name: f"Here it is.\n\n```python\n{programs[name]}```\n" for name in names}
    replies["broken"] = "```python\nclass ModelNew(\n```"
    replies["talk"] = "I cannot do that."
    done = subprocess.run(
        [Path(os.environ["TRITOND_TEST_EVALUATORS"]) / "bin/python", "-c", SCORE],
        input=json.dumps([str(EXAMPLES / "programs"), *replies.values()]),
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(EXAMPLES / "verifiers"),
            "TRITOND_URL": url,
        },
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(replies, json.loads(done.stdout), strict=True))


def test_a_correct_program_scores_one(scores: dict[str, dict[str, Any]]) -> None:
    assert scores["rms_norm"]["verdict"] == "passed"
    assert scores["rms_norm"]["reward"] == 1.0


def test_a_wrong_program_that_compiles_scores_little(scores: dict[str, dict[str, Any]]) -> None:
    assert scores["rms_norm_wrong"]["verdict"] == "mismatch"
    assert scores["rms_norm_wrong"]["reward"] == pytest.approx(0.1)
    assert scores["rms_norm_wrong"]["metrics"] == {"compiled": 1.0, "correct": 0.0, "flags": 0.0}


def test_a_cheating_program_scores_nothing(scores: dict[str, dict[str, Any]]) -> None:
    assert scores["rms_norm_cheat"]["verdict"] == "passed"
    assert scores["rms_norm_cheat"]["reward"] == 0.0
    assert scores["rms_norm_cheat"]["metrics"]["flags"] >= 1.0


def test_a_reply_without_a_program_scores_nothing(scores: dict[str, dict[str, Any]]) -> None:
    assert scores["broken"]["reward"] == 0.0
    assert scores["talk"] == {"reward": 0.0, "metrics": {}, "verdict": None}
