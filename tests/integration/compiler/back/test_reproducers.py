"""A failing pass's reproducer has the failing module, not the one that Triton makes MLIR add."""

from __future__ import annotations

import os
from typing import Any

import pytest

from compiler.back import contexts, locations, triton_api
from compiler.back.mlir_log import failing_pass
from compiler.target import Target
from launch.cpu.small_kernel import TEXT

WORDS = b"user.py:1:1: error: bad\n"
BEHIND = b"user.py:1:1: note: Pipeline failed while executing [`Broken`]\n"
MODULE = b"""#blocked = #ttg.blocked<{order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @k() {
  }
}

{-#
  external_resources: {
  }
#-}
"""


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore this process's reproducer path."""
    monkeypatch.delenv("TRITON_REPRODUCER_PATH", raising=False)


def lowered(ctas: int) -> Any:
    """Return the small kernel after its second stage; a pass refuses three CTAs."""
    backend = triton_api.make_backend(triton_api.target_of(Target("cuda", 90, 32)))
    module = locations.parse(TEXT.decode(), contexts.new_context(backend))
    options = backend.parse_options({"num_ctas": ctas, "enable_fp_fusion": True})
    lower = triton_api.stages_of(backend, options, "ttir")["ttgir"]
    return lower(module, {"target": backend.target, **vars(options)})


def test_a_run_that_fails_says_so_without_the_module(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="run failed"):
        lowered(3)
    assert "tt.func public @small" in capfd.readouterr().err  # Triton adds it by default

    with contexts.without_reproducers(), pytest.raises(RuntimeError, match="run failed"):
        lowered(3)

    said = capfd.readouterr().err
    assert "tt.func" not in said
    assert failing_pass(said) == "ConvertTritonToTritonGPU"


def test_a_path_that_cannot_be_made_says_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    contexts.disable_reproducers()

    with pytest.raises(RuntimeError, match="run failed"):
        lowered(3)

    said = capfd.readouterr().err
    assert "tt.func" not in said
    assert failing_pass(said) == "ConvertTritonToTritonGPU"


def test_what_is_made_is_the_same_by_all_three_ways(capfd: pytest.CaptureFixture[str]) -> None:
    made = [str(lowered(1))]
    with contexts.without_reproducers():
        made.append(str(lowered(1)))
    contexts.disable_reproducers()
    made.append(str(lowered(1)))

    assert made[0] == made[1] == made[2]
    assert capfd.readouterr().err == ""


def test_what_a_run_that_succeeds_says_is_passed_on(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLIR_ENABLE_DUMP", "1")

    with contexts.without_reproducers():
        lowered(1)

    assert "IR Dump Before ConvertTritonToTritonGPU" in capfd.readouterr().err


@pytest.mark.parametrize("before", [None, "/proc/0/reproducer"])
def test_all_is_as_before_afterwards(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    run = triton_api.ir.pass_manager.run
    if before is not None:
        monkeypatch.setenv("TRITON_REPRODUCER_PATH", before)

    with pytest.raises(RuntimeError), contexts.without_reproducers():
        lowered(3)

    assert os.environ.get("TRITON_REPRODUCER_PATH") == before
    assert triton_api.ir.pass_manager.run is run


def test_only_the_module_is_cut_out() -> None:
    assert contexts.log_without_module(WORDS + MODULE + BEHIND) == WORDS + BEHIND
    assert contexts.log_without_module(WORDS + BEHIND) == WORDS + BEHIND
    assert contexts.log_without_module(b"") == b""


def test_a_module_without_its_end_is_bounded_and_what_is_behind_it_kept() -> None:
    cut = contexts.log_without_module(WORDS + b"module {\n" + b"  x\n" * (1 << 20) + BEHIND)

    assert cut.startswith(WORDS)
    assert cut.endswith(BEHIND)
    assert len(cut) < 64 << 10
