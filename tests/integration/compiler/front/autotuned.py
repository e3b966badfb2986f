"""An autotuned kernel, the result file that children write, and its reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from compiler.autotune import TimedVariant, TunedResults
from compiler.cached_tuning import autotune_cache_order
from compiler.messages.autotuning import AutotuneOrder
from compiler.messages.wire import header_of
from compiler.target import Target
from tests.integration.compiler.children import Children
from worker.compile.autotune_reading import as_reading, read_autotune_report

HERE = Path(__file__).parent
SOURCE = '''import itertools

import triton
import triton.language as tl

FACTOR = tl.constexpr(3)


@triton.jit
def times(x):
    return x * FACTOR


# configurations by code, as most have them
@triton.autotune(
    configs=[
        triton.Config({"BM": bm, "BN": 32}, num_warps=warps)
        for bm, warps in itertools.product([16, 32], [4, 8])
    ],
    key=["M", "N"],
    restore_value=["x"],
)
@triton.heuristics({"EVEN": lambda args: args["M"] % args["BM"] == 0})
@triton.jit
def scale(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr, EVEN: tl.constexpr, ACT: tl.constexpr):
    """Another kernel has another hash, whatever its name."""
    tl.store(x + tl.arange(0, BM), times(tl.load(y + tl.arange(0, BM))))
'''
CALL: dict[str, Any] = {
    "x": {"tensor": "torch.float16"},
    "y": {"tensor": "torch.float32"},
    "M": 4096,
    "N": 512,
    "ACT": "relu",
}


def variant(bm: int, warps: int, us: float, **changes: Any) -> TimedVariant:
    return TimedVariant(
        constexprs={"BM": bm, "BN": 32, "EVEN": True, "ACT": "relu", **changes},
        options={"num_warps": warps, "num_stages": 3, "num_ctas": 1},
        us=(us, us - 0.5, us + 0.5),
    )


RESULTS = TunedResults(
    winner=variant(32, 8, 9.0),
    others=[variant(16, 4, 12.0), variant(16, 8, 8.5), variant(32, 4, 5.0, ACT="gelu")],
    arguments={"M": 4096, "N": 512, "ACT": "relu", "EVEN": True},
    dtypes={"y": "torch.float32", "x": "torch.float16"},
    untyped=[],
    unsaid=[],
)
WINNER = {"BM": 32, "BN": 32, "num_warps": 8, "num_ctas": 1, "num_stages": 3}


def cached(
    children: Children, target: Target, folder: Path, results: TunedResults = RESULTS
) -> dict[str, Any]:
    """Put the result file into a cache, as unpacking does; return the cache's answer."""
    body = SOURCE.encode()
    asked = AutotuneOrder(kernel="scale", target=target)
    reported = children.run(header_of(asked), body).result
    reading = as_reading(read_autotune_report(reported), str(target))
    order = autotune_cache_order(reading, results, {})
    ended = children.run(json.loads(json.dumps(header_of(order))), b"")
    assert ended.result
    made: dict[str, Any] = json.loads(ended.stages["autotune_cache"])
    place = folder / made["folder"]
    place.mkdir(parents=True)
    (place / made["file"]).write_text(made["text"])
    said: dict[str, Any] = json.loads(made["text"])
    return said


def run_autotuned(
    folder: Path, target: Target, python: str = sys.executable, **changes: Any
) -> dict[str, Any]:
    """Launch `scale` with Triton's own autotuner, from a user's file, on that cache."""
    return run_tuner(folder, SOURCE, "scale", CALL | changes, target, python)


def run_tuner(
    folder: Path,
    source: str,
    kernel: str,
    arguments: dict[str, Any],
    target: Target,
    python: str = sys.executable,
) -> dict[str, Any]:
    """Launch a kernel of `source` with Triton's own autotuner; its cache is `folder`/cache."""
    module = folder / "mine.py"
    module.write_text(source)
    request = {
        "path": str(module),
        "kernel": kernel,
        "target": [target.backend, target.arch, target.warp_size],
        "arguments": arguments,
    }
    done = subprocess.run(
        [python, HERE / "autotuner_run.py"],
        input=json.dumps(request),
        env={"TRITON_CACHE_DIR": str(folder / "cache"), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
