"""Finding out what a toolchain is: it describes itself, and shows what it compiles for.

Runs once when a worker starts.
"""

from compiler.toolchain import OptionSpec, Toolchain, toolchain_id
from worker.pool import Pool
from worker.trials import TRIAL_DEADLINE_S, compiling_targets


async def identify(pool: Pool, sandbox: str) -> Toolchain:
    """Return the description of the toolchain behind `pool`.

    Raises RuntimeError when it cannot describe itself or compiles for nothing.
    """
    described = await pool.run("front", {"task": "describe"}, b"", deadline_s=TRIAL_DEADLINE_S)
    if described.result is None:
        raise RuntimeError(f"the toolchain does not describe itself: {described.detail}")
    facts = {name: value for name, value in described.result.items() if name != "kind"}
    targets = await compiling_targets(pool, facts["options"])
    if not targets:
        raise RuntimeError("the toolchain compiles for no target at all")
    facts |= {"targets": targets, "policy": pool.facts["policy"]}
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
