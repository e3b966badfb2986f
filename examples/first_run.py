"""`make run`: starts tritond on this machine, compiles a first kernel, and keeps running."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx
import tritonc

HERE = Path(__file__).parent
PORT = os.environ.get("TRITOND_PORT", "8000")
URL = f"http://127.0.0.1:{PORT}"
READY_TIMEOUT_S = 180
TINY_KERNEL = (
    "import triton\nimport triton.language as tl\n\n@triton.jit\n"
    "def double(x_ptr, N: tl.constexpr):\n"
    "    offsets = tl.arange(0, N)\n"
    "    tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets))\n"
)


def main() -> int:
    """Run tritond until this process is interrupted; return its exit status."""
    if is_taken():
        print(f"Another program listens at {URL}. Try another port: TRITOND_PORT=8001 make run")
        return 1
    command = [sys.executable, "-m", "service.command", "up", "--data", str(HERE.parent / ".tritond")]
    tritond = subprocess.Popen(command, cwd=HERE.parent)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: tritond.send_signal(received))
    try:
        if wait_until_ready(tritond):
            show_first_compilation()
    finally:
        status = tritond.wait()
    return status


def is_taken() -> bool:
    """Return whether another server has the port, which would answer instead of tritond."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(PORT))) == 0


def wait_until_ready(tritond: subprocess.Popen[bytes]) -> bool:
    """Return whether tritond became ready with a toolchain, before it ended and in time.

    Its store may list the toolchain of an earlier checkout, which no worker has any more.
    """
    deadline = time.monotonic() + READY_TIMEOUT_S
    while tritond.poll() is None and time.monotonic() < deadline:
        # connections are refused until it listens
        with suppress(httpx.HTTPError):
            default = httpx.get(f"{URL}/v1/system").json().get("default_toolchain")
            workers = httpx.get(f"{URL}/v1/workers").json().get("workers", [])
            if default in [worker["toolchain"] for worker in workers]:
                return True
        time.sleep(0.2)
    return False


def show_first_compilation() -> None:
    """Compile examples/vector_add.py; print the result and what to try next."""
    with tritonc.Client(URL) as client:
        compilation = client.compile(
            (HERE / "vector_add.py").read_text(),
            signature="*fp32:16, *fp32:16, *fp32:16, i32:16",
            constexprs={"BLOCK_SIZE": 1024},
            target="cuda:90",
            include=["ttir", "ptx"],
        )
    print(f"\nexamples/vector_add.py for cuda:90: {compilation.state} ({compilation.cache})")
    known = {name: value for name, value in compilation.resources.items() if value is not None}
    print(f"resources: {json.dumps(known)}")
    for stage in ("ttir", "ptx"):
        lines = compilation.included[stage].splitlines()
        print(f"\n--- {stage}, the first lines of {len(lines)} ---", *lines[:12], sep="\n")
    print(f"\nThe explorer: {URL}/")
    print(f"API docs: {URL}/docs")
    print(f"A launch: TRITOND_URL={URL} {sys.executable} {HERE / 'run_vector_add.py'}")
    print("Now try this in another shell. It compiles a kernel and returns its PTX:\n")
    print(curl(), flush=True)


def curl() -> str:
    """Return a command line that posts a kernel and prints the answer."""
    body = {
        "source": TINY_KERNEL,
        "signature": {"x_ptr": "*fp32:16"},
        "constexprs": {"N": 256},
        "target": "cuda:90",
        "include": ["ptx"],
    }
    return (
        f"curl -s '{URL}/v1/compilations?wait=30' -H 'Content-Type: application/json' "
        f"-d '{json.dumps(body)}'\n"
    )


if __name__ == "__main__":
    sys.exit(main())
