"""Log lines: one line each, bounded, with whose work they are about."""

import json
import logging
import sys

import pytest

from jobs.logs import MAX_CHARS, MAX_TRACEBACK_CHARS, JsonLine, TextLine, log_as
from jobs.work_context import CALLER_ID, KEY, REQUEST_ID, WORK, WORKER
from store.byte_limits import MAX_LOG_LINE_BYTES


def record(message: str, *arguments: object, **more: object) -> logging.LogRecord:
    exc_info = more.get("exc_info")
    return logging.LogRecord("worker", logging.INFO, "f.py", 1, message, arguments, exc_info)


def fail(text: str) -> None:
    raise ValueError(text)


def with_error(text: str) -> logging.LogRecord:
    try:
        fail(text)
    except ValueError:
        return record("failed", exc_info=sys.exc_info())


def test_lines_below_the_level_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(logging, "root", logging.RootLogger(logging.NOTSET))
    log_as("text", "warning")
    logging.getLogger().info("started")
    logging.getLogger().warning("the store is away")

    assert capsys.readouterr().err == "WARNING root: the store is away\n"


def test_a_json_line_says_when_who_and_what():
    told = WORK.set({REQUEST_ID: "run-7", KEY: "0af7", CALLER_ID: "alice", WORKER: "host-1"})
    try:
        line = json.loads(JsonLine().format(record("job %s ended", "0af7")))
    finally:
        WORK.reset(told)

    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "logger": "worker",
        "message": "job 0af7 ended",
        "request_id": "run-7",
        "key": "0af7",
        "caller_id": "alice",
        "worker": "host-1",
        "traceback": None,
    }


def test_what_is_not_known_is_null():
    line = json.loads(JsonLine().format(record("ready")))

    assert [line[name] for name in ("request_id", "key", "caller_id", "worker")] == [None] * 4


@pytest.mark.parametrize("form", [TextLine(), JsonLine()])
@pytest.mark.parametrize("text", ["a\nINFO worker: forged", "\x1b[2J", "\r", "\u2028", "\x85"])
def test_quoted_text_neither_ends_a_line_nor_steers_a_terminal(form: logging.Formatter, text: str):
    line = form.format(record("job %s ended", text))

    assert len(line.splitlines()) == 1
    assert not any(character in line for character in text if not character.isprintable())


@pytest.mark.parametrize("form", [TextLine(), JsonLine()])
def test_a_line_is_bounded_whatever_it_quotes(form: logging.Formatter):
    assert len(form.format(record("%s", "\n" * 1_000_000))) < 5 * MAX_CHARS + 500
    assert len(form.format(with_error("x" * 1_000_000))) < MAX_TRACEBACK_CHARS + 500


@pytest.mark.parametrize("form", [TextLine(), JsonLine()])
@pytest.mark.parametrize("character", ["x", "\0", "\N{GRINNING FACE}"])
def test_a_line_with_its_traceback_has_a_limit_in_bytes(form: logging.Formatter, character: str):
    error = with_error(character * 100_000)
    error.msg = character * 100_000

    line = form.format(error)

    assert MAX_CHARS <= len(line.encode()) <= MAX_LOG_LINE_BYTES
    if isinstance(form, JsonLine):
        assert json.loads(line)["traceback"]


def test_the_traceback_of_a_json_line_is_a_member():
    line = JsonLine().format(with_error("no such kernel"))

    assert len(line.splitlines()) == 1
    assert json.loads(line)["traceback"].endswith("ValueError: no such kernel")


@pytest.mark.parametrize("form", [TextLine(), JsonLine()])
def test_a_long_message_keeps_its_end(form: logging.Formatter):
    line = form.format(record("Traceback: %s ValueError: the cause", "x" * MAX_CHARS))

    assert "Traceback: x" in line
    assert "x ValueError: the cause" in line
