"""A worker on a machine without a GPU, whose launcher is a STAND-IN: NumPy and a sleep, no kernel.

`python -m benchmarks.stand_in_gpu` is `python -m worker` but for that. What a launch costs around
the launcher can be measured with it anywhere; what a GPU does cannot. The stand-in knows a vector
add (`add_kernel`) and a matrix product (`matmul_kernel`), whose outputs it makes once and sends
again; each launch takes as long as TRITOND_STAND_IN_MS says.
"""

import json
import os
import socket
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from launch.buffers.allocation import materialise
from worker import __main__ as worker_main
from worker.gpu.supervisor.launcher_process import LauncherCommand
from worker.launch.gpu import gpu_worker
from worker.pool import frame
from worker.pool.shared_bytes import SharedBytes

PAUSE_MS = "TRITOND_STAND_IN_MS"
MODEL = "stand-in, no GPU"
FACTS = {"target": "cuda:90", "model": MODEL, "uuid": "GPU-0", "num_sms": 132, "l2_bytes": 1,
         "memory_bytes": 1, "shared_bytes": 1, "cuda": "none", "driver": None,
         "sandbox": ["none"]}  # fmt: skip
BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from benchmarks.stand_in_gpu import launcher; launcher(sys.argv[2:])"
)
SHARED_FROM_BYTES = 1 << 20
TIMING = {"median_us": 4.4, "mean_us": 4.4, "min_us": 4.0, "p20_us": 4.2, "p80_us": 4.6,
          "std_us": 0.1, "repeats": 50, "noisy": False, "clock_mhz": None,
          "throttled": []}  # fmt: skip


def launcher(arguments: list[str]) -> None:
    """Be the stand-in: answer every order that comes on the standard input."""
    channel = int(arguments[0])
    _write(channel, frame.encode(frame.NO_JOB, {"kind": "ready", "facts": FACTS}))
    decoder = frame.Decoder()
    pause_s = float(os.environ.get(PAUSE_MS, "4")) / 1000
    made: dict[str, dict[str, bytes]] = {}
    while data := os.read(0, 1 << 20):
        for order in decoder.feed(data):
            _answer(channel, order, made, pause_s)


def _answer(
    channel: int, order: frame.Frame, made: dict[str, dict[str, bytes]], pause_s: float
) -> None:
    last: dict[str, Any] = {"kind": "result", "fault": None, "clean": True}
    if order.header["task"] == "launch":
        entry = order.header["abi"]["entry"]
        described = json.dumps([entry, order.header["allocations"], order.header["arguments"]])
        if described not in made:
            made[described] = _outputs(entry, order)
        time.sleep(pause_s)
        for name, data in made[described].items():
            _send_output(channel, order.nonce, name, data)
        if order.header["timing"]:
            last["timing"] = TIMING
    last["printed_bytes"] = os.lseek(1, 0, os.SEEK_CUR)
    _write(channel, frame.encode(order.nonce, last))


def _send_output(channel: int, nonce: bytes, name: str, data: bytes) -> None:
    header: dict[str, Any] = {"kind": "stage", "stage": f"output:{name}", "ms": 0.0, "offset": 0}
    if len(data) < SHARED_FROM_BYTES:
        _write(channel, frame.encode(nonce, header, data))
        return
    with SharedBytes([data]) as shared, socket.socket(fileno=os.dup(channel)) as sending:
        encoded = frame.encode(nonce, header | {"shared": len(data)})
        socket.send_fds(sending, [encoded], [shared.descriptor])


def _outputs(entry: str, order: frame.Frame) -> dict[str, bytes]:
    """Return what the kernel `entry` would make, calculated here."""
    memory = materialise(order.header["allocations"], order.header["arguments"], order.body)
    shapes = {name: item.get("shape") for name, item in order.header["arguments"].items()}
    of = {one.name: one.memory.reshape(shapes[one.name]) for one in memory}
    if entry.startswith("matmul"):
        return {
            "c_ptr": (of["a_ptr"].astype("f4") @ of["b_ptr"].astype("f4")).astype("f2").tobytes()
        }
    return {"output_ptr": np.asarray(of["x_ptr"] + of["y_ptr"]).tobytes()}


def _write(channel: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(channel, view) :]


def main() -> None:
    """Be a worker that believes to have one GPU."""

    async def one_gpu() -> list[dict[str, Any]]:
        return [{"ordinal": 0, "target": FACTS["target"], "model": MODEL}]

    def launchers(ordinals: list[int], command: LauncherCommand) -> Any:
        pause_ms = os.environ.get(PAUSE_MS, "4")
        ours = replace(command, bootstrap=BOOTSTRAP, environment={PAUSE_MS: pause_ms})
        return real(ordinals, ours)

    real = gpu_worker.Launchers
    gpu_worker.gpus_here = one_gpu
    gpu_worker.Launchers = launchers  # type: ignore[assignment,misc]
    worker_main.main()


if __name__ == "__main__":
    sys.exit(main())
