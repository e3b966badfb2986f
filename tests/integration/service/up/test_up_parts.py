"""`tritond up` gives up on a part that keeps dying, and runs nothing of the working directory."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from service.up import MAX_QUICK_DEATHS, UpPart, end_for_good
from tests.security.hostile_checkout import hostile_modules

NO_STORE = {"TRITOND_REDIS_URL": "redis://127.0.0.1:1", "PATH": os.defpath}


async def test_a_part_that_dies_at_once_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    part = UpPart("no_such_module", os.environ)
    await part.start()

    async with asyncio.timeout(30):
        said = await end_for_good(part)

    assert said == "no_such_module ended with status 1, 3 times within 10 s of its start"
    restarts = caplog.text.count("; starting it again")
    assert restarts == MAX_QUICK_DEATHS - 1


@pytest.mark.slow
async def test_a_part_runs_nothing_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = hostile_modules(tmp_path)
    monkeypatch.chdir(tmp_path)
    part = UpPart("service", NO_STORE)
    await part.start()

    async with asyncio.timeout(60):
        status = await part.wait()

    assert status == 3  # there is no store
    assert not ran.exists()


def test_lines_of_up_itself_are_json_too() -> None:
    refused = {"TRITOND_ACK_REPLICAS": "1", "TRITOND_LOG_FORMAT": "json", "PATH": os.defpath}
    command = [Path(sys.executable).parent / "tritond", "up"]

    done = subprocess.run(command, env=refused, capture_output=True, text=True)

    line = json.loads(done.stderr)
    assert (done.returncode, done.stdout, line["logger"]) == (1, "", "tritond")
    assert line["message"].startswith("TRITOND_ACK_REPLICAS needs TRITOND_REDIS_URL")


@pytest.fixture(scope="module")
def in_a_hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return what a service without a store writes, and what exists if it ran another's code."""
    folder = tmp_path_factory.mktemp("hostile")
    ran = hostile_modules(folder)
    command = [Path(sys.executable).parent / "tritond", "api"]
    env = NO_STORE | {"TRITOND_LOG_FORMAT": "json"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    return done.stderr, ran


def test_a_service_runs_nothing_of_the_working_directory(
    in_a_hostile_folder: tuple[str, Path],
) -> None:
    said, ran = in_a_hostile_folder

    assert "The store is not available" in said
    assert not ran.exists()


def test_log_lines_are_json_on_demand(in_a_hostile_folder: tuple[str, Path]) -> None:
    [line] = in_a_hostile_folder[0].splitlines()

    assert json.loads(line)["level"] == "error"
    assert "TRITOND_REDIS_URL" in json.loads(line)["message"]
