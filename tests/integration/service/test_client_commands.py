"""The command line against the real service: files, targets, types, errors."""

from __future__ import annotations

import json
import re
from argparse import _SubParsersAction
from pathlib import Path

import pytest
from tritonc.cli.parser import command_parser

from tests.integration.service.command_runs import run
from tests.integration.service.running import ROOT, Deployment

VECTOR_ADD = str(ROOT / "examples" / "vector_add.py")
SUM = ["--signature", "*fp32:16,*fp32:16,*fp32:16,i32:16", "--constexpr", "BLOCK_SIZE=1024"]
SUM_LIKE = ["--like", *(f"{name}=fp32[4096]" for name in ("x_ptr", "y_ptr", "output_ptr"))]
RELU = """\
import triton
import triton.language as tl

from activations import act


@triton.jit
def relu(x_ptr, n, scale, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, act(x) * scale, mask=offsets < n)
"""
ACTIVATIONS = """\
import triton
import triton.language as tl


@triton.jit
def act(x):
    return tl.maximum(x, 0.0)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a kernel that imports a module from the same folder."""
    (tmp_path / "relu.py").write_text(RELU)
    (tmp_path / "activations.py").write_text(ACTIVATIONS)
    return tmp_path


def test_several_files_for_several_targets(system: Deployment, folder: Path):
    (folder / "again.py").write_text(RELU.replace("def relu", "def again"))
    words = ["--like", "x_ptr=fp32[64]", "n=64", "scale=2.0", "--constexpr", "BLOCK=64"]
    targets = ["--target", "cuda:80", "--target", "cuda:90,hip:gfx942"]

    done = run(
        system.url, "compile", "relu.py", "again.py", *words, *targets, "--json", folder=folder
    )

    made = json.loads(done.stdout)["compilations"]
    assert done.returncode == 0, done.stderr
    assert [(one["file"], one["target"], one["state"]) for one in made] == [
        (file, target, "succeeded")
        for file in ("relu.py", "again.py")
        for target in ("cuda:80", "cuda:90", "hip:gfx942")
    ]
    rows = [line.split() for line in done.stderr.splitlines() if "succeeded" in line]
    assert [row[:3] for row in rows][-1] == ["again.py", "again", "hip:gfx942"]


def test_stages_of_several_targets_go_to_files_of_their_own(system: Deployment, folder: Path):
    words = [*SUM, "--target", "cuda:80,cuda:90", "--emit", "ptx", "cubin={target}/{file}.bin"]
    for target in ("cuda-80", "cuda-90"):
        (folder / target).mkdir()

    done = run(system.url, "compile", VECTOR_ADD, *words, folder=folder)
    refused = run(system.url, "compile", VECTOR_ADD, *words[:-1], "cubin=one", folder=folder)

    assert done.returncode == 0, done.stderr
    assert ".target sm_80" in (folder / "vector_add.cuda-80.ptx").read_text()
    assert ".target sm_90" in (folder / "vector_add.cuda-90.ptx").read_text()
    assert (folder / "cuda-80" / "vector_add.bin").read_bytes().startswith(b"\x7fELF")
    assert refused.returncode == 2
    assert "several stages would go to one; add placeholders to PATH" in refused.stderr


def test_local_imports_go_along_and_verbose_says_so(system: Deployment, folder: Path):
    words = ["relu.py", "--target", "cuda:90", "--constexpr", "BLOCK=64"]
    words += ["--signature", "x_ptr=*fp32", "n=i32", "scale=fp32"]

    done = run(system.url, "compile", *words, "--verbose", folder=folder)
    without = run(system.url, "compile", *words, "--no-local-imports", folder=folder)

    assert done.returncode == 0, done.stderr
    assert f"sent relu.py ({len(RELU)} bytes)" in done.stderr
    assert f"  with activations.py ({len(ACTIVATIONS)} bytes)" in done.stderr
    assert without.returncode == 1
    assert "activations" in without.stderr


def test_types_by_example_are_those_of_a_signature(system: Deployment):
    target = ["--target", "cuda:90", "--json"]

    types = ["x_ptr=*fp32:16", "y_ptr=*fp32:16", "output_ptr=*fp32:16", "n_elements=i32:16"]

    like = run(
        system.url, "compile", VECTOR_ADD, *SUM_LIKE, "n_elements=4096", "BLOCK_SIZE=1024", *target
    )
    said = run(system.url, "compile", VECTOR_ADD, "--signature", *types, *SUM[2:], *target)

    assert like.returncode == 0, like.stderr
    assert json.loads(like.stdout)["key"] == json.loads(said.stdout)["key"]


def test_json_says_what_the_cache_did_for_the_first_request(
    system: Deployment, folder: Path
) -> None:
    words = ["--signature", "*fp32:16,i32,fp32", "--constexpr", "BLOCK=2048", "--json"]
    command = ["compile", "relu.py", *words, "--target", "cuda:90"]

    first, again = (json.loads(run(system.url, *command, folder=folder).stdout) for _ in range(2))

    assert (first["cache"], again["cache"]) == ("miss", "hit")


def test_all_that_is_missing_is_reported_at_once_as_flags_to_add(system: Deployment, folder: Path):
    done = run(
        system.url, "compile", "relu.py", "--target", "cuda:90", "--like", "n=4", folder=folder
    )

    assert done.returncode == 2
    assert "hint: add --like 'x_ptr=?' 'scale=?' --constexpr 'BLOCK=?', as in" in done.stderr


def test_ir_is_posted_by_its_name(system: Deployment, folder: Path):
    made = run(
        system.url, "compile", VECTOR_ADD, *SUM, "--target", "cuda:90",
        "--emit", "ttir=add.mlir", "ttgir=add.ttgir", folder=folder,
    )  # fmt: skip
    ttir, ttgir = (
        run(system.url, "compile", name, "--target", "cuda:90", "--json", folder=folder)
        for name in ("add.mlir", "add.ttgir")
    )
    typed = run(system.url, "compile", "add.mlir", *SUM, "--target", "cuda:90", folder=folder)

    assert made.returncode == 0, made.stderr
    assert list(json.loads(ttir.stdout)["artifacts"])[:2] == ["ttir", "ttgir"]
    assert list(json.loads(ttgir.stdout)["artifacts"])[:2] == ["ttgir", "llir"]
    assert typed.returncode == 2
    assert "--signature, --constexpr: add.mlir is IR" in typed.stderr


def test_a_launch_prints_values_and_accesses(system: Deployment, folder: Path):
    words = ["--constexpr", "BLOCK=4", "--grid", "1", "--argument", "n=3", "scale=2.0"]
    words += ["x_ptr=fp32[2,2]:arange(-1,1):output", "--return", "x_ptr", "--trace"]

    done = run(system.url, "launch", "relu.py", *words, folder=folder)
    as_json = run(system.url, "launch", "relu.py", *words, "--json", folder=folder)

    assert done.returncode == 0, done.stderr
    assert "x_ptr: fp32[2, 2]\n  [\n   [0.0, 0.0]\n   [2.0, 2.0]\n  ]\n" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if "relu.py:1" in line]
    assert [row[2:7] for row in rows] == [
        ["relu.py:10", "load", "x_ptr", "4", "3"],
        ["relu.py:11", "store", "x_ptr", "4", "3"],
    ]
    answer = json.loads(as_json.stdout)
    assert answer["outputs"]["x_ptr"]["values"] == [[0.0, 0.0], [2.0, 2.0]]
    assert [access["op"] for access in answer["trace"]["accesses"]] == ["load", "store"]


def test_the_version_needs_no_service():
    alone = run("http://127.0.0.1:9", "--version")

    assert (alone.returncode, alone.stdout, alone.stderr) == (0, "tritonc 0.1.0\n", "")
    as_json = json.loads(run("http://127.0.0.1:9", "--version", "--json").stdout)
    assert as_json == {"tritonc": "0.1.0"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compile", "gone.py", "--target", "cuda:90"], "gone.py: No such file or directory"),
        (["compile", ".", "--target", "cuda:90"], ".: this is a folder; give a file in it"),
        (["compile", "binary.py", "--target", "cuda:90"], "binary.py is not Python text"),
        (["compile", "relu.py", "--target", "cuda:99"], "--target: Triton "),
        (
            ["compile", "relu.py", "--target", "cuda:90", "--option", "num_warps=5"],
            "--option num_warps: 5 is not one of 1, 2, 4",
        ),
        (
            ["compile", "relu.py", "--target", "cuda:90", "--signature", "x_ptr=*fp33"],
            '--signature x_ptr: "*fp33" is not a Triton type',
        ),
        (
            ["compile", "relu.py", "--target", "cuda:90", "--like", "x_ptr=fp33[4]"],
            "--like x_ptr: 'fp33' is not a dtype",
        ),
        (
            ["launch", "relu.py", "--grid", "1", "--argument", "x_ptr=fp33[4]:ones"],
            '--argument x_ptr, dtype: "fp33" is not a Triton type',
        ),
        (["launch", "relu.py", "--grid", "x +", "--argument", "n=1"], "--grid: "),
        (["launch", "relu.py", "--grid", "1", "--trace", "a"], "--trace a: not a program id"),
        (["launch", "--request", "wrong.toml"], "wrong.toml, options.num_warps: 5 is not one of"),
        (["get", "nothing"], "404 not_found: you have no job nothing"),
    ],
)
def test_what_is_wrong_is_reported_in_the_words_of_the_command(
    system: Deployment, folder: Path, words: list[str], message: str
):
    (folder / "binary.py").write_bytes(b"\xff\xfe\x00")
    wrong = (
        f'grid = [1]\n[compilation]\nsource = """{RELU}"""\n[compilation.options]\nnum_warps=5\n'
    )
    (folder / "wrong.toml").write_text(wrong)

    done = run(system.url, *words, folder=folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


WRONG = {
    "--argument": "m=4",
    "--atol": "-1",
    "--budget-s": "1e9",
    "--check": "nope",
    "--constexpr": "NOPE=1",
    "--device": "nope",
    "--emit": "nope",
    "--fuzz-seed": "-1",
    "--grid": "m",
    "--hint": "x_ptr=nope",
    "--kernel": "nope",
    "--like": "x_ptr=fp33[4]",
    "--limit": "nope=1",
    "--option": "num_warps=3",
    "--return": "nope",
    "--rtol": "-1",
    "--signature": "x_ptr=*fp33",
    "--sort": "nope",
    "--space": "NOPE=1",
    "--stop-after": "nope",
    "--target": "nope",
    "--timeout-s": "1e9",
    "--trace": "nope",
    "--triton": "nope",
    "--where": "nope < 1",
}
"""A wrong value of each flag that takes one, but no file."""
OF_FILES = frozenset(
    {"--contract", "--file", "--github", "--inputs", "--reference", "--request", "--sarif"}
    | {"--save", "--step"}
)
OTHERS = frozenset(
    {"--id", "--url", "--language", "--priority", "--search", "--wait-s", "--winners"}
)
"""Flags of the client alone, and those whose values the parser checks."""
BUFFERS = ["x_ptr=fp32[8]:ones", "y_ptr=fp32[8]:ones", "output_ptr=fp32[8]:output", "n_elements=8"]
RIGHT = {
    "compile": ["add.py", "--target", "cuda:90"],
    "launch": ["add.py", "--device", "cpu", "--grid", "1", "--argument", *BUFFERS],
    "prove": ["add.py", "--contract", "add.contract"],
    "sweep": [
        "add.py",
        "--device",
        "cpu",
        "--space",
        "BLOCK_SIZE=64",
        "--grid",
        "1",
        "--argument",
        *BUFFERS,
    ],
}


def flags_of(command: str) -> list[str]:
    """Return the flags of a command that take a value which the service checks."""
    parser = command_parser()
    [commands] = [each for each in parser._actions if isinstance(each, _SubParsersAction)]
    flags = {
        each.option_strings[0]
        for each in commands.choices[command]._actions
        if each.option_strings and each.nargs != 0
    }
    row_limit = {"--limit"} if command == "sweep" else set()
    return sorted(flags - OF_FILES - OTHERS - row_limit)


@pytest.mark.parametrize(
    ("command", "flag"), [(command, flag) for command in RIGHT for flag in flags_of(command)]
)
def test_a_wrong_value_is_reported_with_its_flag(
    system: Deployment, tmp_path: Path, command: str, flag: str
):
    (tmp_path / "add.py").write_text(Path(VECTOR_ADD).read_text())
    (tmp_path / "add.contract").write_text("x_ptr: n_elements\n")
    words = [*RIGHT[command], "--constexpr", "BLOCK_SIZE=64", f"{flag}={WRONG[flag]}"]

    done = run(system.url, command, *words, folder=tmp_path)

    text = done.stdout + done.stderr
    assert done.returncode == 2, text
    assert flag in text, text
    assert not re.search(r"(^|[\s:])/[a-z_]+(/|:)", text), text


def test_an_error_is_one_json_document_where_that_is_asked_for(system: Deployment, folder: Path):
    words = ["relu.py", "--target", "cuda:90", "--option", "num_warps=5", "--json"]

    error = json.loads(run(system.url, "compile", *words, folder=folder).stdout)["error"]

    assert error["exit_code"] == 2
    assert error["problem"]["errors"][0]["pointer"] == "/options/num_warps"
    assert "--option num_warps: 5 is not one of" in error["message"]
