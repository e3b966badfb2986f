"""A whole tritond on the GPU machine, for tests over HTTP."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
READY_S = 120
SOURCE = (Path(__file__).parent / "kernels.py").read_text()


@contextmanager
def running(data: Path) -> Iterator[httpx.Client]:
    """Yield a client of a `tritond up` whose GPU runs launches; then stop it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "service.command", "up", "--port", str(port)]
    command += ["--data", str(data / "data")]
    with (data / "log").open("w") as log:
        tritond = subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=log, stderr=log)
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120)
    try:
        _wait(client, tritond, data / "log")
        yield client
    finally:
        client.close()
        tritond.terminate()
        tritond.wait(30)


def _wait(client: httpx.Client, tritond: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and tritond.poll() is None:
        with suppress(httpx.TransportError):
            if client.get("/v1/devices").json()["devices"]:
                return
        time.sleep(0.2)
    raise AssertionError(f"no GPU worker came up:\n{log.read_text()[-3000:]}")


def launch_body(kernel: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a launch of a kernel of kernels.py; `constexprs` and `options` belong to its
    compilation.

    The other members of `more` are fields of the launch.
    """
    compilation: dict[str, Any] = {"source": SOURCE, "kernel": kernel, "target": "cuda:90"}
    for name in ("constexprs", "options"):
        if name in more:
            compilation[name] = more.pop(name)
    usual = {"compilation": compilation, "device": {"target": "cuda:90"}, "grid": [1]}
    quick = {"timing": {"min_repeats": 5, "max_ms": 20}}
    return {**usual, **quick, "arguments": arguments, **more}


def given(*shape: int, kind: str = "ones", dtype: str = "fp32", **more: Any) -> dict[str, Any]:
    """Return a buffer with initial contents."""
    init = {"kind": kind, **more}
    return {"shape": list(shape), "dtype": dtype, "init": init}


def out(*shape: int, dtype: str = "fp32") -> dict[str, Any]:
    """Return a buffer for the kernel to write."""
    return {"shape": list(shape), "dtype": dtype, "output": True}
