"""Prefixes and `@last` for keys, and tables instead of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tritonc.cli.main import main
from tritonc.cli.recent_keys import MAX_KEYS, RecentKeys
from tritonc.own_list import KINDS

from tests.unit.client.fake_tritond import KEY, FakeTritond, compilation, launch, run
from tests.unit.client.sweeps.answered_sweeps import sweep
from tests.unit.client.test_client_batches import batch

OTHER = "0123" + "f" * 60
JOB = "ab" * 16
URL = "http://env.test"


def run_at_home(tritond: FakeTritond, home: Path, *words: str) -> int:
    environment = {"TRITOND_URL": URL, "HOME": str(home)}
    return main(words, environment=environment, transport=tritond)


def test_a_compiled_key_is_the_last_one_and_has_a_prefix(
    tritond: FakeTritond, kernel: str, tmp_path: Path
) -> None:
    for _ in range(3):
        tritond.will_answer(compilation())
    words = ("compile", kernel, "--target", "cuda:90", "--signature", "*fp32")

    codes = [run_at_home(tritond, tmp_path, *each) for each in (words, ("get", "@last"))]
    codes.append(run_at_home(tritond, tmp_path, "get", KEY[:6]))

    assert codes == [0, 0, 0]
    assert [r.url.path.rpartition("/")[2] for r in tritond.requests[1:]] == [KEY, KEY]


def test_an_ambiguous_prefix_is_an_error(
    tritond: FakeTritond, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RecentKeys.of({"HOME": str(tmp_path)}, URL).add([KEY, OTHER])

    assert run_at_home(tritond, tmp_path, "get", "0123") == 2
    assert (
        "several recent keys start with this: 0123456789ab, 0123ffffffff" in capsys.readouterr().err
    )


def test_a_prefix_that_is_not_recent_is_looked_up_in_the_lists_of_the_service(
    tritond: FakeTritond, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    item = {"id": KEY, "url": "", "state": "succeeded"}
    tritond.will_answer({"items": [item], "next": None})
    for _ in KINDS[1:]:
        tritond.will_answer({"items": [], "next": None})
    tritond.will_answer(compilation(cache=None))

    assert run_at_home(tritond, tmp_path, "get", KEY[:5]) == 0

    assert {r.url.params.get("prefix") for r in tritond.requests[:-1]} == {KEY[:5]}
    assert tritond.requests[-1].url.path == f"/v1/compilations/{KEY}"
    assert f"key {KEY}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "none of your results starts with this"),
        ([KEY, OTHER], "several of your results start with this"),
    ],
)
def test_a_listed_prefix_must_be_of_one_result(
    tritond: FakeTritond,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    found: list[str],
    said: str,
) -> None:
    items = [{"id": key, "url": "", "state": "succeeded"} for key in found]
    tritond.will_answer({"items": items, "next": None})
    for _ in KINDS[1:]:
        tritond.will_answer({"items": [], "next": None})

    assert run_at_home(tritond, tmp_path, "get", "0123") == 2
    assert said in capsys.readouterr().err


RESULTS: dict[str, tuple[dict[str, Any], str]] = {
    "launch": (launch(), "launch ab12: completed"),
    "sweep": (sweep(rows=[]), "sweep 5eep: completed"),
    "batch": (batch(), "item  state  result"),
}


def test_a_program_stands_for_its_only_compilation(
    tritond: FakeTritond, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernels = [{"name": "add_kernel", "compilation_key": KEY}]
    tritond.will_refuse(404, "not_found")  # no launch has this id
    tritond.will_answer({"id": JOB, "state": "completed", "kernels": kernels})
    tritond.will_send(b"ptx")

    assert run_at_home(tritond, tmp_path, "artifact", JOB, "ptx") == 0

    assert tritond.requests[-1].url.path == f"/v1/compilations/{KEY}/artifacts/ptx"
    assert f"note: program {JOB} has one compilation: {KEY}" in capsys.readouterr().err


def test_a_program_with_several_compilations_lists_them(
    tritond: FakeTritond, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = {"add_kernel": KEY, "mul_kernel": OTHER}
    kernels = [{"name": name, "compilation_key": key} for name, key in named.items()]
    tritond.will_refuse(404, "not_found")
    tritond.will_answer({"id": JOB, "state": "completed", "kernels": kernels})

    assert run_at_home(tritond, tmp_path, "diff", JOB, KEY) == 2

    assert f"give one of:\n  {KEY}  add_kernel\n  {OTHER}  mul" in capsys.readouterr().err


def test_a_launch_on_the_cpu_device_names_the_command_that_compiles(
    tritond: FakeTritond, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RecentKeys.of({"HOME": str(tmp_path)}, URL).add([JOB], "add.py")
    tritond.will_answer(launch() | {"compilation": None, "device": {"interpreter": True}})

    assert run_at_home(tritond, tmp_path, "explain", "@last") == 2

    assert "has no compilation; write `tritonc explain add.py`" in capsys.readouterr().err


@pytest.mark.parametrize("kind", RESULTS)
def test_get_writes_a_report_for_people(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    answer, said = RESULTS[kind]
    for _ in range(["launch", "program", "sweep", "proof", "batch"].index(kind)):
        tritond.will_refuse(404, "not_found")
    tritond.will_answer(answer)

    assert run(tritond, "get", "b" * 32) == 0

    assert said in capsys.readouterr().out


def test_nothing_is_the_last_of_another_service(
    tritond: FakeTritond, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RecentKeys.of({"HOME": str(tmp_path)}, "http://other.test").add([KEY])

    assert run_at_home(tritond, tmp_path, "get", "@last") == 2
    assert "@last: no command has produced a result from http://env.test" in capsys.readouterr().err


def test_the_file_of_keys_is_bounded(tmp_path: Path) -> None:
    recent = RecentKeys(tmp_path / "recent", URL)

    recent.add(f"{number:064x}" for number in range(MAX_KEYS + 10))

    assert len(recent.known()) == MAX_KEYS
    assert recent.known()[-1] == f"{MAX_KEYS + 9:064x}"


DOCUMENTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "lines": (
        {"lines": [{"file": "user.py", "line": 3, "ttir": [1, 2, 3, 9], "ptx": [], "sass": [4]}]},
        ["line         ttir  sass", "user.py:3  1-3, 9     4"],
    ),
    "instructions": (
        {
            "total": 9,
            "code_bytes": 144,
            "by_class": {"fp32": 8, "local": 0, "move": 1},
            "by_opcode": {"FADD": 8, "MOV": 1},
            "by_line": [{"file": "user.py", "line": 3, "total": 8, "by_class": {"fp32": 8}}],
        },
        ["9 instructions, 144 bytes", "class  count", "fp32       8", "move       1"],
    ),
    "passes": (
        {
            "passes": [
                {
                    "stage": "ttir",
                    "name": "cse",
                    "changed": True,
                    "before": "a\nb\n",
                    "after": "a\n",
                },
                {
                    "stage": "ttir",
                    "name": "inline",
                    "changed": False,
                    "before": None,
                    "after": None,
                },
            ]
        },
        [
            "1 of 2 passes changed the IR; --json has it before and after",
            "stage  pass  lines before  lines after",
            "ttir   cse              2            1",
        ],
    ),
}


@pytest.mark.parametrize("command", DOCUMENTS)
def test_a_document_is_a_table_for_people(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    document, shown = DOCUMENTS[command]
    tritond.will_answer(document)

    assert run(tritond, command, KEY) == 0

    assert capsys.readouterr().out.splitlines()[: len(shown)] == shown


def test_targets_are_listed_by_backend_with_their_options(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    option = {"type": "int", "default": 4, "minimum": 1, "maximum": 32, "choices": None}
    toolchain = {"triton": "3.9.0", "ptxas": "13.4", "targets": ["cuda:80", "cuda:90"]}
    tritond.will_answer(
        {"toolchains": [{**toolchain, "default": True, "options": {"cuda": {"num_warps": option}}}]}
    )

    assert run(tritond, "targets") == 0

    assert capsys.readouterr().out.splitlines() == [
        "Triton 3.9.0, ptxas 13.4, the default",
        "backend  targets",
        "cuda:      80 90",
        "options of cuda",
        "option     type  default  values",
        "num_warps  int         4   1..32",
    ]


def test_disassembly_and_diffs_name_the_users_own_file(
    tritond: FakeTritond, kernel: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tritond.will_answer(compilation())
    tritond.will_send(b'\t//## File "user.py", line 3 inlined at "user.py", line 9\n')
    words = ("--target", "cuda:90", "--signature", "*fp32")

    codes = [run_at_home(tritond, tmp_path, "compile", kernel, *words)]
    codes.append(run_at_home(tritond, tmp_path, "sass", "@last"))

    assert codes == [0, 0]
    assert (
        capfd.readouterr().out == f'\t//## File "{kernel}", line 3 inlined at "{kernel}", line 9\n'
    )
