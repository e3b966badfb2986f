"""Measures the candidates of a kernel generator judged per second on CPUs, with five cases each.

Every candidate is a new source of one exercise, with the seeds, shapes and NumPy reference of all
others. With `--programs`, it is a new `ModelNew` with a new kernel, judged by the `Model` of all
others; this needs torch (`make .cache/torch/.installed`, and the Python there).

Other work on the machine changes the wall time but not the CPU time, so the rate that two cores
could reach is also printed, for service and worker without the clients. `--wrong-every` makes some
candidates wrong, which every one of their cases must find.
"""

import argparse
import http.client
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cpu import tree_cpu_s
from deployment import Deployment, Server
from derived import asked
from table import Row, show

BAR_PER_S, BAR_OF_PROGRAMS_PER_S = 25.0, 4.0
"""On two cores."""
OFFERED_WITHIN_S = 120.0
CORES = 2
KERNEL = """
import triton
import triton.language as tl

@triton.jit
def candidate(x_ptr, y_ptr, z_ptr, n, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = row * columns + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < columns
    x = tl.load(x_ptr + offsets, mask=mask, other=-NUMBER.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    z = tl.exp(x - tl.max(tl.where(mask, x, float("-inf")), 0)) * y
    tl.store(z_ptr + offsets, z, mask=mask)
"""
REFERENCE = """
import numpy as np

def reference(x_ptr, y_ptr, **_):
    return np.exp(x_ptr - x_ptr.max(axis=1, keepdims=True)) * y_ptr
"""
PROGRAM = Path(__file__).parent / "kernels/programs/softmax.py"
SHAPES = [(1, 7), (2, 128), (3, 1000), (4, 512), (2, 1024)]


@dataclass(frozen=True)
class Judged:
    """The wall time of a crowd of candidates, and the CPU time of judging them."""

    count: int
    seconds: float
    cpu_s: float

    @property
    def per_s(self) -> float:
        """Measured candidates per second."""
        return self.count / self.seconds

    @property
    def possible_per_s(self) -> float:
        """Candidates per second that `CORES` cores could judge without other work."""
        return self.count * CORES / self.cpu_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=500)
    parser.add_argument("--crowd", type=int, default=8, help="concurrent requests")
    parser.add_argument("--warm", type=int, default=10, help="uncounted candidates at the start")
    parser.add_argument("--wrong-every", type=int, default=0, help="0: all are right")
    parser.add_argument("--programs", action="store_true", help="PyTorch programs with a kernel")
    arguments = parser.parse_args()
    post, kind, bar_per_s = partial(launch, arguments.wrong_every), "5 cases each", BAR_PER_S
    if arguments.programs:
        post, kind, bar_per_s = evaluate, "`ModelNew`", BAR_OF_PROGRAMS_PER_S
    with Deployment() as deployment:
        service = deployment.serve()
        if arguments.programs:
            wait_for_programs(service)
        judge(deployment, service, range(1, arguments.warm + 1), arguments.crowd, post)
        numbers = range(arguments.warm + 1, arguments.warm + 1 + arguments.candidates)
        judged = judge(deployment, service, numbers, arguments.crowd, post)
    cores = len(os.sched_getaffinity(0))
    reported = f"{judged.cpu_s / judged.count * 1000:.0f} ms of CPU each"
    measured = [
        (f"{judged.count} candidates, {kind}, this machine's {cores} cores", judged.per_s),
        (f"the same by CPU time, {CORES} cores", judged.possible_per_s),
    ]
    show(
        [
            Row(name, f"{n:.1f} /s", reported, n / bar_per_s, 1.0, at_least=True)
            for name, n in measured
        ]
    )


def judge(
    deployment: Deployment,
    service: Server,
    numbers: range,
    crowd: int,
    post: Callable[[Server, int], None],
) -> Judged:
    """Post the candidates `numbers`, `crowd` at a time; return the times."""
    processes = (deployment.worker.pid, service.pid)
    before_s = sum(map(tree_cpu_s, processes))
    started = time.perf_counter()
    with ThreadPoolExecutor(crowd) as clients:
        list(clients.map(partial(post, service), numbers))
    seconds = time.perf_counter() - started
    return Judged(len(numbers), seconds, sum(map(tree_cpu_s, processes)) - before_s)


def launch(wrong_every: int, service: Server, number: int) -> None:
    """Launch one candidate. Raises RuntimeError for an unexpected verdict."""
    is_wrong = bool(wrong_every) and number % wrong_every == 0
    answer = finished(service, "/v1/launches", request(number, is_wrong=is_wrong))
    expected = "mismatch" if is_wrong else "passed"
    if {case["verdict"] for case in answer["cases"] or [answer]} != {expected}:
        raise RuntimeError(f"candidate {number} should have been {expected}: {answer}")


def evaluate(service: Server, number: int) -> None:
    """Evaluate one program. Raises RuntimeError for an unexpected verdict."""
    answer = finished(service, "/v1/programs", program(number))
    if answer["verdict"] != "passed":
        raise RuntimeError(f"program {number} should have passed: {answer}")


def finished(service: Server, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Post a job and return its result, however long a busy machine takes."""
    statuses = (http.client.OK, http.client.ACCEPTED)
    answer = asked(service, "POST", f"{path}?wait=60", json.dumps(body), statuses)
    while answer["state"] in {"queued", "running"}:
        answer = asked(service, "GET", f"{answer['url']}?wait=60", statuses=statuses)
    result: dict[str, Any] = answer
    return result


def wait_for_programs(service: Server) -> None:
    """Wait until a worker records programs. Raises RuntimeError if none ever does."""
    deadline = time.monotonic() + OFFERED_WITHIN_S
    while time.monotonic() < deadline:
        toolchains = asked(service, "GET", "/v1/targets")["toolchains"]
        if any(toolchain["programs"] for toolchain in toolchains):
            return
        time.sleep(0.2)
    raise RuntimeError("no worker records programs; is torch installed?")


def program(number: int) -> dict[str, Any]:
    """Return the evaluation of one program with a unique kernel."""
    reference = PROGRAM.read_text().replace("2048, 4096", "8, 64")
    # what it loads where there is nothing, which is nowhere: rows fill their blocks
    source = reference.replace('-float("inf")', f"-{number}.0e9")
    return {"source": source, "reference": {"source": reference}, "device": "cpu"}


def request(number: int, *, is_wrong: bool = False) -> dict[str, Any]:
    """Return the launch of one candidate with a unique source."""
    source = KERNEL.replace("NUMBER", str(number))
    return {
        "compilation": {
            "source": source.replace("* y", "* y + 1.0") if is_wrong else source,
            "kernel": "candidate",
            "constexprs": {"BLOCK": 1024},
            "target": "cuda:90",
        },
        "device": "cpu",
        "grid": [1],
        "arguments": {"n": 1},
        "reference": {"source": REFERENCE, "rtol": 1e-4},
        "cases": [
            {
                "grid": [rows],
                "arguments": {
                    "x_ptr": _buffer(rows, columns, {"kind": "normal", "seed": 1}),
                    "y_ptr": _buffer(rows, columns, {"kind": "uniform", "seed": 2}),
                    "z_ptr": _buffer(rows, columns, None),
                    "columns": columns,
                },
            }
            for rows, columns in SHAPES
        ],
    }  # fmt: skip


def _buffer(rows: int, columns: int, init: dict[str, Any] | None) -> dict[str, Any]:
    contents = {"init": init} if init else {"output": True}
    return {"shape": [rows, columns], "dtype": "fp32", **contents}


if __name__ == "__main__":
    main()
