"""Exceptions that mean a refusal by the sandbox."""

from __future__ import annotations

import errno

import pytest

from compiler.front.environment import was_refused


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
