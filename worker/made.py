"""From what a compilation came to, to the record that is stored and answered."""

import time
from collections.abc import Mapping
from typing import Any

from compiler.abi import abi_of
from compiler.compilation import Artifact, Compilation, Resources
from compiler.job import CompileJob
from compiler.occupancy import fits, occupancy
from compiler.problem import failure_problem
from compiler.record import new_compilation
from compiler.target import MEDIA_TYPES
from compiler.toolchain import Toolchain
from worker.progress import CompilationFailed, Progress


def made_compilation(
    job: CompileJob,
    toolchain: Toolchain,
    progress: Progress,
    digests: Mapping[str, str],
    started: float,
    failure: CompilationFailed | None,
) -> Compilation:
    """Return the record of a compilation that succeeded, or failed with `failure`.

    `digests` are of the stages reached, whose blobs were put before; `started` is of
    `time.monotonic()`.
    """
    progress.timings_ms["total"] = (time.monotonic() - started) * 1000
    failed = failure.diagnostics if failure else []
    made: dict[str, Any] = {
        "state": "failed" if failure else "succeeded",
        "kernel": progress.kernel or job.kernel,
        "artifacts": {
            stage: _artifact(job.key, stage, digest, len(progress.stages[stage]))
            for stage, digest in digests.items()
        },
        "parameters": list(progress.parameters),
        "timings_ms": {name: round(ms, 3) for name, ms in progress.timings_ms.items()},
        "diagnostics": [*failed, *progress.diagnostics],
        "stdout": progress.stdout,
    }
    if failure is not None:
        made["problem"] = failure_problem(failure.slug, str(failure), failure.parameter)
    elif progress.metadata is not None:
        made["metadata"] = _metadata(job, progress.metadata)
        # the name and the shared memory are settled with the LLVM IR: before it nothing can launch
        if progress.metadata.get("shared") is not None:
            made["abi"] = abi_of(
                job.target,
                progress.parameters,
                progress.metadata,
                extents_listed=job.ir is not None,
            )
            made["resources"] = _resources(job, progress.metadata, progress.resources)
    return new_compilation(job, toolchain, "succeeded").model_copy(update=made)


def _artifact(key: str, stage: str, digest: str, size_bytes: int) -> Artifact:
    return Artifact(
        digest=digest,
        size_bytes=size_bytes,
        media_type=MEDIA_TYPES[stage],
        url=f"/v1/compilations/{key}/artifacts/{stage}",
    )


def _metadata(job: CompileJob, metadata: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": metadata["name"],
        "num_warps": metadata["num_warps"],
        "num_stages": job.options.get("num_stages"),
        "num_ctas": metadata.get("num_ctas") or 1,
        "shared_bytes": metadata["shared"],
        "tmem_columns": metadata.get("tmem_size", 0),
    }


def _resources(job: CompileJob, metadata: dict[str, Any], said: dict[str, int] | None) -> Resources:
    known = said or {}
    threads = metadata["num_warps"] * job.target.warp_size
    registers = known.get("registers")
    shared_bytes = metadata["shared"] + known.get("static_shared_bytes", 0)
    return Resources(
        backend=job.target.backend,
        registers=registers,
        spill_store_bytes=known.get("spill_store_bytes"),
        spill_load_bytes=known.get("spill_load_bytes"),
        stack_bytes=known.get("stack_bytes"),
        shared_bytes=shared_bytes,
        vgpr=known.get("vgpr"),
        sgpr=known.get("sgpr"),
        agpr=known.get("agpr"),
        vgpr_spills=known.get("vgpr_spills"),
        sgpr_spills=known.get("sgpr_spills"),
        occupancy=occupancy(job.target, registers, shared_bytes, threads) if registers else None,
        fits=fits(job.target, shared_bytes, threads),
    )
