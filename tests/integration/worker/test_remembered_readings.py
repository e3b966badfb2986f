"""A source is read once for all requests of its caller, and again for other callers."""

import sys
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from tests.unit.compiler.vector_add import TOOLCHAIN, job
from worker.compile.child_task import TimeLimit, read_source
from worker.compile.compile import CompileContext
from worker.compile.progress import CompilationFailed, Progress
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.asyncio(loop_scope="module")


class CountingPool:
    """A real pool that counts the children that got a job."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.jobs = 0

    async def run(self, *arguments, **more):
        self.jobs += 1
        return await self._pool.run(*arguments, **more)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def children():
    pool = Pool(ZygoteToolchain(Path(sys.executable), ROOT), spares={"parse": 1})
    await pool.start()
    yield pool
    await pool.close()


@pytest.fixture
def reading(children):
    """Return a function that reads a job's source, and counts the children that it took."""
    pool = CountingPool(children)
    nothing = cast("Any", None)
    context = CompileContext(cast("Pool", pool), TOOLCHAIN, nothing, nothing, nothing)

    async def read(asked, *, refresh=False):
        before, progress = pool.jobs, Progress()
        tasks = context.tasks_of(asked, progress, TimeLimit(60.0))
        report = await read_source(tasks, context.readings, refresh=refresh)
        assert progress.kernel == "add_kernel"
        assert progress.timings_ms["cut"] == report.ms
        return report, pool.jobs - before

    return read


async def test_another_specialization_and_target_take_the_reading_that_is_known(reading):
    first, children = await reading(job())
    assert children == 1

    other, children = await reading(job(constexprs={"BLOCK_SIZE": 64}, target="hip:gfx942"))

    assert (other, children) == (first, 0)


async def test_another_text_is_read_again(reading):
    await reading(job())
    source = "N = 1\n" + job().source

    found, children = await reading(job(source=source))

    assert children == 1
    assert found.facts.kernels[0].line == 3


async def test_another_namespace_does_not_learn_what_is_known(reading):
    await reading(job())

    assert (await reading(job(namespace="team")))[1] == 1


async def test_a_refresh_also_reads_again(reading):
    await reading(job())

    assert (await reading(job(), refresh=True))[1] == 1


async def test_what_cannot_be_read_is_not_remembered(reading):
    broken = job(source="def add_kernel(:\n", kernel="add_kernel")
    for _ in range(2):
        with pytest.raises(CompilationFailed) as raised:
            await reading(broken)
        assert raised.value.slug == "syntax_error"
