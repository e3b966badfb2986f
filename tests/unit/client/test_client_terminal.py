"""Command-line output on a terminal, and in a pipe."""

import io
from types import SimpleNamespace

import pytest
from tritonc.cli import terminal as module
from tritonc.cli.terminal import Terminal, table

RED = "\x1b[1;31m"
FAILED = "add.py:3:5: error: name 'maks' is not defined\n    maks\n    ^^^^\n"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    screen = Screen()
    # pytest replaces `sys.stdout` and `sys.stderr` before each test.
    monkeypatch.setattr(module, "sys", SimpleNamespace(stdout=screen, stderr=screen))
    return screen


@pytest.mark.parametrize(
    ("environment", "has_colour"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ({"TERM": "xterm", "FORCE_COLOR": "0"}, False),
        ({"TERM": "xterm", "FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_a_terminal_has_colours_unless_the_environment_says_no(
    screen: Screen, environment: dict[str, str], has_colour: bool
):
    Terminal(environment).say(FAILED)

    assert (RED in screen.getvalue()) == has_colour


def test_a_pipe_gets_the_text_unchanged(capsys: pytest.CaptureFixture[str]):
    Terminal({"TERM": "xterm"}).say(FAILED)

    assert capsys.readouterr().err == FAILED


def test_force_color_reaches_a_pipe(capsys: pytest.CaptureFixture[str]):
    Terminal({"FORCE_COLOR": "1"}).text("verdict: mismatch on the CPU device")

    assert capsys.readouterr().out == f"{RED}verdict: mismatch\x1b[0m on the CPU device\n"


def test_no_text_drives_a_terminal_or_is_taken_for_markup(screen: Screen):
    Terminal({"TERM": "xterm"}).text("a\x1b]0;owned\x07 [red]b[/red] :smile:")
    Terminal({"TERM": "xterm", "COLUMNS": "60"}).draw(table(["x"], [["\x1b[2J[red]"]]))

    text = screen.getvalue()
    assert r"a\x1b]0;owned\x07 [red]b[/red] :smile:" in text
    assert r"\x1b[2J[red]" in text


def test_a_table_in_a_pipe_is_neither_wrapped_nor_cut(capsys: pytest.CaptureFixture[str]):
    rows = [["a" * 300, "1"], ["b", "22"]]

    Terminal({"TERM": "xterm", "COLUMNS": "40"}).draw(table(["name", "registers"], rows))

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["a" * 300, "1"] in lines
    assert ["b", "22"] in lines


def test_progress_shows_on_a_terminal_once_it_takes_long(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "SHOW_AFTER_S", 0)

    with Terminal({"TERM": "xterm", "COLUMNS": "60"}).progress("waiting for add_kernel") as say:
        while "waiting for add_kernel" not in screen.getvalue():
            pass
        say("running")
        while "running" not in screen.getvalue():
            pass

    assert screen.getvalue().endswith("\x1b[2K")  # the progress line was erased


def test_progress_leaves_a_pipe_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(module, "SHOW_AFTER_S", 0)

    with Terminal({"FORCE_COLOR": "1"}).progress("waiting") as say:
        say("running")

    assert capsys.readouterr() == ("", "")
