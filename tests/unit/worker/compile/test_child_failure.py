"""Abnormal ends of children: the stage that ran out of time, and whose fault it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.job import CompileJob
from compiler.messages.orders import BackOrder, FrontOrder, Order, PostedOrder
from tests.unit.compiler.vector_add import job
from worker.compile.child_failure import failure_of
from worker.pool.child_outcome import ChildOutcome, Ending, Usage

OUT_OF_TIME = ChildOutcome(
    ending=Ending.DEADLINE,
    detail="",
    stages=(),
    result=None,
    failure=None,
    stdout=b"",
    stderr=b"",
    signal=None,
    exit_status=None,
    usage=None,
)
IR = {"language": "ttir", "text": "module {}"}


def posted(**ir: object) -> CompileJob:
    return job(source=None, kernel=None, signature=None, constexprs=None, ir=IR | ir)


UNDER_WAY = {
    "executing the source": (FrontOrder, job(), [], "frontend"),
    "the passes of TTIR": (FrontOrder, job(), ["source"], "ttir"),
    "tiling": (BackOrder, job(), ["source", "ttir"], "ttgir"),
    "tiling of Gluon, which has no TTIR": (BackOrder, job(), ["source"], "ttgir"),
    "LLVM": (BackOrder, job(), ["source", "ttir", "ttgir"], "llir"),
    "the assembler": (BackOrder, job(), ["source", "ttir", "ttgir", "llir", "ptx"], "cubin"),
    "AMD's assembler": (
        BackOrder,
        job(target="hip:gfx942"),
        ["source", "ttir", "ttgir", "llir", "amdgcn"],
        "hsaco",
    ),
    "reading posted IR": (PostedOrder, posted(), [], "ttir"),
    "lowering posted IR": (PostedOrder, posted(), ["ttir"], "ttgir"),
    "canonicalizing posted IR": (PostedOrder, posted(canonicalize=True), ["source"], "ttir"),
}


@pytest.mark.parametrize(("order", "job", "reached", "stage"), UNDER_WAY.values(), ids=UNDER_WAY)
def test_the_stage_that_ran_out_of_time_is_named(
    order: type[Order], job: CompileJob, reached: list[str], stage: str
) -> None:
    failed = failure_of(order, OUT_OF_TIME, job, dict.fromkeys(reached, b""), 60)

    assert failed.slug == "compile_timeout"
    assert f"timeout_s = 60 s; it ran out of time in stage {stage}." in str(failed)
    assert [item.stage for item in failed.diagnostics] == [stage]


def test_a_sandbox_that_cannot_be_set_up_is_no_fault_of_the_source() -> None:
    failed = failure_of(FrontOrder, replace(OUT_OF_TIME, ending=Ending.SANDBOX), job(), {}, 60)

    assert (failed.slug, failed.problem().fault) == ("worker_lost", "service")


DUMPED = b"""printed by the source
Stack (most recent call first):
  File "/kernel/user.py", line 1 in <module>
Stack (most recent call first):
  File "/usr/lib/python3/json/decoder.py", line 353 in raw_decode
  File "/kernel/pkg/table.py", line 2 in build
  File "/kernel/user.py", line 1 in <module>
"""


def test_a_source_that_ran_out_of_time_is_told_the_line_that_ran_last() -> None:
    texts = {"pkg/table.py": "def build():\n    return loads(TEXT)\n"}
    killed = replace(OUT_OF_TIME, stderr=DUMPED)

    failed = failure_of(FrontOrder, killed, job(files=texts), {}, 60)

    assert "in stage frontend, at pkg/table.py:2. Move work out of module level." in str(failed)
    [found] = failed.diagnostics
    assert (found.file, found.line) == ("pkg/table.py", 2)
    assert "return loads(TEXT)" in (found.excerpt or "")


def test_a_source_that_used_up_the_time_of_its_process_is_told_the_line() -> None:
    usage = Usage(cpu_s=120.0, max_rss_bytes=1)
    ended = replace(OUT_OF_TIME, ending=Ending.SIGNAL, signal=9, usage=usage, stderr=DUMPED)

    failed = failure_of(FrontOrder, ended, job(), {}, 600)

    assert failed.slug == "compile_timeout"
    assert "took longer than 120 s of CPU, at pkg/table.py:2" in str(failed)


def test_a_front_end_that_ran_out_of_time_outside_of_the_source_is_told_no_line() -> None:
    of_triton = b'Stack (most recent call first):\n  File "/lib/triton/ir.py", line 3 in visit\n'

    failed = failure_of(FrontOrder, replace(OUT_OF_TIME, stderr=DUMPED + of_triton), job(), {}, 60)

    assert "Smaller tiles" in str(failed)
    assert "pkg/table.py" not in str(failed)
