"""Describes a toolchain: its own report, and the targets that a small kernel compiles for.

Runs once when a worker starts. Each trial is a child, because some targets abort the process.
Trials take seconds, so the store keeps their results for a day, under a digest of all that can
change them.
"""

import asyncio
import hashlib
import json
import os
import platform
from collections.abc import Mapping
from typing import Any

from compiler.messages.orders import DescribeOrder, PostedOrder
from compiler.messages.reports import LanguageName
from compiler.target import CANDIDATES, parse_target
from compiler.toolchain import OptionSpec, Toolchain, toolchain_id
from store.workers import Toolchains
from worker.compile.child_task import carry_out
from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool

TRIAL_DEADLINE_S = 30.0

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
    order = PostedOrder(
        language="ttir",
        stage="ttir",
        options={option: spec["default"] for option, spec in options[target.backend].items()},
        target=target,
        stop_after=target.stages[-1],
    )
    outcome = await carry_out(pool, order, _TRIAL, deadline_s=TRIAL_DEADLINE_S)
    return outcome.ending is Ending.OK


async def identify(pool: Pool, sandbox: str, known: Toolchains) -> Toolchain:
    """Return the description of the toolchain behind `pool`.

    Raises RuntimeError when it cannot describe itself or compiles for nothing, StoreUnavailable.
    """
    described = await carry_out(pool, DescribeOrder(), b"", deadline_s=TRIAL_DEADLINE_S)
    if described.result is None:
        raise RuntimeError(f"the toolchain does not describe itself: {described.detail}")
    facts = {name: value for name, value in described.result.items() if name != "kind"}
    language = facts.pop("language")
    facts |= {name: pool.facts[name] for name in ("policy", "pipeline")}
    what = _trials_name(facts)
    targets = [*(await known.tried(what) or await compiling_targets(pool, facts["options"]))]
    if not targets:
        raise RuntimeError("the toolchain compiles for no target at all")
    await known.note_tried(what, targets)
    facts["targets"] = targets
    backends = {target.partition(":")[0] for target in targets}
    return Toolchain(
        id=toolchain_id(facts),
        triton=facts["triton"],
        ptxas=facts["ptxas"],
        host_arch=facts["host_arch"],
        targets=targets,
        options={
            backend: {name: OptionSpec.model_validate(spec) for name, spec in table.items()}
            for backend, table in facts["options"].items()
            if backend in backends
        },
        sandbox=sandbox,
        language=[LanguageName(**item) for item in language],
    )


def _trials_name(facts: dict[str, Any]) -> str:
    """Return a name for this toolchain, its sandbox and these candidates on this machine."""
    tried = [CANDIDATES, platform.uname(), facts]
    return hashlib.sha256(json.dumps(tried, sort_keys=True).encode()).hexdigest()
