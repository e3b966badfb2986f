"""Trials: which targets a toolchain really compiles for, found out by compiling a small kernel.

Every trial is a child, because some targets abort the process.
"""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from compiler.target import parse_target
from worker.outcome import Ending
from worker.pool import Pool
from worker.report import STAGES_OF_TASK

TRIAL_DEADLINE_S = 30.0
CUDA = (60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121)
HIP = (
    "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1101", "gfx1102",
    "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153", "gfx1170", "gfx1171", "gfx1172",
    "gfx1200", "gfx1201", "gfx1250", "gfx1251",
)  # fmt: skip
CANDIDATES = (*(f"cuda:{capability}" for capability in CUDA), *(f"hip:{gfx}" for gfx in HIP))

_TRIAL = b"""module {
  tt.func public @trial(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
    %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %from = tt.addptr %xs, %i : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %value = tt.load %from : tensor<128x!tt.ptr<f32>>
    %sum = arith.addf %value, %value : tensor<128xf32>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %to = tt.addptr %ys, %i : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    tt.store %to, %sum : tensor<128x!tt.ptr<f32>>
    tt.return
  }
}
"""


async def compiling_targets(pool: Pool, options: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return those of `CANDIDATES` that the toolchain behind `pool` compiles for.

    `options` are its tables by backend. As many trials run at once as there are processors.
    """
    turns = asyncio.Semaphore(len(os.sched_getaffinity(0)))

    async def compiles(name: str) -> bool:
        async with turns:
            return await _compiles(pool, name, options)

    outcomes = await asyncio.gather(*map(compiles, CANDIDATES))
    return [name for name, works in zip(CANDIDATES, outcomes, strict=True) if works]


async def _compiles(pool: Pool, name: str, options: Mapping[str, Mapping[str, Any]]) -> bool:
    target = parse_target(name)
    header = {
        "task": "posted",
        "language": "ttir",
        "stage": "ttir",
        "options": {option: spec["default"] for option, spec in options[target.backend].items()},
        "target": {
            "backend": target.backend,
            "arch": target.arch,
            "warp_size": target.warp_size,
        },
        "stop_after": target.stages[-1],
    }
    outcome = await pool.run(
        "back", header, _TRIAL, deadline_s=TRIAL_DEADLINE_S, stages=STAGES_OF_TASK["posted"]
    )
    return outcome.ending is Ending.OK
