"""Children read what kernels do to their parameters; the worker's own process does not."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from compiler.target import STANDARD_TARGET, parse_target
from compiler.ttir_to_numpy.task import read_ir
from jobs.deadline import Deadline, DeadlinePassed
from programs.replay.value_flow import kernel_effects
from programs.tape.kernel_effects import KernelEffects
from programs.worker import kernel_compiles
from programs.worker.kernel_compiles import effects_of
from programs.worker.program_children import reading_children
from worker.pool.idle_time import IdleTime
from worker.pool.pool import LazyPool
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.asyncio(loop_scope="module")
COPY = b"""#loc = loc("/kernel/user.py":1:1)
module {
  tt.func public @copy(%x: !tt.ptr<f32> loc("x"(#loc)), %out: !tt.ptr<f32> loc("out"(#loc))) {
    %v = tt.load %x : !tt.ptr<f32>
    tt.store %out, %v : !tt.ptr<f32>
    tt.return
  }
}
"""
TARGET = parse_target(STANDARD_TARGET)
UNKNOWN = COPY.replace(b"tt.load", b"other.call")
LINE = b"    %v = tt.load %x : !tt.ptr<f32>\n"
LONG = COPY.replace(LINE, b"".join(LINE.replace(b"%v", b"%%v%d" % n) for n in range(3_000)) + LINE)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def readers() -> AsyncIterator[LazyPool]:
    toolchain = ZygoteToolchain(Path(sys.executable), ROOT)
    pool = reading_children(toolchain, lambda: None, IdleTime())
    yield pool
    await pool.close()


def deadline() -> Deadline:
    return Deadline(60.0)


async def test_a_child_reads_each_kernel_as_this_process_would(readers: LazyPool) -> None:
    texts = {"copy": COPY, "unknown": UNKNOWN, "none": b"\xff\x00 no TTIR"}
    found = await effects_of(texts, readers, deadline(), TARGET)

    assert found["copy"] == kernel_effects(read_ir(COPY.decode(), TARGET, "ttir"))
    assert found == {
        "copy": KernelEffects(frozenset({"x"}), frozenset({"out"})),
        "unknown": None,
        "none": None,
    }


async def test_many_kernels_are_read_by_several_children(
    readers: LazyPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_compiles, "MAX_BODY_BYTES", 2 * len(COPY))
    texts = {str(number): COPY for number in range(5)}

    found = await effects_of(texts, readers, deadline(), TARGET)
    assert list(found) == list(texts)
    assert set(found.values()) == {KernelEffects(frozenset({"x"}), frozenset({"out"}))}


async def test_the_effects_of_a_kernel_that_a_child_cannot_report_are_unknown(
    readers: LazyPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_compiles, "READ_LIMIT_S", 0.01)

    assert await effects_of({"long": LONG}, readers, deadline(), TARGET) == {"long": None}


async def test_a_program_whose_time_is_over_waits_for_no_child(readers: LazyPool) -> None:
    with pytest.raises(DeadlinePassed):
        await effects_of({"copy": COPY}, readers, Deadline(0.0), TARGET)


async def test_this_process_spends_no_time_on_a_long_text(readers: LazyPool) -> None:
    await effects_of({"copy": COPY}, readers, deadline(), TARGET)  # its zygote is there
    began_s = time.process_time()
    found = await effects_of({"long": LONG}, readers, deadline(), TARGET)
    passing_s, began_s = time.process_time() - began_s, time.process_time()
    assert found == {"long": kernel_effects(read_ir(LONG.decode(), TARGET, "ttir"))}
    reading_s = time.process_time() - began_s

    assert passing_s < reading_s / 2
