"""Mapped large outputs compare the same as piped ones."""

import numpy as np
import pytest

from compiler.specialization import Specialization
from launch.request.bound_arguments import BoundArguments
from launch.request.reference_request import Reference
from tests.integration.launch.child_runs import Bound, out
from worker.launch import large_body
from worker.launch.comparison import Actual, compare
from worker.launch.reference import Expected
from worker.launch.run import PreparedRun
from worker.pool.shared_bytes import SharedBytes

pytestmark = pytest.mark.asyncio(loop_scope="session")

SIZE = 40_000


def run_of_outputs():
    bound = Bound({"z": out(SIZE), "counts": out(10, dtype="i64")})
    arguments = BoundArguments.model_validate(
        {"allocations": bound.allocations, "arguments": bound.arguments}
    )
    return PreparedRun("k", arguments, [1, 1, 1], {}, Specialization())


async def compared(pool):
    z = np.random.default_rng(1).normal(0, 1, SIZE).astype(np.float32)
    counts = np.arange(10)
    expected = z.astype(np.float64)
    expected[[5, -1]] += 1
    bits = np.packbits(np.arange(SIZE) == 7).tobytes()
    return await compare(
        pool,
        run_of_outputs(),
        Actual({"z": z.tobytes(), "counts": counts.tobytes()}, {"z": bits}),
        Expected({"z": expected.tobytes(), "counts": counts.tobytes()}, {"z": "float64"}),
        Reference(source="...", rtol=1e-6),
        {"z": "tensor", "counts": "values"},
    )


async def test_what_is_shared_compares_as_what_is_not(pool, monkeypatch):
    shared = []

    async def share(parts):
        shared.append(SharedBytes(parts))
        return shared[-1]

    by_pipe = await compared(pool)
    monkeypatch.setattr(large_body, "SHARED_FROM_BYTES", 1000)
    monkeypatch.setattr(SharedBytes, "of", share)
    mapped = await compared(pool)

    assert mapped == by_pipe
    assert len(shared) == 1
    found = mapped.outputs["z"].comparison
    assert (found.mismatched, found.unwritten, found.first_mismatch.index) == (3, 1, [5])


async def test_a_machine_without_memory_to_share_compares_through_a_pipe(pool, monkeypatch, caplog):
    async def refuse(parts):
        raise OSError("no memfd here")

    by_pipe = await compared(pool)
    monkeypatch.setattr(large_body, "SHARED_FROM_BYTES", 1000)
    monkeypatch.setattr(SharedBytes, "of", refuse)

    assert await compared(pool) == by_pipe
    assert "no memfd here" in caplog.text
