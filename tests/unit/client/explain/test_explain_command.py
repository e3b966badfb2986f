"""`tritonc explain`: the settings it tries, the best one, and refused requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tritonc.cli.main import main

from tests.unit.client.gate.gate_service import KERNEL, MIX, GateService, resources

KERNELS = KERNEL.replace("@triton.jit", "# tritonc: x_ptr=*fp32:16 N=64 num_warps=1\n@triton.jit")


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GateService:
    monkeypatch.chdir(tmp_path)
    Path("double.py").write_text(KERNELS)
    return GateService()


def spilling(spilled: Callable[[int, int], int]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a compiler whose spilled bytes depend on the warps and the block."""

    def compiled(posted: dict[str, Any]) -> dict[str, Any]:
        warps, block = posted["options"]["num_warps"], posted["constexprs"]["N"]
        bytes_spilled = spilled(warps, block)
        numbers = resources(posted["target"], spill_store_bytes=bytes_spilled, threads=32)
        return {"options": {"num_warps": warps}, "resources": numbers}

    return compiled


def explain(service: GateService, *words: str) -> int:
    return main(
        ["explain", *words], environment={"TRITOND_URL": "http://t.test"}, transport=service
    )


def best(capsys: Any) -> list[tuple[str, Any]]:
    trials = json.loads(capsys.readouterr().out)["trials"]
    return [(trial["setting"], trial["value"]) for trial in trials if trial["best"]]


def test_the_best_setting_spills_least(service: GateService, capsys: Any):
    service.compiled = spilling(lambda warps, _: 64 // warps if warps < 4 else 0)

    assert explain(service, "double.py", "--json") == 0
    assert best(capsys) == [("options.num_warps", 4)]


def test_an_option_is_better_than_a_block_that_needs_as_little(service: GateService, capsys: Any):
    service.compiled = spilling(lambda warps, block: 64 * (warps == 1 and block == 64))

    assert explain(service, "double.py", "--json") == 0
    assert best(capsys) == [("options.num_warps", 2)]


def test_losing_wgmma_is_no_improvement(service: GateService, capsys: Any):
    service.compiled = spilling(lambda warps, _: 64 * (warps == 1))
    service.mix_of = lambda posted: (
        MIX
        | {"by_opcode": {"HGMMA.64x64" if posted["options"]["num_warps"] == 1 else "HMMA.16816": 8}}
    )

    assert explain(service, "double.py") == 0
    said = capsys.readouterr().out
    assert "8 HGMMA" in said
    assert "worth timing: nothing" in said


def test_without_an_improvement_nothing_is_advised(service: GateService, capsys: Any):
    service.compiled = spilling(lambda _warps, _block: 0)

    assert explain(service, "double.py") == 0
    assert "worth timing: nothing" in capsys.readouterr().out


def test_a_key_is_explained_with_what_was_posted(service: GateService, capsys: Any):
    service.compiled = spilling(lambda warps, _: 64 * (warps == 1))
    assert explain(service, "double.py", "--json") == 0
    key = json.loads(capsys.readouterr().out)["key"]

    assert explain(service, key, "--json") == 0
    assert best(capsys) == [("options.num_warps", 2)]


def test_lines_of_ir_are_those_of_its_source(service: GateService, capsys: Any):
    Path("double.ttir").write_text('module {} loc("user.py":6:1)\n')

    assert explain(service, "double.ttir") == 0
    said = capsys.readouterr().out
    assert "user.py:6  " in said
    assert "module" not in said


def test_lines_of_ir_itself_have_the_users_file_and_their_text(service: GateService, capsys: Any):
    Path("double.ttir").write_text("module {\n  tt.return\n}\n")
    row = {"file": "user.ttir", "line": 2, "total": 9, "by_class": {"control": 9}}
    service.mix_of = lambda _: MIX | {"by_line": [row]}

    assert explain(service, "double.ttir") == 0
    said = capsys.readouterr().out
    assert "double.ttir:2 " in said
    assert "tt.return" in said


def test_two_targets_are_refused(service: GateService, capsys: Any):
    assert explain(service, "double.py", "--target", "cuda:80,cuda:90") == 2
    assert "--target: give one, not 2" in capsys.readouterr().err
