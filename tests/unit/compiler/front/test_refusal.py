"""Exceptions that mean a refusal by the sandbox, or that something is not here."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from compiler.front.environment import is_lacking, was_refused


def raised_while_handling(error: Exception) -> Exception:
    try:
        try:
            raise error
        except OSError:
            raise ValueError("no configuration") from None
    except ValueError as found:
        return found


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(errno.EPERM, "Operation not permitted"),
        OSError(errno.EACCES, "Permission denied"),
        RuntimeError("can't start new thread"),
        raised_while_handling(PermissionError(errno.EPERM, "Operation not permitted")),
    ],
    ids=["call", "file", "thread", "translated"],
)
def test_a_refusal_is_recognized(error: Exception) -> None:
    assert was_refused(error)


@pytest.mark.parametrize(
    "error",
    [
        PermissionError("said without a number"),
        FileNotFoundError(errno.ENOENT, "No such file"),
        RuntimeError("something else"),
        raised_while_handling(OSError(errno.ENOENT, "No such file")),
        None,
    ],
    ids=["no number", "missing file", "other", "translated", "nothing"],
)
def test_other_errors_are_none(error: Exception | None) -> None:
    assert not was_refused(error)


def test_a_chain_that_bites_its_tail_ends() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__context__, second.__context__ = second, first

    assert not was_refused(first)


def test_a_home_directory_that_is_not_here_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.expanduser", lambda path: path)

    with pytest.raises(RuntimeError) as raised:
        Path.home()

    assert is_lacking(raised.value, ())
    assert not is_lacking(RuntimeError(str(raised.value)), ())
