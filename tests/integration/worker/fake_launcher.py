"""A launcher without a GPU: it speaks the protocol and follows the entry of each job.

Tests of the worker use it; tests/gpu tests real launchers.
"""

import fcntl
import os
import socket
import sys
import time
from pathlib import Path

from worker.pool import frame

FACTS = {"target": "cuda:90", "model": "Fake", "uuid": "GPU-0", "num_sms": 132, "l2_bytes": 1,
         "memory_bytes": 1, "shared_bytes": 1, "cuda": "13.0", "driver": None,
         "sandbox": ["none"]}  # fmt: skip
BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from tests.integration.worker.fake_launcher import main; main(sys.argv[2:])"
)
TASK, BESIDE = "program", "beside"
"""As the launcher has them, whose modules take longer to import than all that a fake does."""
SHARED = b"elements" * (1 << 13)
"""An output large enough for shared memory."""
SICK = "TRITOND_TEST_SICK"
"""Names a file in the launchers' environment; while it exists, health checks fail."""
HOLD = "TRITOND_TEST_HOLD"
"""The same for jobs that are "held": they continue when the file is gone."""
SLOW = "TRITOND_TEST_SLOW"
"""The same for launchers that start."""


def main(arguments: list[str]) -> None:
    result, ordinal = int(arguments[0]), int(arguments[2])
    if ordinal == 99:
        sys.exit("no such GPU")
    while Path(os.environ.get(SLOW, "/nonexistent")).exists():
        time.sleep(0.01)
    os.write(result, frame.encode(frame.NO_JOB, {"kind": "ready", "facts": FACTS}))
    decoder = frame.Decoder()
    while data := os.read(0, 1 << 16):
        for order in decoder.feed(data):
            _perform(result, order)


def _perform(result: int, order: frame.Frame) -> None:
    def say(header, body=b""):
        os.write(result, frame.encode(order.nonce, header, body))

    entry = _entry(order)
    say({"kind": "stage", "stage": "run", "ms": 0.0})
    match entry:
        case "endless" | "held" | "endless beside":
            _wait(entry, say)
        case "crash":
            os.abort()
        case "leave" | "leave in op 1":
            _leave(say, ops=entry.count("op") * 2)
        case "garbage":
            os.write(result, b"no frame at all")
        case "hello" | "more":
            print(entry, flush=True)  # noqa: T201 - as kernels do
        case "fault":
            fault = {"kind": "illegal_access", "error": "E", "message": "m"}
            say({"kind": "result", "fault": fault, "clean": False})
            os._exit(0)
        case "health" if Path(os.environ.get(SICK, "/nonexistent")).exists():
            say({"kind": "failure", "slug": "device_error", "message": "sick", "clean": False})
            os._exit(0)
        case "shared" | "surplus" | "unsealed":
            _send_memory(result, order, entry)
    output = f"{os.getpid()}".encode()
    say({"kind": "stage", "stage": "output:pid", "ms": 0.0, "offset": 0}, output)
    printed = {"printed_bytes": os.lseek(1, 0, os.SEEK_CUR)}
    say({"kind": "result", "fault": None, "clean": True, **printed})


def _entry(order: frame.Frame) -> str:
    """Return the instructions: a launch has them as its kernel's name, a program as its tape."""
    if order.header["task"] == TASK:
        offset, size = order.header["tape"]
        return order.body[offset : offset + size].decode()
    return order.header.get("abi", {}).get("entry", order.header["task"])


def _leave(say, ops):
    for index in range(ops):
        say({"kind": "stage", "stage": f"op-{index}", "ms": 0.0})
    os._exit(3)


def _wait(entry, say) -> None:
    while entry == "endless" or Path(os.environ[HOLD]).exists():
        time.sleep(0.01)
    if entry == "endless beside":
        say({"kind": "stage", "stage": BESIDE, "ms": 0.0})
        _wait("endless", say)


def _send_memory(result: int, order: frame.Frame, entry: str) -> None:
    """Send an output in shared memory: correctly, twice, or without a seal."""
    memory = os.memfd_create("output", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(memory, SHARED)
    if entry != "unsealed":
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, seals)
    header = {"kind": "stage", "stage": "output:large", "ms": 0.0, "offset": 0}
    header["shared"] = len(SHARED)
    descriptors = [memory, memory] if entry == "surplus" else [memory]
    with socket.socket(fileno=os.dup(result)) as channel:
        socket.send_fds(channel, [frame.encode(order.nonce, header)], descriptors)
    os.close(memory)
