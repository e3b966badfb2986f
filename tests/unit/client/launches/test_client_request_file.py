"""Launch requests in files: accepted members, and errors."""

import json
from pathlib import Path

import pytest

from tests.unit.client.fake_tritond import KEY, FakeTritond, launch, run

ON_THE_CPU = ["--device", "cpu", "--grid", "1"]


def test_a_request_file_says_the_rest(tritond: FakeTritond, kernel: str):
    tritond.will_answer(launch())
    Path("add.toml").write_text(
        'grid = [4]\ndevice = "cpu"\nconstexprs = {B = 64, C = 1}\n'
        '[arguments]\nx = "fp32[8]:arange(1,2)"\nn = 8\n'
        '[[cases]]\nname = "less"\narguments = {n = 7, x = "fp32[8]:ones"}\n'
    )

    code = run(tritond, "launch", kernel, "--request", "add.toml", "--arg", "n=5", "--constexpr",
               "B=32")  # fmt: skip

    assert code == 0
    assert tritond.posted == {
        "compilation": {
            "source": "import triton\n",
            "module": "add",
            "constexprs": {"B": 32, "C": 1},
        },
        "grid": [4],
        "device": "cpu",
        "arguments": {
            "x": {"shape": [8], "dtype": "fp32", "init": {"kind": "arange", "start": 1, "step": 2}},
            "n": 5,
        },
        "cases": [
            {
                "name": "less",
                "arguments": {
                    "n": 7,
                    "x": {"shape": [8], "dtype": "fp32", "init": {"kind": "ones"}},
                },
            }
        ],
        "checks": ["racecheck"],
    }


def test_a_request_file_may_be_all_there_is(tritond: FakeTritond, kernel: str):
    tritond.will_answer(launch())
    Path("all.json").write_text(json.dumps({"compilation_key": KEY, "grid": [1], "arguments": {}}))

    assert run(tritond, "launch", "--request", "all.json") == 0
    assert tritond.posted == {"compilation_key": KEY, "grid": [1], "arguments": {}}


@pytest.mark.parametrize(
    ("member", "complaint"),
    [
        ("cases = 5", "`cases` must be a list"),
        ("cases = [5]", "`cases[0]` must be an object"),
        ("cases = [{arguments = 5}]", "`cases[0].arguments` must be an object or a list"),
        ("arguments = 5", "`arguments` must be an object or a list"),
        ("compilation = 5", "`compilation` must be an object"),
        ("compilation = {options = 5}", "`compilation.options` must be an object"),
        ("hints = {x = 5}", "`hints.x` must be a list of strings"),
        ("reference = 5", "`reference` must be an object or a text"),
        ("wait_s = 5", "`wait_s` is not a member of a launch request"),
        ("constexprs = {B = 2026-11-22}", "Object of type date is not JSON serializable"),
        ("reference = {rtol = nan}", "`reference.rtol` is nan, which JSON cannot represent"),
        ("cases = [{rtol = inf}]", "`cases[0].rtol` is inf"),
        ("a = " + 5000 * "[", "recursion"),
        ('compilation_key = "k"\nkernel = "add"', "kernel: not allowed with compilation_key"),
    ],
)
def test_a_request_file_that_is_no_request_exits_2_and_says_why(
    tritond: FakeTritond,
    kernel: str,
    capsys: pytest.CaptureFixture[str],
    member: str,
    complaint: str,
):
    Path("add.toml").write_text(f"{member}\n")

    assert run(tritond, "launch", kernel, *ON_THE_CPU, "--request", "add.toml") == 2

    assert complaint in capsys.readouterr().err
    assert tritond.requests == []


def test_flags_add_to_a_reference_that_is_a_text(tritond: FakeTritond, kernel: str):
    tritond.will_answer(launch())
    Path("add.toml").write_text('reference = "def reference(x): ..."\n')

    run(tritond, "launch", kernel, *ON_THE_CPU, "--request", "add.toml", "--rtol", "0.1")

    assert tritond.posted["reference"] == {"source": "def reference(x): ...", "rtol": 0.1}


@pytest.mark.parametrize("written", ['"ref.py"', '{source = "ref.py"}', '{file = "ref.py"}'])
def test_a_reference_may_be_the_path_of_a_file(tritond: FakeTritond, kernel: str, written: str):
    tritond.will_answer(launch())
    text = "import torch\ndef reference(x): return torch.sin(x)\n"
    Path("ref.py").write_text(text)
    Path("add.toml").write_text(f"reference = {written}\n")

    run(tritond, "launch", kernel, *ON_THE_CPU, "--request", "add.toml", "--rtol", "0.1")

    assert tritond.posted["reference"] == {"source": text, "language": "torch", "rtol": 0.1}


def test_a_reference_file_that_is_missing_is_named(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    Path("add.toml").write_text('cases = [{reference = "gone.py"}]\n')

    assert run(tritond, "launch", kernel, *ON_THE_CPU, "--request", "add.toml") == 2

    assert (
        "add.toml: `reference`: gone.py: No such file or directory (a path is from the working "
        "directory)"
    ) in capsys.readouterr().err
    assert tritond.requests == []


def test_a_numpy_file_replaces_a_torch_text(tritond: FakeTritond, kernel: str):
    tritond.will_answer(launch())
    Path("add.toml").write_text('reference = "import torch"\n')
    Path("ref.py").write_text("def reference(x): return x\n")

    run(tritond, "launch", kernel, *ON_THE_CPU, "--request", "add.toml", "--reference", "ref.py")

    assert tritond.posted["reference"] == {"source": "def reference(x): return x\n"}
