"""The record of a compilation with nothing made yet: what every state starts from."""

from compiler.compilation import Compilation, State, ToolchainUsed, compilation_url
from compiler.job import CompileJob
from compiler.problem import failure_problem
from compiler.toolchain import Toolchain


def new_compilation(job: CompileJob, toolchain: Toolchain | None, state: State) -> Compilation:
    """Return the compilation of `job` in `state`; `toolchain` is None where it is not known yet."""
    used = ToolchainUsed(
        id=job.toolchain_id,
        triton=toolchain.triton if toolchain else "",
        ptxas=toolchain.ptxas if toolchain else "",
        sandbox=toolchain.sandbox if toolchain else "",
    )
    return Compilation(
        key=job.key,
        url=compilation_url(job.key),
        state=state,
        kernel=job.kernel,
        target=job.target_name,
        stop_after=job.stop_after,
        options=job.options,
        toolchain=used,
        artifacts={},
        parameters=[],
        abi=None,
        metadata=None,
        resources=None,
        timings_ms=None,
        diagnostics=[],
        stdout="",
        problem=None,
    )


def cancelled_compilation(job: CompileJob, toolchain: Toolchain | None) -> Compilation:
    """Return what GET answers for ten minutes after the last interest in `job` was withdrawn."""
    problem = failure_problem("cancelled", "Everybody who asked for this compilation withdrew.")
    return new_compilation(job, toolchain, "cancelled").model_copy(update={"problem": problem})
