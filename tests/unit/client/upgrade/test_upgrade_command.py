"""`tritonc upgrade`: ranks what another Triton changes, and proposes settings as a patch."""

import json
from pathlib import Path
from typing import Any

import pytest
from tritonc.cli.main import main
from tritonc.upgrade.proposals import MAX_TRIED

from tests.unit.client.gate.gate_service import KERNEL, MIX, GateService, resources

KERNELS = KERNEL.replace("@triton.jit", "# tritonc: x_ptr=*fp32:16 N=64 num_warps=1\n@triton.jit")


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GateService:
    """A service whose newer Triton spills, except with two warps."""
    monkeypatch.chdir(tmp_path)
    Path("double.py").write_text(KERNELS)
    made = GateService()

    def compiled(posted: dict[str, Any]) -> dict[str, Any]:
        warps = posted["options"]["num_warps"]
        is_worse = posted["triton"] == "3.9.0" and warps == 1
        return {
            "options": {"num_warps": warps},
            "resources": resources(posted["target"], spill_store_bytes=64 * is_worse),
        }

    made.compiled = compiled
    made.mixes["cuda:90", "3.9.0"] = MIX | {
        "by_line": [{"file": "user.py", "line": 8, "total": 18, "by_class": {"local": 18}}]
    }
    return made


def upgrade(service: GateService, *words: str) -> int:
    argv = ["upgrade", "double.py", *words, "--triton", "3.6,3.9"]
    return main(argv, environment={"TRITOND_URL": "http://t.test"}, transport=service)


def test_the_worse_kernel_has_its_line_and_a_setting_that_helps(service: GateService, capsys: Any):
    assert upgrade(service) == 1

    said = capsys.readouterr().out
    assert "0 -> 64" in said
    assert "double.py:8: 0 -> 18 instructions: tl.store(x_ptr + offsets" in said
    assert "proposed: num_warps 1 -> 2: spills 0, occupancy 0.5, instructions 20" in said
    assert "1 compared: 1 worse, 0 with the same machine code, 0 not judged" in said


def test_the_patch_changes_the_kernels_comment(service: GateService):
    assert upgrade(service, "--patch", "fix.patch") == 1

    lines = Path("fix.patch").read_text().splitlines()
    assert lines[:2] == ["--- a/double.py", "+++ b/double.py"]
    assert [line for line in lines[3:] if line[0] in "+-"] == [
        "-# tritonc: x_ptr=*fp32:16 N=64 num_warps=1",
        "+# tritonc: x_ptr=*fp32:16 N=64 num_warps=2",
    ]


def test_a_source_with_many_constexprs_is_compiled_a_bounded_number_of_times(
    service: GateService, capsys: Any
):
    constexprs = " ".join(f"C{n}=64" for n in range(200))
    Path("double.py").write_text(KERNELS.replace("N=64", f"N=64 {constexprs}"))
    service.parameters += [f"C{n}" for n in range(200)]
    compiled, asked = service.compiled, []

    def always_worse(posted: dict[str, Any]) -> dict[str, Any]:
        asked.append(posted)
        is_new = posted["triton"] == "3.9.0"
        spilled = resources(posted["target"], spill_store_bytes=64 * is_new)
        return compiled(posted) | {"resources": spilled}

    service.compiled = always_worse
    assert upgrade(service) == 1
    assert len(asked) == 2 + MAX_TRIED
    said = capsys.readouterr().out
    # a half and a quarter of each of 201 constexprs, and twice and four times the warps
    assert f"; {2 * 201 + 2 - MAX_TRIED} more settings were not tried" in said


def test_worse_targets_come_first(service: GateService, capsys: Any):
    service.mixes = {}
    assert upgrade(service, "--target", "gfx942", "--target", "cuda:90", "--json") == 1

    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["target"], row["worse"], row["identical"]) for row in rows] == [
        ("cuda:90", True, False),
        ("hip:gfx942", False, True),
    ]


def test_without_a_change_for_the_worse_it_succeeds(service: GateService):
    service.compiled = lambda posted: {"options": posted["options"]}

    assert upgrade(service, "--patch", "none.patch") == 0
    assert not Path("none.patch").exists()


def test_an_unknown_triton_lists_those_there(service: GateService, capsys: Any):
    argv = ["upgrade", "double.py", "--triton", "3.6,4"]

    assert main(argv, environment={"TRITOND_URL": "http://t.test"}, transport=service) == 2
    assert "available: 3.6.0, 3.9.0" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_does_not_stop_the_others(service: GateService, capsys: Any):
    Path("bad.py").write_text("# coding: none\nimport triton.jit\n")

    argv = ["upgrade", "bad.py", "double.py", "--triton", "3.6,3.9", "--target", "gfx942"]

    main(argv, environment={"TRITOND_URL": "http://t.test"}, transport=service)

    said = capsys.readouterr()
    assert "note: bad.py is left out: " in said.err
    assert "1 compared" in said.out


def test_a_function_that_a_kernel_of_another_file_calls_is_not_compared(
    service: GateService, capsys: Any
):
    Path("helpers.py").write_text(KERNELS.replace("double", "act"))
    Path("double.py").write_text(
        "import helpers\n"
        + KERNELS.replace("N=64 num_warps=1", "N=64").replace("2 *", "helpers.act(2) *")
    )
    service.kernels = ["act", "double"]
    service.compiled = lambda posted: {}

    assert upgrade(service, "helpers.py", "--json") == 0

    assert [row["kernel"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["double"]


def test_progress_is_written_where_it_cannot_be_drawn(
    service: GateService, capsys: Any, monkeypatch: pytest.MonkeyPatch
):
    for module in ("file_kernels", "upgrade_command"):
        monkeypatch.setattr(f"tritonc.cli.{module}.LINE_EVERY_S", 0.0)

    upgrade(service)

    said = capsys.readouterr().err.splitlines()
    assert said[0] == "read 1 of 1 files"
    assert said[-1] == "compared 1 of 1 kernels"
