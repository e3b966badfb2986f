"""The command line on a terminal: interrupted, watching, and completed by shells."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import tritonc

from tests.integration.service import bodies
from tests.integration.service.command_runs import run
from tests.integration.service.on_terminal import COMMAND, OnTerminal, piped
from tests.integration.service.running import Deployment
from tests.integration.service.test_client_commands import RELU
from tests.waiting import wait_until

KEY_OF_SPINNING = ["--target", "cuda:90", "--signature", "x_ptr=*fp32", "--constexpr", "BLOCK=4"]


def test_progress_shows_what_takes_long_and_ctrl_c_says_how_to_come_back(
    system: Deployment, on_terminal: Callable[..., OnTerminal], tmp_path: Path
):
    body = bodies.running(f"{bodies.ENDLESS}  # until Ctrl-C")
    (tmp_path / "spin.py").write_text(body["source"])

    command = on_terminal("compile", "spin.py", *KEY_OF_SPINNING, "--verbose")
    wait_until(lambda: command.reads("compiling spin.py for cuda:90"), "progress")
    command.process.send_signal(signal.SIGINT)
    code = command.process.wait(timeout=60)
    command.reads("")
    key = command.said.partition("submitted ")[2][:64]
    with tritonc.Client(system.url) as client:
        going_on = client.get(key)
        client.cancel(key)

    assert code == 130
    assert f"  tritonc get {key} --wait-s 60" in command.said
    assert f"  tritonc cancel {key}" in command.said
    assert going_on.state in {"queued", "running"}


def test_a_launch_that_is_left_is_found_by_its_id(system: Deployment, tmp_path: Path):
    (tmp_path / "spin.py").write_text(bodies.running(f"{bodies.ENDLESS}  # a launch")["source"])
    words = ["spin.py", "--grid", "1", "--device", "cpu", "--constexpr", "BLOCK=4"]
    words += ["--argument", "x_ptr=fp32[4]:ones", "--verbose"]

    with piped(["launch", *words], tmp_path, system.url) as command:
        assert command.stderr is not None
        lines = iter(command.stderr.readline, "")
        submitted = next(line for line in lines if line.startswith("submitted ")).split()[1]
        command.send_signal(signal.SIGINT)
        said = command.stderr.read()
    with tritonc.Client(system.url) as client:
        ended = client.launches.cancel(submitted)

    assert command.returncode == 130
    assert f"tritonc get {submitted} --wait-s 60" in said
    assert ended.state in {"queued", "running", "cancelled"}


def test_errors_are_red_on_a_terminal(on_terminal: Callable[..., OnTerminal], tmp_path: Path):
    (tmp_path / "wrong.py").write_text(RELU.replace("from activations import act", "act = None"))

    command = on_terminal("compile", "wrong.py", "--target", "cuda:90")
    wait_until(lambda: command.reads("compile_error"), "the error")

    assert command.process.wait(timeout=60) == 1
    assert "\x1b[1;31merror" in command.said


def save(path: Path, text: str) -> None:
    """Replace a file atomically, like an editor."""
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.replace(path)


def test_watch_compiles_what_is_saved_and_says_what_changed(system: Deployment, tmp_path: Path):
    kernel = RELU.replace("from activations import act", "@triton.jit\ndef act(x):\n    return x\n")
    path = tmp_path / "relu.py"
    path.write_text(kernel)
    words = ["relu.py", "--target", "cuda:90", "--constexpr", "BLOCK=1024"]
    words += ["--like", "x_ptr=fp32[1024]", "n=1000", "scale=2.0"]

    with piped(["watch", *words], tmp_path, system.url) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        first = command.stdout.readline()
        save(path, kernel.replace("    return x\n", "    return tl.sqrt(tl.exp(x))\n"))
        second = command.stdout.readline()
        save(path, kernel.replace("    return x\n", "    return y\n"))
        third = command.stdout.readline()
        command.send_signal(signal.SIGINT)
        said = command.stderr.read()

    assert "relu for cuda:90: registers " in first
    assert "registers " in second
    assert " → " in second
    assert third.startswith("relu.py:6:12: error: ")
    assert command.returncode == 0
    assert "Traceback" not in said


def completed(line: str, url: str, folder: Path) -> list[str]:
    """Return bash's completions of a command line, through the completion script."""
    answer = folder / "answer"
    variables = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9"}
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SHELL": "bash"}
    environment = {"TRITOND_URL": url, "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
    subprocess.run(COMMAND, env=variables | asked | environment, cwd=folder, check=False)
    return [word.strip() for word in answer.read_text().split("\n")]


def test_commands_flags_and_targets_are_completed(system: Deployment, tmp_path: Path):
    assert completed("tritonc la", system.url, tmp_path) == ["launch"]
    assert "--like" in completed("tritonc compile k.py --l", system.url, tmp_path)
    assert "cuda:90" in completed("tritonc compile k.py --target ", system.url, tmp_path)
    assert completed("tritonc export KEY c", system.url, tmp_path) == ["c", "cuda-inline"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_completion_is_one_of_its_shell(shell: str, tmp_path: Path):
    done = run("http://127.0.0.1:9", "completion", shell)
    script = tmp_path / "script"
    script.write_text(done.stdout)

    assert done.returncode == 0
    assert "tritonc" in done.stdout
    if shutil.which(shell):  # not every machine has all three
        assert subprocess.run([shell, "-n", script]).returncode == 0


def test_watch_says_a_change_as_a_line_of_json(system: Deployment, tmp_path: Path):
    path = tmp_path / "relu.py"
    path.write_text(RELU)

    words = ["watch", "relu.py", "--target", "cuda:90", "--json"]
    with piped(words, tmp_path, system.url) as command:
        assert command.stdout is not None
        first = json.loads(command.stdout.readline())
        command.send_signal(signal.SIGINT)

    assert (first["file"], first["state"]) == ("relu.py", "failed")
    assert command.returncode == 0
