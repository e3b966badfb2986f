"""Finding out what a toolchain is: it describes itself, and shows what it compiles for.

Runs once when a worker starts. What a machine's trials found is kept in the store for a day, as
they take seconds; whatever could change it is in the name that it is kept under.
"""

import hashlib
import json
import platform
from typing import Any

from compiler.toolchain import OptionSpec, Toolchain, toolchain_id
from store.workers import Toolchains
from worker.pool import Pool
from worker.trials import CANDIDATES, TRIAL_DEADLINE_S, compiling_targets


async def identify(pool: Pool, sandbox: str, known: Toolchains) -> Toolchain:
    """Return the description of the toolchain behind `pool`.

    Raises RuntimeError when it cannot describe itself or compiles for nothing, StoreUnavailable.
    """
    described = await pool.run("front", {"task": "describe"}, b"", deadline_s=TRIAL_DEADLINE_S)
    if described.result is None:
        raise RuntimeError(f"the toolchain does not describe itself: {described.detail}")
    facts = {name: value for name, value in described.result.items() if name != "kind"}
    facts |= {name: pool.facts[name] for name in ("policy", "pipeline")}
    what = _named(facts)
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
    )


def _named(facts: dict[str, Any]) -> str:
    """Return a name for this toolchain, these candidates and walls, on this machine."""
    tried = [CANDIDATES, platform.uname(), facts]
    return hashlib.sha256(json.dumps(tried, sort_keys=True).encode()).hexdigest()
