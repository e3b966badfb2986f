"""Types that are given once: above the kernel, in pyproject.toml, or by use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tritonc.signature_sources import (
    InvalidSignatureSource,
    chosen_kernel,
    completed,
    template,
    tuned,
)

from tests.unit.client.fake_tritond import FakeTritond, compilation, run

SOURCE = "@triton.jit\ndef k(x, n, eps=1e-5, bias=None, BLOCK: tl.constexpr): ...\n"


def parameter(name: str, kind: str, *values: Any, **said: Any) -> dict[str, Any]:
    hints = ["divisible_by_16"] if kind.startswith("*") else []
    proposal = {"type": kind, "hints": hints, "values": [*values], "line": 2, "reason": "because"}
    made = {"name": name, "constexpr": kind == "constexpr", "default": None}
    return made | said | {"proposal": proposal | {"confidence": "low" if values else "high"}}


KERNEL: dict[str, Any] = {
    "name": "k",
    "calls": [],
    "configs": [
        {"constexprs": {"BLOCK": {"literal": 64}}, "options": {"num_warps": {"literal": 8}}}
    ],
    "parameters": [
        parameter("x", "*fp32"),
        parameter("n", "i32"),
        parameter("eps", "fp32", default={"literal": 1e-5}),
        parameter("bias", "*fp32", default={"literal": None}),
        parameter("BLOCK", "constexpr", 64, 128),
    ],
}


def test_use_gives_types_values_and_the_options_of_the_configuration() -> None:
    made = completed({}, KERNEL, text=SOURCE)

    assert made.members == {
        "signature": {"x": "*fp32:16", "n": "i32", "eps": "fp32"},
        "constexprs": {"BLOCK": 64},
        "options": {"num_warps": 8},
    }
    assert made.inferred == "*fp32 x; i32 n; fp32 eps; BLOCK=64 (an example); num_warps=8"


def test_what_a_launch_of_the_file_passes_replaces_defaults_and_configurations() -> None:
    passed = [
        parameter("x", "*fp16"),
        parameter("bias", "*fp32", default={"literal": None}),
        parameter("BLOCK", "constexpr", 32, default={"literal": 16}),
    ]
    for one in passed:
        one["proposal"]["passed"] = True
    launch = {"line": 9, "options": {"num_warps": 2}}

    made = completed({}, {**KERNEL, "parameters": passed, "launch": launch}, text=SOURCE)

    assert made.members == {
        "signature": {"x": "*fp16:16", "bias": "*fp32:16"},
        "constexprs": {"BLOCK": 32},
        "options": {"num_warps": 2},
    }


def test_a_pointer_has_the_elements_of_the_one_whose_dtype_host_code_gives_it() -> None:
    kernel = {**KERNEL, "parameters": [parameter("x", "*fp16"), parameter("o", "*fp16")]}
    kernel["parameters"][1]["proposal"]["dtype_of"] = "x"

    given = completed({"signature": {"x": "*kbf16:16"}}, kernel)
    assert given.members["signature"] == {"x": "*kbf16:16", "o": "*bf16:16"}
    assert completed({}, kernel).members["signature"] == {"x": "*fp16:16", "o": "*fp16:16"}


def test_a_comment_above_the_kernel_comes_before_use_and_flags_before_both() -> None:
    other = "# tritonc: n=i8\ndef other(n): ...\n"
    text = f"{other}# tritonc: n=i64:16 BLOCK=32\n# tritonc: num_stages=2\n{SOURCE}"

    made = completed({"constexprs": {"BLOCK": 16}, "kernel": "k"}, KERNEL, text=text)

    assert made.members["signature"]["n"] == "i64:16"
    assert (made.members["constexprs"], made.members["kernel"]) == ({"BLOCK": 16}, "k")
    assert made.members["options"] == {"num_stages": 2}
    assert "n" not in made.inferred.split()


def test_pyproject_says_it_for_a_folder(tmp_path: Path) -> None:
    table = '[tool.tritonc.kernels.k]\nsignature = "*bf16:16,i32"\nconstexprs = {BLOCK = 256}\n'
    (tmp_path / "pyproject.toml").write_text(table)

    made = completed({}, KERNEL, text=SOURCE, path=tmp_path / "kernels" / "k.py")

    assert made.members == {"signature": "*bf16:16,i32", "constexprs": {"BLOCK": 256}}
    assert made.inferred == ""


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[tool.tritonc]\ntypes = 1", "has `kernels`, not `types`"),
        (
            "[tool.tritonc.kernels.k]\nsignatures = 1",
            "`signatures` is none of signature, constexprs",
        ),
        ("[tool.tritonc.kernels]\nk = 1", "this is not a table"),
        ("[tool", "pyproject.toml: "),
    ],
)
def test_a_wrong_table_is_an_error(tmp_path: Path, table: str, said: str) -> None:
    (tmp_path / "pyproject.toml").write_text(table)

    with pytest.raises(InvalidSignatureSource, match=said):
        completed({}, KERNEL, path=tmp_path / "k.py")


def test_a_launch_gets_no_types() -> None:
    made = completed({}, KERNEL, text=SOURCE, with_types=False)

    assert made.members == {"constexprs": {"BLOCK": 64}, "options": {"num_warps": 8}}


def test_the_template_is_a_comment_that_says_the_same() -> None:
    written = template(KERNEL)

    assert written == "# tritonc: 'x=*fp32:16' n=i32 eps=fp32 BLOCK=64 num_warps=8"
    made = completed({}, KERNEL, text=f"{written}\n{SOURCE}")
    assert (made.members, made.inferred) == (completed({}, KERNEL).members, "")


def test_a_command_without_types_compiles_and_says_what_it_inferred(
    tmp_path: Path, tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.py").write_text(SOURCE)
    tritond.will_inspect({"kernels": [KERNEL]})
    tritond.will_answer(compilation())
    tritond.will_answer(compilation())

    assert run(tritond, "compile", str(tmp_path / "k.py"), "--target", "cuda:80,cuda:90") == 0

    assert tritond.posted["signature"] == {"x": "*fp32:16", "n": "i32", "eps": "fp32"}
    assert capsys.readouterr().err.count("note: k: assumes *fp32 x; i32 n;") == 1


def test_a_command_names_the_launch_that_types_come_from(
    tmp_path: Path, tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.py").write_text(SOURCE)
    tritond.will_inspect({"kernels": [KERNEL | {"launch": {"line": 9, "options": {}}}]})
    tritond.will_answer(compilation())

    assert run(tritond, "compile", str(tmp_path / "k.py"), "--target", "cuda:90") == 0

    assert "note: k: its launch on line 9 passes *fp32 x; i32 n;" in capsys.readouterr().err


def test_a_command_prints_the_warnings_of_the_inspection(
    tmp_path: Path, tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.py").write_text(SOURCE)
    tritond.will_inspect({"kernels": [KERNEL | {"warnings": ["the launch was not used"]}]})
    tritond.will_answer(compilation())

    assert run(tritond, "compile", str(tmp_path / "k.py"), "--target", "cuda:90") == 0

    assert "warning: k: the launch was not used\n" in capsys.readouterr().err


def test_configurations_made_by_code_are_those_that_executing_it_gave() -> None:
    config = {"values": {"BLOCK": 32}, "options": {"num_warps": 2, "num_ctas": 1}}

    made = completed({}, tuned(KERNEL, {"line": 1, "configs": [config]}))

    assert (made.members["constexprs"], made.members["options"]) == (
        {"BLOCK": 32},
        {"num_warps": 2},
    )


HINTED: dict[str, Any] = {
    "name": "k",
    "calls": [],
    "configs": [],
    "parameters": [parameter("x", "*fp32"), parameter("n", "i32"), parameter("s", "i32")],
}
for fact, hint in zip(HINTED["parameters"][1:], ("divisible_by_16", "equal_to_1"), strict=True):
    fact["proposal"] |= {"hints": [hint], "assumed_hints": [hint]}


def test_assumed_sizes_and_strides_are_posted_and_said_except_for_a_proof() -> None:
    made = completed({}, HINTED)

    assert made.members == {"signature": {"x": "*fp32:16", "n": "i32:16", "s": "i32:1"}}
    assert made.inferred == "*fp32 x; i32 n divisible by 16; i32 s of 1"
    proved = completed({}, HINTED, with_hints=False).members
    assert proved == {"signature": {"x": "*fp32:16", "n": "i32", "s": "i32"}}


def test_a_partial_signature_is_completed_and_a_whole_one_is_left(
    tmp_path: Path, tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.py").write_text(SOURCE)
    tritond.will_inspect({"kernels": [HINTED]})
    tritond.will_answer(compilation())
    tritond.will_answer(compilation())
    command = ["compile", str(tmp_path / "k.py"), "--target", "cuda:90", "--signature"]

    assert run(tritond, *command, "n=i64") == 0
    assert tritond.posted["signature"] == {"x": "*fp32:16", "n": "i64", "s": "i32:1"}
    assert "note: k: assumes *fp32 x; i32 s of 1;" in capsys.readouterr().err
    assert run(tritond, *command, "x=*fp16", "n=i32", "s=i32") == 0
    assert tritond.sent(1)["signature"] == {"x": "*fp16", "n": "i32", "s": "i32"}
    assert "assumes" not in capsys.readouterr().err


def test_of_several_kernels_the_one_that_the_file_launches_is_meant() -> None:
    kernels = [{**HINTED, "name": "unused"}, {**HINTED, "launched": True}]

    assert chosen_kernel({"kernels": kernels}, None) == kernels[1]
    assert chosen_kernel({"kernels": [kernels[0], kernels[0]]}, None) is None
    assert chosen_kernel({"kernels": [], "written": kernels[:1]}, kernels[0]["name"]) == kernels[0]
