"""A worker without a GPU, whose launcher is a STAND-IN: NumPy and a sleep instead of kernels.

`python -m benchmarks.gpu.stand_in_gpu` is otherwise `python -m worker`. It measures the cost of a
launch around the launcher on any machine, but nothing of a GPU. The stand-in knows a vector add
(`add_kernel`) and a matrix product (`matmul_kernel`), whose outputs it computes once and sends
repeatedly; each launch takes TRITOND_STAND_IN_MS. Its reported times are invented:
TRITOND_STAND_IN_BEHAVIOURS is a JSON object with the behaviour of launches by their programs and
threads (`"32x128"`); the default is 4.4 µs.
"""

import json
import math
import os
import random
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from launch.buffers.allocation import materialise
from worker import __main__ as worker_main
from worker.gpu.launcher.statistics import summarise
from worker.gpu.supervisor.launcher_process import LauncherCommand
from worker.launch.gpu import gpu_consumer
from worker.pool import frame
from worker.pool.shared_bytes import SharedBytes

PAUSE_MS = "TRITOND_STAND_IN_MS"
BEHAVIOURS = "TRITOND_STAND_IN_BEHAVIOURS"
MODEL = "stand-in, no GPU"
FACTS = {"target": "cuda:90", "model": MODEL, "uuid": "GPU-0", "num_sms": 132, "l2_bytes": 1,
         "memory_bytes": 1, "shared_bytes": 1, "cuda": "none", "driver": None,
         "sandbox": ["none"]}  # fmt: skip
BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from benchmarks.gpu.stand_in_gpu import launcher; launcher(sys.argv[2:])"
)
SHARED_FROM_BYTES = 1 << 20
USUAL_US = 4.4
ALL_OTHERS = "else"
"""The behaviour of launches without an entry for their programs and threads."""
_FOR_EVER_S = 1e6


@dataclass(frozen=True)
class Behaviour:
    """The behaviour of launches of one kind: their time, its spread, and their failures.

    `ends` is the number of launches that end; the next one does not. `drift` is the relative growth
    of a time from one launch of any kind to the next.
    """

    us: float = USUAL_US
    spread: float = 0.004
    fault: str | None = None
    wrong: bool = False
    ends: int = 1 << 30
    drift: float = 0.0


def behaviours() -> dict[str, Behaviour]:
    """Return the behaviours from the environment, by programs and threads."""
    by_shape = json.loads(os.environ.get(BEHAVIOURS, "{}"))
    return {name: Behaviour(**members) for name, members in by_shape.items()}


class MadeUpTimes:
    """Decides the behaviour of each launch; draws times and summarises them like those of a GPU."""

    def __init__(self) -> None:
        self._of = behaviours()
        self._random = random.Random(1)
        self._launches = 0
        self._seen: Counter[str] = Counter()

    def of(self, order: frame.Frame) -> Behaviour:
        """Return the behaviour of a launch, or hang forever."""
        programs = math.prod(order.header["grid"])
        threads = math.prod(order.header["abi"]["block"])
        kind = f"{programs}x{threads}"
        does = self._of.get(kind) or self._of.get(ALL_OTHERS, Behaviour())
        self._seen[kind] += 1
        if self._seen[kind] > does.ends:
            time.sleep(_FOR_EVER_S)
        return does

    def timing(self, does: Behaviour, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the `timing` of an answer."""
        self._launches += 1
        middle = does.us * (1 + does.drift * self._launches)
        samples = [
            max(0.1, self._random.gauss(middle, does.spread * middle))
            for _ in range(min(asked["min_repeats"], 1000))
        ]
        clocks = {"clock_mhz": None, "throttled": []}
        return summarise(samples, asked["min_repeats"]).to_dict() | clocks


def launcher(arguments: list[str]) -> None:
    """Act as the stand-in: answer every order on standard input."""
    channel = int(arguments[0])
    _write(channel, frame.encode(frame.NO_JOB, {"kind": "ready", "facts": FACTS}))
    decoder = frame.Decoder()
    pause_s = float(os.environ.get(PAUSE_MS, "4")) / 1000
    made: dict[str, dict[str, bytes]] = {}
    times = MadeUpTimes()
    while data := os.read(0, 1 << 20):
        for order in decoder.feed(data):
            _answer(channel, order, made, pause_s, times)


def _answer(
    channel: int,
    order: frame.Frame,
    made: dict[str, dict[str, bytes]],
    pause_s: float,
    times: MadeUpTimes,
) -> None:
    last: dict[str, Any] = {"kind": "result", "fault": None, "clean": True}
    if order.header["task"] == "launch":
        entry = order.header["abi"]["entry"]
        described = json.dumps([entry, order.header["allocations"], order.header["arguments"]])
        if described not in made:
            made[described] = _outputs(entry, order)
        does = times.of(order)
        time.sleep(pause_s)
        if does.fault is not None:
            _fault(channel, order, does.fault)
        for name, data in made[described].items():
            _send_output(channel, order.nonce, name, bytes(len(data)) if does.wrong else data)
        if order.header["timing"]:
            last["timing"] = times.timing(does, order.header["timing"])
    last["printed_bytes"] = os.lseek(1, 0, os.SEEK_CUR)
    _write(channel, frame.encode(order.nonce, last))


def _fault(channel: int, order: frame.Frame, kind: str) -> NoReturn:
    """End like a launcher after a fault: with the process."""
    fault = {"kind": kind, "error": "made up", "message": f"{kind}, by the stand-in's account"}
    _write(channel, frame.encode(order.nonce, {"kind": "result", "fault": fault, "clean": False}))
    os._exit(0)


def _send_output(channel: int, nonce: bytes, name: str, data: bytes) -> None:
    header: dict[str, Any] = {"kind": "stage", "stage": f"output:{name}", "ms": 0.0, "offset": 0}
    if len(data) < SHARED_FROM_BYTES:
        _write(channel, frame.encode(nonce, header, data))
        return
    with SharedBytes([data]) as shared, socket.socket(fileno=os.dup(channel)) as sending:
        encoded = frame.encode(nonce, header | {"shared": len(data)})
        socket.send_fds(sending, [encoded], [shared.descriptor])


def _outputs(entry: str, order: frame.Frame) -> dict[str, bytes]:
    """Compute and return the outputs of the kernel `entry`."""
    memory = materialise(order.header["allocations"], order.header["arguments"], order.body)
    shapes = {name: item.get("shape") for name, item in order.header["arguments"].items()}
    of = {
        allocation.name: allocation.memory.reshape(shapes[allocation.name]) for allocation in memory
    }
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
    """Act as a worker with one GPU."""

    async def one_gpu() -> list[dict[str, Any]]:
        return [{"ordinal": 0, "target": FACTS["target"], "model": MODEL}]

    def launchers(
        ordinals: list[int], command: LauncherCommand, programs: LauncherCommand | None = None
    ) -> Any:
        settings = {PAUSE_MS: "4", BEHAVIOURS: "{}"}
        reported = {name: os.environ.get(name, usual) for name, usual in settings.items()}
        ours = replace(command, bootstrap=BOOTSTRAP, environment=reported)
        return real(ordinals, ours, programs=programs)

    real = gpu_consumer.Launchers
    gpu_consumer.gpus_here = one_gpu
    gpu_consumer.Launchers = launchers  # type: ignore[assignment,misc]
    worker_main.main()


if __name__ == "__main__":
    sys.exit(main())
