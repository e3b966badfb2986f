"""Checks that programs can be recorded here: tests the sandbox, and records a known program.

With a torch whose internals the recorder does not know, that fails or gives another tape. Then the
worker takes no programs.
"""

from jobs.deadline import Deadline, DeadlinePassed
from programs.program_job import CANDIDATE
from programs.recorder.self_test import BODY, ORDER, fault_of
from programs.worker.program_children import ENVIRONMENT
from programs.worker.record_child import NotRecorded, record_program
from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool

WITHIN_S = 60.0
_SET_BY_TORCH = "TORCHINDUCTOR_CACHE_DIR"


async def recorder_fault(pool: Pool) -> str | None:
    """Return why the children of `pool` cannot record programs; None if they can."""
    sandbox_fault = await _sandbox_fault(pool)
    if sandbox_fault is not None:
        return sandbox_fault
    try:
        recorded = await record_program(
            pool, ORDER, BODY, CANDIDATE, WITHIN_S, Deadline(WITHIN_S, what="self-test")
        )
    except (NotRecorded, DeadlinePassed) as error:
        return f"recording a known program failed: {error}"
    fault = fault_of(recorded.tape)
    return None if fault is None else f"the tape of a known program is wrong: {fault}"


async def _sandbox_fault(pool: Pool) -> str | None:
    environment = [*ENVIRONMENT, _SET_BY_TORCH]
    may = {"may_run_tools": False, "may_open": False}
    header = {"task": "selftest", **may, "environment": environment}
    outcome = await pool.run(ORDER.profile, header, b"", deadline_s=WITHIN_S)
    if outcome.ending is not Ending.OK or outcome.result is None:
        return f"the sandbox test did not finish: {outcome.ending} ({outcome.detail})"
    failed = outcome.result["failed"]
    if failed and not pool.facts["unsafe"]:
        return f"these checks of the sandbox failed: {', '.join(map(str, failed))}"
    return None
