"""A hostile gate file or link cannot make the gate touch files outside the checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.client.gate.gate_service import KERNEL, GateService, asking_for, gate, write_gate

SECRET = "password = 'hunter2'\n"
LAUNCH = "[kernels.double.launch]\ndevice = 'cpu'\ngrid = [1]\n"


@pytest.fixture
def outside(service: GateService, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file outside the checkout, which is the working directory."""
    secret = Path("secret.py").resolve()
    secret.write_text(SECRET)
    checkout = Path("checkout")
    (checkout / ".git").mkdir(parents=True)
    (checkout / ".git" / "config").write_text(SECRET)
    monkeypatch.chdir(checkout)
    Path("linked.py").symlink_to(secret)
    Path("folder").symlink_to(secret.parent)
    Path("circle.py").symlink_to("circle.py")
    return secret


def refused(service: GateService, capsys: Any, *argv: str) -> str:
    """Return the error of a gate that judges nothing and sends nothing."""
    assert gate(service, *argv) == 2
    said = capsys.readouterr().err
    assert "hunter2" not in said
    assert not service.requests
    return said


OUTSIDE = ["../secret.py", "linked.py", "folder/secret.py", "{secret}", "folder/../secret.py"]


def write_member(member: str, path: str) -> None:
    """Write a gate file whose kernel uses `path` as its source, argument file or reference."""
    launch = LAUNCH + "arguments = {x_ptr = 'fp32[64]:ones'}\n"
    added = {"source": "", "files": f"files = {{'a.py' = '{path}'}}"}
    write_gate("", added.get(member, f"{launch}reference = '{path}'"))
    if member == "source":
        text = Path("kernels.toml").read_text().replace("'double.py'", f"'{path}'")
        Path("kernels.toml").write_text(text)


@pytest.mark.parametrize("member", ["source", "files", "reference"])
@pytest.mark.parametrize("written", OUTSIDE)
def test_a_text_outside_is_not_read(
    service: GateService, outside: Path, capsys: Any, member: str, written: str
):
    path = written.format(secret=outside)
    write_member(member, path)

    assert f"{path} leaves the checkout" in refused(service, capsys)


@pytest.mark.parametrize("member", ["source", "files", "reference"])
def test_files_in_dot_git_are_not_read(
    service: GateService, outside: Path, capsys: Any, member: str
):
    """`.git` may hold the token of the checkout."""
    write_member(member, ".git/config")

    assert ".git/config is inside .git" in refused(service, capsys)


def test_a_file_of_an_argument_outside_is_not_read(
    service: GateService, outside: Path, capsys: Any
):
    write_gate("", LAUNCH + "arguments = {x_ptr = '@linked.py'}")

    assert "linked.py leaves the checkout" in refused(service, capsys)


def test_a_circle_of_links_is_a_fault(service: GateService, outside: Path, capsys: Any):
    write_gate("")
    text = Path("kernels.toml").read_text()
    Path("kernels.toml").write_text(text.replace("double.py", "circle.py"))

    assert "kernels.double.source: circle.py: " in refused(service, capsys)


def test_a_module_that_is_a_link_out_does_not_travel(
    service: GateService, outside: Path, capsys: Any
):
    write_gate("")
    Path("double.py").write_text(f"import linked\n{KERNEL}")
    service.compiled = asking_for("linked")

    assert gate(service) == 2
    assert [request.get("absent") for request in service.requests] == [["linked"]]
    assert "hunter2" not in str(service.requests)
    said = capsys.readouterr().err
    assert "linked: the module cannot be read: " in said
    assert "linked.py leaves the checkout" in said


def test_a_source_above_the_gate_file_is_read_within_the_checkout(
    service: GateService, outside: Path
):
    Path("ci").mkdir()
    write_gate("")
    text = Path("kernels.toml").read_text().replace("'double.py'", "'../double.py'")
    Path("ci/kernels.toml").write_text(text)

    assert gate(service, "ci/kernels.toml") == 0
    assert service.requests[0]["source"] == KERNEL


def test_without_git_the_folder_of_the_gate_file_is_the_checkout(service: GateService, capsys: Any):
    Path("ci").mkdir()
    write_gate("")
    text = Path("kernels.toml").read_text().replace("'double.py'", "'../double.py'")
    Path("ci/kernels.toml").write_text(text)

    assert "../double.py leaves the checkout" in refused(service, capsys, "ci/kernels.toml")
    assert gate(service, "ci/kernels.toml", "--checkout", ".") == 0


@pytest.mark.parametrize("name", ["../base.json", "folder/base.json", "linked.json"])
def test_a_baseline_outside_is_neither_read_nor_written(
    service: GateService, outside: Path, capsys: Any, name: str
):
    there = outside.parent / "base.json"
    there.write_text("{}")
    Path("linked.json").symlink_to(there)
    write_gate("")
    text = Path("kernels.toml").read_text()
    Path("kernels.toml").write_text(f"baseline = '{name}'\n{text}")

    assert "leaves the checkout" in refused(service, capsys, "--update-baseline")
    assert there.read_text() == "{}"


def test_a_report_does_not_follow_a_link_out_of_the_checkout(
    service: GateService, outside: Path, capsys: Any
):
    write_gate("")

    assert gate(service, "--markdown", "linked.py") == 2
    assert "linked.py leaves the checkout" in capsys.readouterr().err
    assert outside.read_text() == SECRET


@pytest.mark.parametrize("name", ["linked.py", "folder/secret.py"])
def test_a_report_does_not_follow_it_by_another_name_of_the_checkout(
    service: GateService, outside: Path, capsys: Any, name: str
):
    """For example when a runner's work folder is a link."""
    write_gate("")
    (outside.parent / "alias").symlink_to("checkout")

    assert gate(service, "--markdown", str(outside.parent / "alias" / name)) == 2
    assert f"{name} leaves the checkout" in capsys.readouterr().err
    assert outside.read_text() == SECRET


def test_the_command_line_may_name_a_baseline_and_a_report_elsewhere(
    service: GateService, outside: Path
):
    write_gate("[budgets]\nregisters = '<= baseline'")
    elsewhere = outside.parent
    baseline = ["--baseline", str(elsewhere / "base.json")]

    assert gate(service, "--update-baseline", *baseline) == 0
    assert gate(service, *baseline, "--markdown", str(elsewhere / "gate.md")) == 0
    assert gate(service, *baseline, "--sarif", "../gate.sarif") == 0
    assert (elsewhere / "gate.md").read_text().startswith("## tritonc gate: passed")
    assert (elsewhere / "gate.sarif").exists()


def test_reports_name_files_from_the_checkout(
    service: GateService, outside: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    Path("ci").mkdir()
    monkeypatch.chdir("ci")
    write_gate("[budgets]\nregisters = 1")
    monkeypatch.chdir("/")
    checkout = outside.parent / "checkout"

    done = gate(service, "ci/kernels.toml", "--checkout", str(checkout), "--sarif", "-")

    assert done == 1
    [result] = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "ci/double.py"
    assert Path.cwd() == Path("/")


def test_modules_beside_the_gate_file_are_found(
    service: GateService, outside: Path, monkeypatch: pytest.MonkeyPatch
):
    Path("python/kernels").mkdir(parents=True)
    Path("python/activations.py").write_text("def act(x):\n    return x\n")
    monkeypatch.chdir("python")
    write_gate("")
    Path("double.py").unlink()
    Path("kernels/double.py").write_text(f"import activations\n{KERNEL}")
    text = Path("kernels.toml").read_text().replace("'double.py'", "'kernels/double.py'")
    Path("kernels.toml").write_text(text)

    service.compiled = asking_for("activations")

    assert gate(service, "python/kernels.toml", "--checkout", str(outside.parent / "checkout")) == 0
    assert list(service.requests[-1]["files"]) == ["activations.py"]
