"""A source that never comes back from a call of C code is ended, and its line is known."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.messages.orders import FrontOrder
from tests.unit.compiler.vector_add import job
from worker.compile.child_failure import failure_of
from worker.compile.child_task import carry_out
from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteToolchain
from worker.sandbox.profile import PROFILES

ROOT = Path(__file__).parents[3]
SOURCE = b"import triton\n\n\ndef table():\n    return sum(iter(int, 1))\n\n\nSIZE = table()\n"


@pytest.mark.asyncio
async def test_the_line_of_an_endless_call_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    front = PROFILES["front"]
    short = replace(front.limits, cpu_s=3)
    monkeypatch.setitem(PROFILES, "front", replace(front, limits=short))
    toolchain = ZygoteToolchain(Path(sys.executable), ROOT, limits={"front": short})
    pool = Pool(toolchain, spares={})
    asked = job()
    order = FrontOrder(
        kernel="k", signature={}, constexprs={}, options=asked.options, target=asked.target
    )
    await pool.start()
    try:
        outcome = await carry_out(pool, order, SOURCE, deadline_s=300)
    finally:
        await pool.close()

    failed = failure_of(order, outcome, asked, {}, 300)
    assert (outcome.ending, outcome.signal) == (Ending.SIGNAL, 9)
    assert failed.slug == "compile_timeout"
    assert "3 s of CPU, at user.py:5. Move work out of module level." in str(failed)
