"""Mistakes in a gate file: the client reports all of them at once, each with its location."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.client.gate.gate_service import GateService, asking_for, gate, write_gate

GATE_DOCUMENT = Path(__file__).parents[4] / "docs" / "how-to" / "gate.md"


def faults(service: GateService, capsys: Any) -> list[str]:
    """Return the errors of a gate that judges nothing."""
    assert gate(service) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return [re.sub(r"^(kernels.toml):\d+: ", r"\1: ", line) for line in said.err.splitlines()[1:]]


def test_every_fault_is_reported_at_once(service: GateService, capsys: Any):
    Path("kernels.toml").write_text(
        """
baselin = "b.json"
[matrix]
targets = ["h100", "cuda:1"]
tritons = ["3.6", "2.1"]
[budgets]
registers = "<= few"
register = 32
ptx = "same"
opcodes = 5
median_us = 100
[budgets.targets."cuda:*"]
occupancy = -1
[kernels.add]
source = "nowhere.py"
signature = 5
constexprs = [1]
[kernels.twice]
source = "double.py"
targets = []
[kernels.twice.launch]
grd = [1]
arguments = {x_ptr = "fp32[4]:wild wild"}
[kernels.last]
source = "double.py"
kernel = 7
signature = "*fp32"
targets = ["hip:gfx942"]
budgets = {spill_bytes = 0, registers = "<= triton 3.8"}
"""
    )
    Path("double.py").write_text("import triton\n")

    assert set(faults(service, capsys)) == {
        "kernels.toml: baselin: unknown key; did you mean `baseline`?",
        "kernels.toml: budgets.opcodes: write a table of opcodes, such as {LDG = 8}",
        "kernels.toml: budgets.ptx: 'same' is not \"unchanged\", the only budget for PTX",
        "kernels.toml: budgets.register: unknown key; did you mean `registers`?",
        'kernels.toml: budgets.registers: \'<= few\' is not a budget; write 64, "<= 64", ">= 0.5", '
        '"<= 1.05 x baseline + 8" or "<= 1.1 x triton 3.6.0"',
        'kernels.toml: budgets.targets."cuda:*".occupancy: -1 is not a bound; write a number of '
        "at least 0",
        "kernels.toml: budgets: no worker has Triton 3.8; available: 3.6.0, 3.9.0",
        "kernels.toml: kernels.add.constexprs: [1] is not a table",
        "kernels.toml: kernels.add.signature: 5 is neither a table nor a text",
        "kernels.toml: kernels.add.source: nowhere.py: No such file or directory",
        "kernels.toml: kernels.last.budgets.spill_bytes: this cannot be judged: only targets "
        "cuda:... have it; add one, or remove the budget",
        "kernels.toml: kernels.last.kernel: 7 is not a text",
        "kernels.toml: kernels.twice.launch.arguments.x_ptr: 'wild wild' is not a way to fill a "
        "buffer; write, for example, normal(std=2)",
        "kernels.toml: kernels.twice.launch.grd: unknown key; did you mean `grid`?",
        "kernels.toml: kernels.twice.launch: no `grid`; a launch needs it",
        "kernels.toml: kernels.twice.targets: Triton 3.6.0 cannot compile for 'cuda:1'; "
        "`tritonc targets` lists them",
        "kernels.toml: kernels.twice.targets: the list is empty, so nothing would be judged",
        "kernels.toml: matrix.tritons: no worker has Triton 2.1; available: 3.6.0, 3.9.0",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "kernels: there is no kernel; write each as [kernels.NAME]"),
        ("a = ", "this is not TOML: Invalid value (at end of document)"),
        ("[kernels]\nadd = 5", "kernels.add: 5 is not a table"),
        ("[kernels.add]", "kernels.add: no `source`; write the path of the kernel's file"),
        ("[kernels.add]", "kernels.add: no targets; write [matrix] targets = [...], or"),
        (
            "[[kernels]]\nsource = 'add.py'",
            "kernels: this is a list of kernels; write each as [kernels.NAME]",
        ),
        (
            "[kernels.add]\nsource = 'kernels.toml'\nlaunch = {grid = 5, cases = 5, arguments = 5}",
            "kernels.add.launch.cases: 5 is not a list",
        ),
        ('[kernels.add]\nsource = "a\\u0000b"', r"kernels.add.source: a\x00b: embedded null byte"),
        ("matrix = 3", "matrix: 3 is not a table"),
        (
            "[kernels.add]\nsource = 'kernels.toml'\ntargets = ['launch']",
            "kernels.add.targets: 'launch' is not a target; write cuda:90, h100 or hip:gfx942",
        ),
        (
            "budgets = {median_us = 5}\n[kernels.add]\nsource = 'kernels.toml'",
            "budgets.median_us: this cannot be judged",
        ),
    ],
)
def test_a_fault_has_its_place(service: GateService, capsys: Any, text: str, said: str):
    Path("kernels.toml").write_text(text)

    assert any(line.startswith(f"kernels.toml: {said}") for line in faults(service, capsys))


@pytest.mark.parametrize(
    ("device", "is_judged"),
    [("'cpu'", False), ("'interpreter'", False), ("'gpu'", True), ("{target = 'cuda:90'}", True)],
)
def test_times_are_judged_on_gpus_alone(
    service: GateService, capsys: Any, device: str, is_judged: bool
):
    text = "budgets = {median_us = 5}\nmatrix = 3\n[kernels.add]\nsource = 'kernels.toml'\n"
    Path("kernels.toml").write_text(f"{text}launch = {{grid = [1], device = {device}}}\n")

    said = faults(service, capsys)

    assert any("cannot be judged" in line for line in said) is not is_judged


def test_the_file_of_the_documents_is_right(service: GateService, capsys: Any):
    [text] = re.findall(r"```toml\n(# kernels.toml\n.*?)```", GATE_DOCUMENT.read_text(), re.DOTALL)
    Path("kernels.toml").write_text(text)
    Path("kernels").mkdir()
    Path("kernels/vector_add.py").write_text("import triton\n")

    [fault] = faults(service, capsys)

    assert fault.startswith("kernels.toml: baseline: there is no kernels.baseline.json")
    assert gate(service, "--update-baseline") in (0, 1)


def test_a_fault_has_the_line_of_its_key(service: GateService, capsys: Any):
    Path("kernels.toml").write_text(
        """# a = b
[matrix]
targets = [
  "cuda:90",
]
[kernels."of = mine"]
source = "no=where.py"   # source = "a"
budgets.registers = true
launch = {grid = [1], argments = {}}
[kernels."of = mine".budgets.targets . "cuda:*"]
occupancy = -1
[nothing]
"""
    )

    assert gate(service) == 2
    said = capsys.readouterr().err
    assert [line.split(": ")[0].rpartition(":")[2] for line in said.splitlines()[1:]] == [
        "7",
        "8",
        "9",
        "9",
        "11",
        "12",
    ]


def test_a_file_with_texts_of_several_lines_has_no_lines(service: GateService, capsys: Any):
    write_gate("[budgets]\nregister = 1", 'signature = """\n*fp32\n"""')
    text = Path("kernels.toml").read_text().replace("signature = {x_ptr = '*fp32:16'}\n", "")
    Path("kernels.toml").write_text(text)

    assert gate(service) == 2
    assert "kernels.toml: budgets.register: unknown key" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named(service: GateService, capsys: Any):
    [fault] = faults(service, capsys)
    assert fault == (
        "kernels.toml: No such file or directory; `tritonc gate --init FOLDER` writes it, for the "
        "kernels in FOLDER"
    )
    assert gate(service, "ci/other.toml") == 2
    assert "`tritonc gate ci/other.toml --init FOLDER` writes it" in capsys.readouterr().err


def test_what_the_service_refuses_is_reported_at_its_place(service: GateService, capsys: Any):
    write_gate("[budgets]\nregisters = 1", "options = {num_warp = 4}")
    service.refused = {
        "slug": "invalid_request",
        "errors": [{"pointer": "/options/num_warp", "message": "unknown; did you mean num_warps?"}],
    }

    assert faults(service, capsys) == [
        "kernels.toml: kernels.double.options.num_warp: unknown; did you mean num_warps?"
    ]


def test_a_value_without_json_is_reported_at_its_place(service: GateService, capsys: Any):
    write_gate("[budgets]\nregisters = 1", "options = {when = 1979-05-27}")

    [fault] = faults(service, capsys)

    assert fault.startswith("kernels.toml: kernels.double.options: option 'when'")


def test_a_service_that_is_away_does_not_hide_what_is_wrong(service: GateService, capsys: Any):
    write_gate("[budgets]\nregister = 1")
    service.handler = _away

    reported = faults(service, capsys)

    assert reported[0].startswith(
        "kernels.toml: the service's targets are unknown: no answer from http://t.test"
    )
    assert reported[1].startswith("kernels.toml: budgets.register: unknown key")


def test_a_kernel_that_is_asked_for_must_be_there(service: GateService, capsys: Any):
    write_gate("[budgets]\nregisters = 32")

    assert gate(service, "--kernel", "duble") == 2
    assert "kernels.duble: --kernel names no kernel of the file" in capsys.readouterr().err


def test_none_and_files_by_name_can_be_written(service: GateService):
    more = "local_imports = false\nfiles = {'helper.py' = 'other.py'}\n"
    more += "options = {maxnreg = {none = true}}"
    write_gate("[budgets]\nregisters = 32", more)
    Path("other.py").write_text("TWO = 2\n")
    source = Path("double.py")
    source.write_text(f"from helper import TWO\n{source.read_text()}")
    Path("helper.py").write_text("TWO = 3\n")

    assert gate(service) == 0
    assert service.requests[0]["files"] == {"helper.py": "TWO = 2\n"}
    assert service.requests[0]["options"] == {"maxnreg": None}


def test_modules_travel_when_they_are_asked_for(service: GateService):
    write_gate("[budgets]\nregisters = 32")
    Path("helper.py").write_text("TWO = 2\n")
    source = Path("double.py")
    source.write_text(f"from helper import TWO\n{source.read_text()}")
    service.compiled = asking_for("helper")

    assert gate(service) == 0
    assert service.batches == 2
    assert service.requests[0]["files"] == {"helper.py": "TWO = 2\n"}


def _away(request: Any) -> Any:
    import httpx

    raise httpx.ConnectError("refused")


@pytest.mark.parametrize(
    ("name", "hint"), [("duoble", "did you mean `double`?"), ("x", "known are double")]
)
def test_a_slip_in_the_name_of_a_kernel_is_answered_with_the_kernel(
    service: GateService, capsys: Any, name: str, hint: str
):
    write_gate("")

    assert gate(service, "--kernel", name) == 2

    assert f"--kernel names no kernel of the file; {hint}" in capsys.readouterr().err
