"""Builds the record of a compilation, which is stored and answered."""

import time
from collections.abc import Mapping
from typing import Any

from compiler.abi import abi_of
from compiler.compilation import Artifact, Compilation, Resources, amended, new_compilation
from compiler.diagnostic import STDOUT_CHARS, clipped
from compiler.job import CompileJob
from compiler.occupancy import CompileSettings, Needs, fits, occupancy, shared_limit_bytes, warnings
from compiler.stages import COMPILED
from compiler.target import BACKENDS
from compiler.toolchain import Toolchain
from worker.compile.progress import CompilationFailed, Progress
from worker.compile.reports import kept_diagnostics

CHILDREN = 3
"""The number of children of one compilation: parse, front, back."""


def build_record(
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
    diagnostics = kept_diagnostics([*failed, *progress.diagnostics], children=CHILDREN)
    record = amended(
        new_compilation(job, toolchain, "failed" if failure else "succeeded"),
        kernel=progress.kernel or job.kernel,
        artifacts={
            stage: _artifact(job.key, stage, digest, len(progress.stages[stage]))
            for stage, digest in digests.items()
        },
        parameters=list(progress.parameters),
        timings_ms={name: round(ms, 3) for name, ms in progress.timings_ms.items()},
        diagnostics=diagnostics,
        complete=not progress.assumptions,
        assumptions=list(progress.assumptions),
        assumed=list(progress.assumed),
        needs=list(progress.needs),
        stdout=clipped(progress.stdout, STDOUT_CHARS),
    )
    if failure is not None:
        return amended(record, needs=failure.needs, problem=failure.problem())
    if progress.metadata is None:
        return record
    return _with_metadata(record, job, progress, progress.metadata)


def _with_metadata(
    record: Compilation, job: CompileJob, progress: Progress, metadata: dict[str, Any]
) -> Compilation:
    record = amended(record, metadata=_metadata(job, metadata))
    # shared memory is settled with the LLVM IR
    if metadata.get("shared") is None:
        return record
    resources = progress.resources or {}
    needs = _needs(job, metadata, resources)
    asked = CompileSettings(job.options, progress.parameters)
    # and the name with the assembly: what has none cannot be launched
    is_named = metadata.get("name") is not None
    listed = job.ir is not None
    return amended(
        record,
        abi=abi_of(job.target, progress.parameters, metadata, extents_listed=listed)
        if is_named
        else None,
        resources=_resources(job, needs, resources),
        diagnostics=[*record.diagnostics, *warnings(job.target, needs, asked)],
    )


def _artifact(key: str, stage: str, digest: str, size_bytes: int) -> Artifact:
    return Artifact(
        digest=digest,
        size_bytes=size_bytes,
        media_type=COMPILED[stage].media_type,
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


def _needs(job: CompileJob, metadata: dict[str, Any], reported: dict[str, int]) -> Needs:
    return Needs(
        registers=reported.get("registers", 0),
        shared_bytes=metadata["shared"] + reported.get("static_shared_bytes", 0),
        threads=metadata["num_warps"] * job.target.warp_size,
        tensor_columns=metadata.get("tmem_size") or 0,
        waves_per_simd=reported.get("waves_per_simd"),
    )


def _resources(job: CompileJob, needs: Needs, reported: dict[str, int]) -> Resources:
    backend = BACKENDS[job.target.backend]
    return Resources(
        backend=backend.name,
        registers=reported.get("registers"),
        spill_store_bytes=reported.get("spill_store_bytes"),
        spill_load_bytes=reported.get("spill_load_bytes"),
        stack_bytes=reported.get("stack_bytes"),
        shared_bytes=needs.shared_bytes,
        shared_limit_bytes=shared_limit_bytes(job.target),
        threads=needs.threads,
        tmem_columns=needs.tensor_columns if backend.has_tensor_memory else None,
        vgpr=reported.get("vgpr"),
        sgpr=reported.get("sgpr"),
        agpr=reported.get("agpr"),
        vgpr_spills=reported.get("vgpr_spills"),
        sgpr_spills=reported.get("sgpr_spills"),
        occupancy=occupancy(job.target, needs) if needs.registers else None,
        fits=fits(job.target, needs),
    )
