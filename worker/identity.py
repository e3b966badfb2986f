"""Finding out what a toolchain is and which targets it really compiles for, by trying.

Runs once when a worker starts; every trial is a child, because some targets abort the process.
"""

import asyncio
from typing import Any

from compiler.toolchain import OptionSpec, Toolchain, toolchain_id
from worker.outcome import Ending
from worker.pool import Pool

TRIAL_DEADLINE_S = 30.0
CUDA_CAPABILITIES = (70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121)
_TRIAL = b"""import triton
import triton.language as tl


@triton.jit
def trial(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets) + 1.0)
"""


async def identify(pool: Pool, sandbox: str) -> Toolchain:
    """Return the description of the toolchain behind `pool`.

    Raises RuntimeError when it cannot describe itself or compiles for nothing.
    """
    described = await pool.run("front", {"task": "describe"}, b"", deadline_s=TRIAL_DEADLINE_S)
    if described.result is None:
        raise RuntimeError(f"the toolchain does not describe itself: {described.detail}")
    facts = {name: value for name, value in described.result.items() if name != "kind"}
    capabilities = await _compiling(pool, facts["options"]["cuda"])
    if not capabilities:
        raise RuntimeError("the toolchain compiles for no target at all")
    facts |= {"targets": capabilities, "policy": pool.facts["policy"]}
    return Toolchain(
        id=toolchain_id(facts),
        triton=facts["triton"],
        ptxas=facts["ptxas"],
        host_arch=facts["host_arch"],
        targets=capabilities,
        options={
            backend: {name: OptionSpec.model_validate(spec) for name, spec in table.items()}
            for backend, table in facts["options"].items()
            if backend == "cuda"
        },
        sandbox=sandbox,
    )


async def _compiling(pool: Pool, table: dict[str, Any]) -> list[str]:
    options = {name: spec["default"] for name, spec in table.items()}
    trials = [_compiles(pool, capability, options) for capability in CUDA_CAPABILITIES]
    outcomes = await asyncio.gather(*trials)
    return [
        f"cuda:{capability}"
        for capability, compiles in zip(CUDA_CAPABILITIES, outcomes, strict=True)
        if compiles
    ]


async def _compiles(pool: Pool, capability: int, options: dict[str, Any]) -> bool:
    common = {
        "options": options,
        "target": {"backend": "cuda", "arch": capability, "warp_size": 32},
        "stop_after": "cubin",
    }
    header = {
        "task": "front",
        "kernel": "trial",
        "files": {},
        "complete": True,
        "signature": {"x_ptr": "*fp32", "y_ptr": "*fp32"},
        "constexprs": {"BLOCK_SIZE": {"int": "128"}},
        "hints": {},
        **common,
    }
    front = await pool.run("front", header, _TRIAL, deadline_s=TRIAL_DEADLINE_S)
    if front.result is None:
        return False
    ttir = next(stage.body for stage in front.stages if stage.name == "ttir")
    header = {"task": "back", "locations": front.result["locations"], **common}
    back = await pool.run("back", header, ttir, deadline_s=TRIAL_DEADLINE_S)
    return back.ending is Ending.OK
