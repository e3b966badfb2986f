"""Diffs of two compilations, from Python and from `tritonc diff`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tritonc import Client
from tritonc.cli.diff_command import _place
from tritonc.cli.main import main

from tests.unit.client.fake_tritond import KEY, FakeTritond, compilation, failure, run

OTHER = "b" * 64
PTX = "--- a/ptx\n+++ b/ptx\n@@ -5,1 +5,1 @@\n-.reqntid 128\n+.reqntid 256\n"


def stage(name: str, **members: Any) -> dict[str, Any]:
    usual = {"same": True, "only_in": None, "added": 0, "removed": 0, "diff": None}
    return {"stage": name, **usual, "registers_differ": False, "truncated": False, **members}


def diff(**members: Any) -> dict[str, Any]:
    """Return the service's answer for two compilations that differ."""
    counts = {"total": 52, "code_bytes": 832, "by_class": {"fp32": 8, "move": 3}}
    fewer = {"total": 48, "code_bytes": 768, "by_class": {"fp32": 4, "move": 3}}
    line = {"file": "user.py", "a_line": 11, "b_line": 12}
    less = {"total": -4, "by_class": {"fp32": -4}}
    usual = {
        "a": KEY,
        "b": OTHER,
        "same": False,
        "state": {"a": "succeeded", "b": "succeeded"},
        "problem": {"a": None, "b": None},
        "kernel": {"a": "add_kernel", "b": "add_kernel"},
        "target": {"a": "cuda:90", "b": "cuda:90"},
        "toolchain": {},
        "options": {"num_warps": {"a": 4, "b": 8}},
        "parameters": {},
        "resources": {"registers": {"a": 26, "b": 20}, "spill_store_bytes": {"a": 0, "b": 0}},
        "instructions": {
            "a": counts,
            "b": fewer,
            "delta": less | {"by_opcode": {"FADD": -4}},
            "by_line": [line | {"delta": less}],
        },
        "stages": [stage("ttir"), stage("ptx", same=False, added=1, removed=1, diff=PTX)],
    }
    return usual | members


SAME = {
    "same": True,
    "resources": {},
    "instructions": None,
    "stages": [stage("ttir"), stage("ptx")],
}


def test_a_diff_says_what_differs(client: Client, tritond: FakeTritond) -> None:
    tritond.will_answer(diff())

    found = client.diff(KEY, OTHER)

    assert not found.same
    assert found.asked == {"num_warps": {"a": 4, "b": 8}}
    assert [one.stage for one in found.stages if not one.same] == ["ptx"]
    assert repr(found).splitlines() == [
        "Diff:",
        "  num_warps: 4 -> 8",
        "  registers: 26 -> 20",
        "  instructions: 52 -> 48 (-4)",
        "  fp32: 8 -> 4 (-4)",
        "  ptx: +1 -1 lines",
    ]
    assert tritond.requests[0].url.path == f"/v1/compilations/{KEY}/diff/{OTHER}"


def test_different_requests_with_equal_results_are_reported(
    client: Client, tritond: FakeTritond
) -> None:
    tritond.will_answer(diff(**SAME))

    assert repr(client.diff(KEY, OTHER)) == "Diff: both results are the same (num_warps: 4 -> 8)"


def test_hints_that_differ_are_shown(client: Client, tritond: FakeTritond) -> None:
    hints: list[list[str]] = [["divisible_by_16"], []]
    types = [{"role": "runtime", "type": "*fp32", "value": None, "hints": each} for each in hints]
    both = {"x_ptr": dict(zip("ab", types, strict=True))}
    tritond.will_answer(diff(**SAME, options={}, parameters=both))

    assert repr(client.diff(KEY, OTHER)).endswith("(x_ptr: *fp32:16 -> *fp32)")


def test_compilations_themselves_can_be_compared_in_some_stages(
    client: Client, tritond: FakeTritond
) -> None:
    tritond.will_answer(compilation())
    tritond.will_answer({}, status=202)
    tritond.will_answer(diff())

    made = client.get(KEY)
    client.diff(made, OTHER, stages=["ttir", "ptx"])

    assert [request.url.params["stages"] for request in tritond.requests[1:]] == ["ttir,ptx"] * 2


def test_the_command_ends_as_diff_does(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    tritond.will_answer(diff())
    tritond.will_answer(diff(**SAME))

    assert run(tritond, "diff", KEY, f"http://tritond.test:8000/v1/compilations/{OTHER}") == 1
    different = capsys.readouterr().out
    assert run(tritond, "diff", KEY, OTHER) == 0
    assert "both results are the same" in capsys.readouterr().out
    assert "registers     26  20" in different
    assert "user.py:11 -> 12: fp32 -4" in different
    assert "opcodes: FADD -4" in different
    assert "ptx: +1 -1 lines" in different
    assert PTX.rstrip() in different


def test_colours_are_those_of_diff(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    tritond.will_answer(diff())

    main(["diff", KEY, OTHER], environment={"FORCE_COLOR": "1"}, transport=tritond)

    out = capsys.readouterr().out
    assert "\x1b[31m-.reqntid 128\x1b[0m" in out
    assert "\x1b[32m+.reqntid 256\x1b[0m" in out


def test_the_answer_itself_as_json(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    tritond.will_answer(diff())

    assert run(tritond, "diff", KEY, OTHER, "--json") == 1

    assert json.loads(capsys.readouterr().out) == diff()


def test_another_stage_is_shown_on_demand(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    ttgir = stage("ttgir", same=False, added=1, diff="--- a/ttgir\n+++ b/ttgir\n+x\n")
    for _ in range(3):
        tritond.will_answer(diff(stages=[ttgir, *diff()["stages"]]))

    shown = {}
    for words in ((), ("--stage", "ptx"), ("--stage", "all")):
        run(tritond, "diff", KEY, OTHER, *words)
        shown[words[-1:]] = capsys.readouterr().out

    assert "+++ b/ttgir" in shown[()]
    assert "+++ b/ptx" not in shown[()]
    assert "+++ b/ptx" in shown["ptx",]
    assert "+++ b/ttgir" not in shown["ptx",]
    assert "+++ b/ttgir" in shown["all",]
    assert "+++ b/ptx" in shown["all",]


def test_a_stage_that_neither_has(tritond: FakeTritond, capsys: pytest.CaptureFixture[str]) -> None:
    tritond.will_answer(diff())

    assert run(tritond, "diff", KEY, OTHER, "--stage", "amdgcn") == 2
    assert "--stage amdgcn: not available; both have ttir, ptx" in capsys.readouterr().err


def test_one_kernel_is_compiled_before_and_after(kernel: str, tritond: FakeTritond) -> None:
    facts = {"name": "BLOCK", "constexpr": True, "default": None, "proposal": None}
    inspection = {"kernels": [{"name": "k", "calls": [], "parameters": [facts]}]}
    tritond.will_inspect(inspection)
    tritond.will_answer(compilation())
    tritond.will_answer(compilation(key=OTHER))
    tritond.will_answer(diff())

    words = ("--before", "num_warps=4", "--after", "num_warps=8", "BLOCK=64")
    assert run(tritond, "diff", kernel, "--target", "cuda:90", *words) == 1

    first, second = (tritond.sent(index) for index in (0, 1))
    assert (first["options"], first.get("constexprs")) == ({"num_warps": 4}, None)
    assert (second["options"], second["constexprs"]) == ({"num_warps": 8}, {"BLOCK": 64})


def test_one_kernel_for_two_targets(kernel: str, tritond: FakeTritond) -> None:
    tritond.will_answer(compilation())
    tritond.will_answer(compilation(key=OTHER))
    tritond.will_answer(diff())

    assert run(tritond, "diff", kernel, "--target", "cuda:80,cuda:90") == 1
    assert [tritond.sent(index)["target"] for index in (0, 1)] == ["cuda:80", "cuda:90"]


def test_two_request_files(kernel: str, tritond: FakeTritond) -> None:
    del kernel
    request = {"source": "import triton", "target": "cuda:90", "signature": {"x": "*fp32"}}
    Path("a.json").write_text(json.dumps(request))
    Path("b.toml").write_text('target = "cuda:80"\n[ir]\nlanguage = "ttgir"\ntext = "module {}"\n')
    tritond.will_answer(compilation())
    tritond.will_answer(compilation(key=OTHER))
    tritond.will_answer(diff())

    assert run(tritond, "diff", "a.json", "b.toml") == 1

    assert tritond.sent(0) == request | {"include": []}
    assert tritond.sent(1)["ir"]["text"] == "module {}"
    assert tritond.sent(1)["target"] == "cuda:80"


def test_what_did_not_compile_is_reported_and_compared(
    kernel: str, tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    tritond.will_answer(failure())
    tritond.will_answer(diff())

    assert run(tritond, "diff", kernel, OTHER, "--target", "cuda:90") == 1
    assert "error:" in capsys.readouterr().err


def test_a_wrong_request_is_not_compared(
    kernel: str, tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = {"slug": "unknown_kernel", "title": "Which?", "detail": "there is no kernel b"}
    for _ in range(2):
        tritond.will_answer(compilation("failed", problem=problem))

    words = ("--kernel", "b", "--target", "cuda:80,cuda:90")
    assert run(tritond, "diff", kernel, *words) == 2

    said = capsys.readouterr()
    assert (said.out, said.err.count("tritonc: --kernel: there is no kernel b")) == ("", 1)


def test_two_kernels_that_fail_alike_are_not_the_same(kernel: str, tritond: FakeTritond) -> None:
    for _ in range(2):
        tritond.will_answer(failure())
    tritond.will_answer(diff(**SAME))

    assert run(tritond, "diff", kernel, "--target", "cuda:80,cuda:90") == 1


def test_a_refused_setting_is_that_of_before_or_after(
    kernel: str, tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"name": "x", "constexpr": False, "default": None, "proposal": None}
    tritond.will_inspect({"kernels": [{"name": "k", "calls": [], "parameters": [facts]}]})
    error = {"pointer": "/options/num_warps", "message": "5 is not one of 1, 2"}
    tritond.will_refuse(422, "invalid_request", errors=[error])

    words = ("--before", "num_warps=5", "--after", "num_stages=4", "--target", "cuda:90")
    assert run(tritond, "diff", kernel, *words, "--signature", "x=*fp32") == 2

    assert "--before num_warps: 5 is not one of 1, 2" in capsys.readouterr().err


def test_each_line_is_of_its_own_file() -> None:
    row = {"file": "user.py", "a_line": 11, "b_line": 12}

    assert _place(row, ("a.py", "a.py")) == "a.py:11 -> 12"
    assert _place(row, ("a.py", "b.py")) == "a.py:11 -> b.py:12"
    assert _place({**row, "a_line": None}, ("a.py", "b.py")) == "b.py:12"
    assert _place({**row, "file": "helpers.py", "b_line": 11}, ("a.py", "b.py")) == "helpers.py:11"
    assert _place({**row, "file": None}, ("a.py", "b.py")) == "no line"
    # lines of the Python source that IR was made from are not lines of the IR
    assert _place(row, ("a.ttir", "b.mlir")) == "user.py:11 -> 12"
    assert _place(row, ("a.py", "b.ttir")) == "a.py:11 -> user.py:12"
    ir = {**row, "file": "user.ttir"}
    assert _place(ir, ("a.ttir", "b.ttir")) == "a.ttir:11 -> b.ttir:12"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((KEY,), "nothing to compare with"),
        ((KEY, "--before", "a=1"), "is a finished compilation"),
        (("add.py", "add.py", "--after", "a=1"), "change A alone"),
        (("add.py", "add.py", "--triton", "3.8,3.9"), "compares A with itself; leave B out"),
        (("add.py", "add.py"), "no target"),
        (("add.py", "add.py", "--target", "a,b,c"), "give at most two, not 3"),
        (("none.py", "add.py", "--target", "cuda:90"), "No such file"),
        (("bad.json", "add.py", "--target", "cuda:90"), "bad.json"),
    ],
)
def test_what_cannot_be_compared_is_reported(
    kernel: str,
    tritond: FakeTritond,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: str,
) -> None:
    del kernel
    Path("bad.json").write_text("[]")

    assert run(tritond, "diff", *words) == 2
    assert message in capsys.readouterr().err
    assert tritond.requests == []
