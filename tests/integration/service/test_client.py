"""`tritonc`, the client, against the real service: in Python, awaited, and as a command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tritonc

from tests.integration.service import bodies
from tests.integration.service.command_runs import run
from tests.integration.service.conftest import ADMIN_KEY
from tests.integration.service.running import ROOT, Deployment, free_port

VECTOR_ADD = ROOT / "examples" / "vector_add.py"
KERNEL: dict[str, Any] = {
    "signature": "*fp32:16, *fp32:16, *fp32:16, i32",
    "constexprs": {"BLOCK_SIZE": 1024},
    "target": "cuda:90",
}
WORDS = ["--target", "cuda:90", "--signature", KERNEL["signature"], "--constexpr"]


def process(url: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a process: its streams and its status are those of an entry point."""
    command = [sys.executable, "-m", "tritonc", *words]
    return subprocess.run(command, capture_output=True, env={"TRITOND_URL": url})


def test_compile_and_read_what_was_made(system: Deployment) -> None:
    with tritonc.Client(system.url) as client:
        made = client.compile(VECTOR_ADD.read_text(), **KERNEL, include=["ptx", "cubin"])
        ttir = client.artifact(made.key, "ttir")

    assert made.succeeded
    assert ".visible .entry add_kernel(" in made.included["ptx"]
    assert made.included["cubin"][:4] == b"\x7fELF"
    assert b"tt.func public @add_kernel" in ttir
    assert made.resources["registers"] > 0


def test_a_kernel_that_does_not_compile_reads_like_a_compiler(system: Deployment) -> None:
    body = bodies.broken("misspelt_tl_function")

    with tritonc.Client(system.url) as client, pytest.raises(tritonc.CompileFailed) as failed:
        client.compile(**body)

    text = str(failed.value)
    assert text.startswith("user.py:9:9: error: ")
    assert "    x = tl.laod(x_ptr + offsets)" in text
    assert "hint: " in text
    assert "compile_error (stages reached: none)" in text


def test_a_wrong_request_names_the_field(system: Deployment) -> None:
    with tritonc.Client(system.url) as client, pytest.raises(tritonc.ProblemError) as refused:
        client.compile("import triton", target="cuda:90", options={"num_warps": 5})

    assert refused.value.status == 422
    assert refused.value.errors[0].pointer == "/options/num_warps"


def test_submit_then_get_then_cancel(system: Deployment) -> None:
    body = bodies.running(f"{bodies.ENDLESS}  # by the client")

    with tritonc.Client(system.url) as client:
        submitted = client.compile(**body, wait_s=0, check=False)
        seen = client.get(submitted.key)
        cancelled = client.cancel(submitted.key)

    assert not submitted.finished
    assert seen.state in {"queued", "running"}
    assert cancelled.state == "cancelled"


def test_waiting_ends_with_the_key_to_ask_for(system: Deployment) -> None:
    body = bodies.running(f"{bodies.ENDLESS}  # longer than anyone waits")

    with tritonc.Client(system.url) as client:
        with pytest.raises(tritonc.WaitExpired) as expired:
            client.compile(**body, wait_s=0.3)
        client.cancel(expired.value.key)


async def test_awaited(system: Deployment) -> None:
    async with tritonc.AsyncClient(system.url) as client:
        made = await client.compile(VECTOR_ADD.read_text(), **KERNEL)
        reported = await client.targets()

    assert made.succeeded
    assert "cuda:90" in reported["targets"]


def test_a_key_is_needed_where_keys_exist(idle: Deployment) -> None:
    with tritonc.Client(idle.url) as client, pytest.raises(tritonc.ProblemError) as refused:
        client.system()
    with tritonc.Client(idle.url, api_key=ADMIN_KEY) as client:
        reported = client.system()

    assert (refused.value.status, refused.value.slug) == (401, "unauthorized")
    assert reported["workers"]["compile"] == 0


def test_the_command_says_how_to_give_a_key(idle: Deployment) -> None:
    done = run(idle.url, "targets")

    assert done.returncode == 2
    assert "401 unauthorized: " in done.stderr
    assert "set TRITOND_API_KEY to a key of this service" in done.stderr


async def test_url_and_key_come_from_the_environment(
    idle: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITOND_URL", idle.url)
    monkeypatch.setenv("TRITOND_API_KEY", ADMIN_KEY)

    with tritonc.Client() as client:
        reported = client.system()
    async with tritonc.AsyncClient() as asynchronous:
        awaited = await asynchronous.system()
    with tritonc.Client(api_key="") as anonymous, pytest.raises(tritonc.ProblemError) as refused:
        anonymous.system()

    assert reported["version"] == awaited["version"]
    assert refused.value.slug == "unauthorized"


def test_the_command_writes_ptx(system: Deployment, tmp_path: Path) -> None:
    cubin = tmp_path / "vector_add.cubin"
    words = [*WORDS, "BLOCK_SIZE=1024", "--emit", "ptx=-", f"cubin={cubin}"]

    done = process(system.url, "compile", str(VECTOR_ADD), *words)

    assert done.returncode == 0, done.stderr
    assert b".visible .entry add_kernel(" in done.stdout
    assert cubin.read_bytes().startswith(b"\x7fELF")
    assert b"registers" in done.stderr


def test_the_command_shows_errors_in_the_file_that_was_given(
    system: Deployment, tmp_path: Path
) -> None:
    path = tmp_path / "softmax.py"
    path.write_text(bodies.broken("misspelt_tl_function")["source"])
    words = ["--target", "cuda:90", "--signature", "*fp32", "--constexpr", "BLOCK=64"]

    done = run(system.url, "compile", str(path), "--kernel", "add", *words)

    assert done.returncode == 1
    assert f"{path}:9:9: error: " in done.stderr


def test_the_command_says_the_whole_answer_as_json(system: Deployment) -> None:
    words = ["compile", str(VECTOR_ADD), *WORDS, "BLOCK_SIZE=1024", "--json"]
    answer = json.loads(run(system.url, *words).stdout)
    read = run(system.url, "get", answer["key"], "--json")

    assert json.loads(read.stdout) == answer | {"cache": None}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["compile", str(VECTOR_ADD), "--target", "sm_x"], 2),
        (["compile", "no-such-file.py", "--target", "cuda:90"], 2),
        (["artifact", "0" * 64, "ptx"], 2),
        (["targets"], 0),
        (["system"], 0),
    ],
)
def test_the_exit_code_says_what_came_of_it(
    system: Deployment, words: list[str], code: int
) -> None:
    assert run(system.url, *words).returncode == code


def test_what_is_derived_is_made_when_asked_for(system: Deployment) -> None:
    with tritonc.Client(system.url) as client:
        made = client.compile(VECTOR_ADD.read_text(), **KERNEL)
        lines = client.lines(made.key)["lines"]
        header = client.export(made.key, "c")
        kernels = client.inspect(VECTOR_ADD.read_text())["kernels"]
        stages = [event.kind for event in client.events(made.key)]

    assert any(line["ptx"] for line in lines)
    assert b"add_kernel" in header
    assert [kernel["name"] for kernel in kernels] == ["add_kernel"]
    assert stages[-1] == "finished"


def test_ir_is_compiled_as_it_stands(system: Deployment) -> None:
    with tritonc.Client(system.url) as client:
        source = client.compile(VECTOR_ADD.read_text(), **KERNEL, include=["ttir", "ptx"])
        made = client.compile_ir(source.included["ttir"], target="cuda:90", include=["ptx"])

    assert made.succeeded
    assert ".visible .entry add_kernel(" in made.included["ptx"]


def test_the_command_without_a_service() -> None:
    done = process(f"http://127.0.0.1:{free_port()}", "system")

    assert done.returncode == 3
    assert b"is the service up" in done.stderr
    assert b"Traceback" not in done.stderr
