"""`tritonc gate --init`: a first gate file for the kernels of Python files."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.client.gate.gate_service import KERNEL, GateService, gate


def test_a_first_gate_file_passes_as_it_is(service: GateService, capsys: Any):
    Path("double.py").write_text(KERNEL)
    service.proposals = {"x_ptr": "*fp32", "N": "constexpr"}

    assert gate(service, "--init", "double.py", "--target", "h100", "gfx942") == 0

    text = Path("kernels.toml").read_text()
    assert "# guessed: assumes *fp32 x_ptr; N=64" in text
    written = tomllib.loads(text)
    assert written["matrix"] == {"targets": ["cuda:90", "hip:gfx942"]}
    assert written["kernels"] == {
        "double": {
            "source": "double.py",
            "kernel": "double",
            "signature": {"x_ptr": "*fp32"},
            "constexprs": {"N": 64},
        }
    }
    assert "assumes *fp32 x_ptr; N=64" in capsys.readouterr().err
    assert gate(service, "--update-baseline") == 0
    assert gate(service) == 0


def test_a_folder_stands_for_its_files_with_kernels(service: GateService, capsys: Any):
    folder = Path("kernels")
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner" / "double.py").write_text(KERNEL)

    assert gate(service, "--init", "kernels") == 0

    written = tomllib.loads(Path("kernels.toml").read_text())
    assert written["kernels"]["double"]["source"] == "kernels/inner/double.py"


def written_kernels() -> dict[str, Any]:
    kernels: dict[str, Any] = tomllib.loads(Path("kernels.toml").read_text())["kernels"]
    return kernels


def test_a_function_that_a_kernel_of_another_file_calls_is_not_guarded(service: GateService):
    Path("helpers.py").write_text(KERNEL.replace("double", "act"))
    Path("double.py").write_text("from helpers import act\n" + KERNEL.replace("2 *", "act(2) *"))
    service.kernels = ["act", "double"]

    assert gate(service, "--init", "double.py", "helpers.py") == 0

    assert [*written_kernels()] == ["double"]


def test_a_function_that_is_launched_is_guarded_though_a_kernel_calls_it(service: GateService):
    folder = Path("kernels")
    folder.mkdir()
    (folder / "helpers.py").write_text(KERNEL.replace("double", "act"))
    double = KERNEL.replace("2 *", "act(2) *")
    (folder / "double.py").write_text(f"from helpers import act\n{double}")
    (folder / "host.py").write_text("from helpers import act\n\nact[(1,)](None, 64)\n")
    service.kernels = ["act", "double"]

    assert gate(service, "--init", "kernels") == 0

    assert [*written_kernels()] == ["double", "act"]


def test_a_file_that_is_named_twice_is_listed_once(service: GateService):
    folder = Path("kernels")
    folder.mkdir()
    (folder / "double.py").write_text(KERNEL)

    assert gate(service, "--init", "kernels/double.py", "kernels", "./kernels/double.py") == 0

    assert [*written_kernels()] == ["double"]


def test_a_file_that_cannot_be_read_is_left_out_with_a_note(service: GateService, capsys: Any):
    Path("double.py").write_text(KERNEL)
    Path("bad.py").write_bytes(b"# triton.jit\n'\xff'\n")

    assert gate(service, "--init", ".") == 0

    assert [*written_kernels()] == ["double"]
    assert "note: bad.py is left out: bad.py is not" in capsys.readouterr().err


def test_a_file_is_inspected_once_for_all_of_its_kernels(service: GateService):
    Path("double.py").write_text(KERNEL + KERNEL.replace("double", "twice"))
    service.kernels = ["double", "twice"]

    assert gate(service, "--init", "double.py") == 0

    assert [*written_kernels()] == ["double", "twice"]
    assert service.inspected == 1


def test_what_was_read_before_the_service_was_lost_is_written(
    service: GateService, capsys: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tritonc._sync.http_connection.sleep", lambda _: None)
    monkeypatch.setattr("tritonc.cli.file_kernels.AT_ONCE", 1)
    Path("a.py").write_text(KERNEL)
    Path("b.py").write_text(KERNEL.replace("double", "twice"))
    service.lost_after = 1

    assert gate(service, "--init", ".", "--wait-s", "0") == 3

    assert [*written_kernels()] == ["double"]
    said = capsys.readouterr().err
    assert "note: 1 of 2 files are left out: no answer from " in said
    assert "wrote kernels.toml with 1 kernel, not all that there are" in said


def test_hidden_folders_are_not_searched(service: GateService, capsys: Any):
    Path(".venv").mkdir()
    Path(".venv/double.py").write_text(KERNEL)

    assert gate(service, "--init", ".") == 2

    assert "there is no @triton.jit" in capsys.readouterr().err


def test_files_without_a_kernel_make_no_gate_file(service: GateService, capsys: Any):
    Path("plain.py").write_text("x = 1\n")
    service.kernels = []

    assert gate(service, "--init", "plain.py") == 2

    assert "plain.py: there is no @triton.jit" in capsys.readouterr().err


def test_what_the_kernel_says_itself_is_not_repeated(service: GateService):
    said = KERNEL.replace("@triton.jit", "# tritonc: x_ptr=*fp16:16 N=128\n@triton.jit")
    Path("double.py").write_text(said)

    assert gate(service, "--init", "double.py", "--update-baseline") == 0

    kernel = tomllib.loads(Path("kernels.toml").read_text())["kernels"]["double"]
    assert kernel == {"source": "double.py", "kernel": "double"}
    assert service.requests[0]["signature"] == {"x_ptr": "*fp16:16"}


def test_what_nobody_knows_is_left_to_fill_in(service: GateService, capsys: Any):
    Path("double.py").write_text(KERNEL)

    assert gate(service, "--init", "double.py") == 0

    kernel = tomllib.loads(Path("kernels.toml").read_text())["kernels"]["double"]
    assert kernel["signature"] == {"x_ptr": "?"}
    assert kernel["constexprs"] == {"N": "?"}
    assert 'double: fill in x_ptr, N, written as "?"' in capsys.readouterr().err


def test_a_gate_file_that_exists_is_kept(service: GateService, capsys: Any):
    Path("kernels.toml").write_text("mine")

    assert gate(service, "--init", "double.py") == 2

    assert Path("kernels.toml").read_text() == "mine"
    assert "kernels.toml exists" in capsys.readouterr().err
