"""Measures the candidates of a kernel generator judged per second on CPUs, with five cases each.

Every candidate is a new source of one exercise, with the seeds, shapes and NumPy reference of all
others. Other work on the machine changes the wall time but not the CPU time, so the rate that two
cores could reach is also printed, for service and worker without the clients. `--wrong-every` makes
some candidates wrong, which every one of their cases must find.
"""

import argparse
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from cpu import tree_cpu_s
from deployment import Deployment, Server
from derived import asked
from table import Row, show

BAR_PER_S = 25.0
"""On two cores."""
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
    parser.add_argument("--crowd", type=int, default=8, help="requests under way")
    parser.add_argument("--warm", type=int, default=10, help="uncounted candidates at the start")
    parser.add_argument("--wrong-every", type=int, default=0, help="0: all are right")
    arguments = parser.parse_args()
    with Deployment() as deployment:
        service = deployment.serve()
        judge(deployment, service, range(arguments.warm), arguments.crowd, 0)
        numbers = range(arguments.warm, arguments.warm + arguments.candidates)
        judged = judge(deployment, service, numbers, arguments.crowd, arguments.wrong_every)
    cores = len(os.sched_getaffinity(0))
    reported = f"{judged.cpu_s / judged.count * 1000:.0f} ms of CPU each"
    measured = [
        (f"{judged.count} candidates, 5 cases each, this machine's {cores} cores", judged.per_s),
        (f"the same by CPU time, {CORES} cores", judged.possible_per_s),
    ]
    show(
        [
            Row(name, f"{n:.1f} /s", reported, n / BAR_PER_S, 1.0, at_least=True)
            for name, n in measured
        ]
    )


def judge(
    deployment: Deployment, service: Server, numbers: range, crowd: int, wrong_every: int
) -> Judged:
    """Launch the candidates `numbers`, `crowd` at a time; return the times."""
    processes = (deployment.worker.pid, service.pid)
    before_s = sum(map(tree_cpu_s, processes))
    started = time.perf_counter()
    with ThreadPoolExecutor(crowd) as clients:
        list(clients.map(partial(launch, service, wrong_every), numbers))
    seconds = time.perf_counter() - started
    return Judged(len(numbers), seconds, sum(map(tree_cpu_s, processes)) - before_s)


def launch(service: Server, wrong_every: int, number: int) -> None:
    """Launch one candidate. Raises RuntimeError for an unexpected verdict."""
    is_wrong = bool(wrong_every) and number % wrong_every == 0
    body = json.dumps(request(number, is_wrong=is_wrong))
    answer = asked(service, "POST", "/v1/launches?wait=60", body)
    expected = "mismatch" if is_wrong else "passed"
    if {case["verdict"] for case in answer["cases"] or [answer]} != {expected}:
        raise RuntimeError(f"candidate {number} should have been {expected}: {answer}")


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
