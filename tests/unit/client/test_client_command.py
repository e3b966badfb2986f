"""The command line: requests, output files and exit codes."""

import base64
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tritonc.cli.main import main
from tritonc.cli.parser import command_parser, joined

from tests.unit.client.fake_tritond import KEY, FakeTritond, compilation, failure, run
from tests.unit.documents.test_shell_blocks import unquoted

ADD = ["--signature", "*fp32:16,*fp32:16,*fp32:16,i32", "--constexpr", "BLOCK_SIZE=1024"]


def test_compile_posts_what_the_flags_say(tritond: FakeTritond, kernel: str):
    tritond.will_answer(compilation())

    code = run(
        tritond, "compile", kernel, *ADD, "--target", "cuda:90", "--option", "num_warps=4",
        "--hint", "x_ptr=divisible_by_16,pointer_range_32", "--kernel", "add_kernel",
    )  # fmt: skip

    assert code == 0
    assert tritond.posted == {
        "source": "import triton\n",
        "module": "add",
        "target": "cuda:90",
        "kernel": "add_kernel",
        "signature": "*fp32:16,*fp32:16,*fp32:16,i32",
        "constexprs": {"BLOCK_SIZE": 1024},
        "hints": {"x_ptr": ["divisible_by_16", "pointer_range_32"]},
        "options": {"num_warps": 4},
        "include": [],
    }


def test_a_signature_may_be_given_by_name(tritond: FakeTritond, kernel: str):
    tritond.will_answer(compilation())

    run(tritond, "compile", kernel, "--target", "cuda:90", "--signature", "x_ptr=*fp32:16", "n=i32")

    assert tritond.posted["signature"] == {"x_ptr": "*fp32:16", "n": "i32"}


@pytest.mark.parametrize(
    ("written", "posted"),
    [
        ("16", 16),
        ("0.5", 0.5),
        ("True", True),
        ("false", False),
        ("None", None),
        ("ieee", "ieee"),
        ('"16"', "16"),
        ("[1, 2]", [1, 2]),
        ('{"dtype": "bf16"}', {"dtype": "bf16"}),
        ("tl.float32", {"dtype": "float32"}),
        ("tl.load", "tl.load"),
        ("-Infinity", {"float": "-inf"}),
        ("a=b", "a=b"),
    ],
)
def test_values_are_read_as_json_or_python_or_text(
    tritond: FakeTritond, kernel: str, written: str, posted: object
):
    tritond.will_answer(compilation())

    run(tritond, "compile", kernel, "--target", "cuda:90", "--constexpr", f"C={written}")

    assert tritond.posted["constexprs"] == {"C": posted}


def test_emit_writes_text_and_binaries_beside_each_other(tritond: FakeTritond, kernel: str):
    included = {"ptx": "//ptx", "cubin": base64.b64encode(b"\x7fELF").decode()}
    tritond.will_answer(compilation(included=included))

    code = run(tritond, "compile", kernel, "--target", "cuda:90", "--emit", "ptx", "cubin=k.bin")

    assert code == 0
    assert tritond.posted["include"] == ["ptx", "cubin"]
    assert Path("add.ptx").read_text() == "//ptx"
    assert Path("k.bin").read_bytes() == b"\x7fELF"


def test_emit_to_a_folder_that_is_not_there_is_reported_before_anything_is_compiled(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    assert run(tritond, "compile", kernel, "--target", "cuda:90", "--emit", "ptx=no/k.ptx") == 2
    assert "--emit ptx=no/k.ptx: folder no does not exist" in capsys.readouterr().err
    assert tritond.requests == []


def test_emit_to_stdout_leaves_stdout_to_the_artifact_alone(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    tritond.will_answer(compilation(included={"ptx": "//ptx\n"}))

    run(tritond, "compile", kernel, "--target", "cuda:90", "--emit", "ptx=-")

    out, err = capsys.readouterr()
    assert out == "//ptx\n"
    assert "add_kernel for cuda:90: miss" in err
    assert f"key {KEY}" in err
    assert "registers 32" in err


def test_sass_is_fetched_because_it_is_made_on_demand(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    tritond.will_answer(compilation())
    tritond.will_send(b"MOV R1\n")

    run(tritond, "compile", kernel, "--target", "cuda:90", "--emit", "sass=-")

    assert tritond.posted["include"] == []
    assert capsys.readouterr().out == "MOV R1\n"


def test_a_kernel_that_does_not_compile_exits_1_with_the_users_own_file_name(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    tritond.will_answer(failure(included={"source": "module {}"}))

    code = run(tritond, "compile", kernel, "--target", "cuda:90", "--emit", "source")

    assert code == 1
    err = capsys.readouterr().err
    assert err.startswith("add.py:12:40: error: name 'maks' is not defined\n")
    assert "hint: did you mean 'mask'?" in err
    assert Path("add.source").read_text() == "module {}"


def test_a_wrong_request_exits_2_and_says_where(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    faults = [{"pointer": "/target", "message": "there is no cuda:99"}]
    tritond.will_refuse(422, "invalid_request", detail="1 fault", errors=faults)

    assert run(tritond, "compile", kernel, "--target", "cuda:99") == 2
    assert "--target: there is no cuda:99" in capsys.readouterr().err


def test_a_mistyped_flag_is_named_before_the_one_that_is_missing(
    kernel: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit):
        main(["compile", kernel, "--targt", "h100"])
    assert "unrecognized arguments: --targt; did you mean --target?" in capsys.readouterr().err


def test_an_error_in_ir_names_the_users_own_file(
    tritond: FakeTritond, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "add.ttir"
    file.write_text("module {}")
    [wrong] = failure()["diagnostics"]
    wrong |= {"file": "user.ttir", "line": 4, "column": 2}
    tritond.will_answer(failure() | {"diagnostics": [wrong]})
    run(tritond, "compile", str(file), "--target", "h100")
    assert "add.ttir:4:2: error" in capsys.readouterr().err
    wrong |= {"file": "user.py"}  # the source that the IR was made from
    tritond.will_answer(failure() | {"diagnostics": [wrong]})
    run(tritond, "compile", str(file), "--target", "h100")
    assert "user.py:4:2: error" in capsys.readouterr().err


def test_ir_taken_before_the_first_passes_is_posted_to_be_canonicalized(
    tritond: FakeTritond, kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "add.mlir"
    file.write_text("module {\n}\n")
    words = ("compile", "--target", "h100", "--canonicalize")
    tritond.will_answer(compilation())
    assert run(tritond, *words, str(file)) == 0
    assert tritond.posted["ir"]["canonicalize"] is True
    capsys.readouterr()
    assert run(tritond, *words, kernel) == 2
    assert "is Python, whose first passes always run" in capsys.readouterr().err
    assert run(tritond, *words, str(file), "--language", "ttgir") == 2
    assert "--canonicalize: add.mlir is TTGIR, not TTIR" in capsys.readouterr().err.replace(
        f"{tmp_path}/", ""
    )


def test_a_module_without_a_kernel_is_no_mistake_of_a_flag(
    tritond: FakeTritond, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "add.ttir"
    file.write_text("module {}")
    error = {"severity": "error", "stage": "ttir", "message": "the module has no kernel"}
    problem = {"slug": "unknown_kernel", "detail": error["message"]}
    tritond.will_answer(failure() | {"problem": problem, "diagnostics": [error]})
    assert run(tritond, "compile", str(file), "--target", "h100") == 2
    shown = capsys.readouterr().err
    assert "ttir: error: the module has no kernel" in shown
    assert "--kernel" not in shown


def test_a_second_request_may_get_another_key(tritond: FakeTritond, kernel: str):
    tritond.will_answer(compilation("queued"))
    tritond.will_answer(compilation(key="f" * 64))  # the service has a new toolchain by now
    assert run(tritond, "compile", kernel, "--target", "h100") == 0


def test_an_error_of_the_request_is_written_once(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    detail = "there is no kernel 'foo' in the source"
    said = {"severity": "error", "stage": "request", "message": detail}
    problem = {"slug": "unknown_kernel", "title": "Unknown kernel", "detail": detail}
    tritond.will_answer(failure() | {"diagnostics": [said], "problem": problem})
    run(tritond, "compile", kernel, "--kernel", "foo", "--target", "h100")
    assert capsys.readouterr().err == f"tritonc: --kernel: {detail}\n"


def test_a_missing_file_exits_2(tritond: FakeTritond, capsys: pytest.CaptureFixture[str]):
    assert run(tritond, "compile", "no-such-file.py", "--target", "cuda:90") == 2
    assert "no-such-file.py" in capsys.readouterr().err


def test_a_word_without_a_value_exits_2(tritond: FakeTritond, kernel: str):
    with pytest.raises(SystemExit) as ended:
        run(tritond, "compile", kernel, "--target", "cuda:90", "--constexpr", "BLOCK_SIZE")

    assert ended.value.code == 2


def test_half_a_signature_by_name_exits_2(tritond: FakeTritond, kernel: str):
    assert (
        run(tritond, "compile", kernel, "--target", "cuda:90", "--signature", "x=i32", "i32") == 2
    )


def test_a_url_that_is_none_exits_2(tritond: FakeTritond):
    assert run(tritond, "--url", "http://host:port", "targets") == 2


def test_a_service_that_is_down_exits_3(tritond: FakeTritond, capsys: pytest.CaptureFixture[str]):
    tritond.will_be_down()

    assert run(tritond, "targets") == 3
    assert "no answer from http://env.test" in capsys.readouterr().err


def test_not_finished_in_time_exits_4_with_the_key(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    tritond.will_answer(compilation("queued"), status=202)

    assert run(tritond, "compile", kernel, "--target", "cuda:90", "--wait-s", "0") == 4
    assert KEY in capsys.readouterr().err


def test_the_api_key_comes_from_the_environment(tritond: FakeTritond):
    tritond.will_answer({})

    main(["targets"], environment={"TRITOND_API_KEY": "s3cret"}, transport=tritond)

    assert tritond.requests[0].headers["authorization"] == "Bearer s3cret"
    assert tritond.requests[0].url.host == "127.0.0.1"


def test_get_shows_the_answer_as_json(tritond: FakeTritond, capsys: pytest.CaptureFixture[str]):
    tritond.will_answer(compilation(cache=None))

    assert run(tritond, "get", KEY, "--json") == 0
    assert json.loads(capsys.readouterr().out)["kernel"] == "add_kernel"


def test_artifact_writes_bytes_to_stdout(
    tritond: FakeTritond, capfdbinary: pytest.CaptureFixture[bytes]
):
    tritond.will_send(b"\x7fELF\0\xff")

    assert run(tritond, "artifact", KEY, "cubin") == 0
    assert capfdbinary.readouterr().out == b"\x7fELF\0\xff"


def test_a_standard_output_that_is_full_is_said_and_no_traceback(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    tritond.will_answer(compilation())
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr("sys.stdout", full)
        code = run(tritond, "get", KEY, "--json")
        with suppress(OSError):  # the rest of the buffer
            full.close()

    assert code == 2
    assert "No space left on device" in capsys.readouterr().err


def test_compile_time_prints_go_to_standard_error(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    tritond.will_answer(compilation(stdout="BLOCK_SIZE is 1024\n"))

    run(tritond, "compile", kernel, "--target", "cuda:90", "--json")

    out, err = capsys.readouterr()
    assert json.loads(out)["key"] == KEY
    assert err.startswith("BLOCK_SIZE is 1024\n")


def test_help_documents_the_exit_codes(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--help"])

    text = capsys.readouterr().out
    for line in ("0  success", "1  the kernel did not compile", "3  the service is unreachable"):
        assert line in text


def helps() -> Iterator[tuple[str, str]]:
    """Return the help text of `tritonc` and of each command, by name."""
    root = command_parser()
    yield "tritonc", root.format_help()
    actions = [one for one in root._actions if isinstance(one.choices, dict)]
    for name, parser in actions[0].choices.items():
        yield name, parser.format_help()


HELPS = dict(helps())


@pytest.mark.parametrize("name", HELPS)
def test_examples_of_the_help_work_in_zsh_too(name: str):
    examples = "\n".join(re.findall(r"^ +(tritonc (?:.*\\\n)*.*)$", HELPS[name], re.MULTILINE))
    arguments = re.findall(
        r"^  (\S*(?:'.*?')?\S*)  ", HELPS[name].partition("arguments, ")[2], re.MULTILINE
    )

    for text in (examples, *arguments):
        assert not set(unquoted(text) or "") & set("*?[]{}()#^~!"), text


@pytest.mark.parametrize("name", HELPS)
def test_the_examples_of_a_help_are_commands(name: str):
    text = HELPS[name].replace("\\\n", " ")
    examples = re.findall(
        r"^ +(tritonc (?!--url).*)$|\btritonc completion bash", text, re.MULTILINE
    )

    assert examples
    for example in filter(None, examples):
        # after the command: columns of explanations, or a redirection
        words = shlex.split(re.split(r"(?<=\w)  +(?=[a-z])| > ", example)[0])
        assert command_parser().parse_args(joined(words[1:])).command


def test_the_helps_have_examples():
    assert "'*fp32:16,i32'" in HELPS["tritonc"]
    assert "'x=fp32[98432]:uniform'" in HELPS["launch"]


def test_without_a_command_the_help_says_which_there_are(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 2
    assert "run a kernel and check its results" in capsys.readouterr().err


def test_url_and_json_may_stand_before_or_behind_the_command(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
):
    for words in (["--url", "http://a.test", "--json"], []):
        behind = [] if words else ["--url", "http://a.test", "--json"]
        tritond.will_refuse(404, "not_found", detail="gone")

        assert run(tritond, *words, "sass", KEY, *behind) == 2
        assert json.loads(capsys.readouterr().out)["error"]["problem"]["slug"] == "not_found"
    assert {request.url.host for request in tritond.requests} == {"a.test"}


def test_a_file_may_stand_behind_its_target(tritond: FakeTritond, kernel: str):
    tritond.will_answer(compilation())

    assert run(tritond, "compile", "--target", "cuda:90", kernel) == 0


@pytest.mark.parametrize(
    "words",
    [
        ["--target", "cuda:90", "cuda:80", "{kernel}"],
        ["{kernel}", "--target", "cuda:90", "--target", "cuda:80"],
        ["--emit", "ttir=-", "{kernel}", "--target", "cuda:90", "cuda:80"],
        ["--option", "num_warps=4", "{kernel}", "--target", "cuda:90,cuda:80"],
        ["--target", "cuda:90", "cuda:80", "--", "{kernel}"],
    ],
)
def test_targets_and_a_file_may_stand_in_any_order(
    tritond: FakeTritond, kernel: str, words: list[str]
):
    tritond.will_answer(compilation(included={"ttir": ""}))
    tritond.will_answer(compilation(included={"ttir": ""}))

    assert run(tritond, "compile", *(word.format(kernel=kernel) for word in words)) == 0
    targets = [json.loads(request.content)["target"] for request in tritond.requests]
    assert targets == ["cuda:90", "cuda:80"]


def test_files_of_a_flag_stay_its_own(tritond: FakeTritond, kernel: str):
    args = command_parser().parse_args(["gate", "--init", kernel, kernel])

    assert (args.init, args.file) == ([kernel, kernel], "kernels.toml")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("export", "add.ttir", "rust"),
            "add.ttir is not a key: `export` takes that of a finished",
        ),
        (("compile", "{kernel}", "--target", "h100", "--emit", "rust=k.rs"), "export @last rust"),
    ],
)
def test_a_file_is_no_key_and_an_export_no_stage(
    tritond: FakeTritond,
    kernel: str,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: str,
):
    assert run(tritond, *(word.format(kernel=kernel) for word in words)) == 2
    assert message in capsys.readouterr().err
    assert tritond.requests == []


def test_an_inspection_waits_no_longer_than_asked(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    for _ in range(100):
        tritond.will_answer({"state": "queued"}, status=202)

    assert run(tritond, "compile", kernel, "--target", "cuda:90", "--wait-s", "0.05") == 4

    assert "queued after waiting 0.05 s" in (shown := capsys.readouterr().err)
    assert "`tritonc system` shows whether a worker runs" in shown
