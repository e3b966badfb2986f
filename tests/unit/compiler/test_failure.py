"""Failures of a compilation as a task reports them."""

from __future__ import annotations

from compiler.diagnostic import MAX_TEXT_CHARS, Failure, diagnostic


def test_texts_that_the_users_code_makes_endless_are_cut() -> None:
    endless = "x" * 10_000_000

    failure = Failure("compile_error", "frontend", endless, [diagnostic("error", "ttir", endless)])

    end = "... (10,000,000 characters)"
    assert failure.message == failure.diagnostics[0].message == "x" * MAX_TEXT_CHARS + end
    assert failure.diagnostics[0].severity == "error"
    assert failure.diagnostics[0].line is None
