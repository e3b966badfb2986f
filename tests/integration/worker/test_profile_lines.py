"""A real sandboxed child sums a real cubin's counters by line; a profiler itself needs a GPU."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import pytest_asyncio

from compiler.abi import abi_of
from compiler.compilation import Compilation
from compiler.lines.hot_lines import CountedInstruction, counters_json
from compiler.target import Target
from launch.profile_record import Profile
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import KERNELS, Compiled, compile_kernel, read
from worker.compile.compile import CompileContext
from worker.launch.gpu.profile_lines import add_lines
from worker.launch.run import RunResult
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parents[3]
ADD = KERNELS / "good" / "vector_add.py"
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@pytest.fixture(scope="module")
def compiled() -> Iterator[Compiled]:
    children = Children()
    yield compile_kernel(children, read(ADD))
    children.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Pool]:
    pool = Pool(ZygoteToolchain(Path(sys.executable), ROOT, "compiler.front.tasks"), spares={})
    await pool.start()
    yield pool
    await pool.close()


class Blobs:
    """Fakes the store: holds artifacts by their stage's name."""

    def __init__(self, stages: dict[str, bytes]) -> None:
        self._stages = stages

    async def get(self, digest: str) -> bytes | None:
        return self._stages.get(digest)


def context_of(pool: Pool, stages: dict[str, bytes]) -> CompileContext:
    toolchain = SimpleNamespace(triton="3.9.0")
    context = SimpleNamespace(pool=pool, blobs=Blobs(stages), toolchain=toolchain)
    return cast("CompileContext", context)


def compilation_of(compiled: Compiled) -> Compilation:
    assert compiled.front is not None
    metadata = {"name": compiled.front["kernel"], "num_warps": 4, "shared": 0}
    artifacts = {name: SimpleNamespace(digest=name) for name in compiled.stages}
    abi = abi_of(Target("cuda", 90, 32), [], metadata)
    return cast("Compilation", SimpleNamespace(artifacts=artifacts, abi=abi))


def profiled(counters: bytes) -> RunResult:
    return RunResult(profile=Profile(registers=26), counters=counters)


LOAD = counters_json([CountedInstruction(0, "LDC R1, c[0x0][0x28]", 3, 12, {"wait": 3})])


async def test_lines_come_into_the_profile(pool: Pool, compiled: Compiled) -> None:
    result = profiled(LOAD)

    await add_lines(result, compilation_of(compiled), context_of(pool, compiled.stages))

    assert result.findings == []
    assert result.profile is not None
    assert result.profile.lines is not None
    (line,) = result.profile.lines
    text = read(ADD).text.splitlines()
    assert re.match(r"def |@triton", text[(line.line or 0) - 1])
    assert (line.file, line.samples, line.top_stall) == ("user.py", 3, "wait")
    assert (result.profile.registers, result.profile.samples) == (26, 3)


@pytest.mark.parametrize(
    ("stages", "counters", "said"),
    [
        ({"ptx": b"", "cubin": b"no cubin"}, LOAD, "nvdisasm ended with"),
        ({"ptx": b""}, LOAD, "the artifact cubin has left the cache"),
        (None, b"[[1]]", "not disassembled"),
    ],
)
async def test_what_cannot_be_folded_is_a_finding(
    pool: Pool, compiled: Compiled, stages: dict[str, bytes] | None, counters: bytes, said: str
) -> None:
    result = profiled(counters)
    held: Any = compiled.stages if stages is None else stages

    await add_lines(result, compilation_of(compiled), context_of(pool, held))

    (finding,) = result.findings
    assert finding.kind == "not_profiled"
    assert said in finding.message
    assert result.profile == Profile(registers=26)
