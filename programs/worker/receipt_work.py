"""The worker's part of a receipt: digests of values and of kernels, and what was asked."""

import hashlib
import mmap
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from compiler.compilation import amended
from programs.program_job import CANDIDATE, REFERENCE, ProgramJob
from programs.receipt import MOST_KERNELS, MOST_VALUES, ReceiptValue, ReceiptWork
from programs.worker.kernel_compiles import BuiltKernel
from programs.worker.replayed import Replayed, ReplayedTensor
from worker.pool.shared_bytes import Body

_OF_THE_CALLER = {"id", "caller", "namespace", "lane"}
"""Members of a job that name its caller or its queue, and change no result."""


def values_of(trial: int, replayed: Replayed, reference: Replayed | None) -> list[ReceiptValue]:
    """Return the values that both returned, the reference's first, at most `MOST_VALUES`.

    Their `case` is 0: a case does not know its number.
    """
    found: list[ReceiptValue] = []
    runs: dict[Any, Replayed | None] = {REFERENCE: reference, CANDIDATE: replayed}
    for program, run in runs.items():
        for call, returned in enumerate(run.calls if run is not None else ()):
            tensors = {p: item for p, item in returned.items() if isinstance(item, ReplayedTensor)}
            for path, item in tensors.items():
                if len(found) == MOST_VALUES:
                    return found
                found.append(
                    ReceiptValue(
                        case=0,
                        trial=trial,
                        program=program,
                        call=call,
                        path=path,
                        dtype=item.meta.dtype,
                        shape=list(item.meta.shape),
                        sha256=None if item.unwritten is not None else _digest(item.data),
                    )
                )
    return found


def _digest(data: Body | None) -> str | None:
    if data is None:
        return None
    if isinstance(data, bytes) or not len(data):
        return hashlib.sha256(bytes(data)).hexdigest()
    with mmap.mmap(data.descriptor, len(data), prot=mmap.PROT_READ) as view:  # without a copy
        return hashlib.sha256(view).hexdigest()


def digests_of(kernels: Mapping[str, BuiltKernel]) -> dict[str, dict[str, str]]:
    """Return the digest of each stage of compiled kernels, by key."""
    return {
        key: {stage: artifact.digest for stage, artifact in built.compilation.artifacts.items()}
        for key, built in kernels.items()
    }


def written_work(
    job: ProgramJob,
    triton: str,
    kernels: Mapping[str, dict[str, str]],
    values: Sequence[Sequence[ReceiptValue]],
) -> bytes:
    """Return the worker's part of a receipt as JSON. `values` are those of each case."""
    numbered = [amended(value, case=case) for case, found in enumerate(values) for value in found]
    work = ReceiptWork(
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
        triton=triton,
        job=job.model_dump(mode="json", exclude=_OF_THE_CALLER),
        kernels=dict(list(kernels.items())[:MOST_KERNELS]),
        values=numbered[:MOST_VALUES],
    )
    return work.model_dump_json().encode()
