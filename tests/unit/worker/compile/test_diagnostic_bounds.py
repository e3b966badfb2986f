"""A record keeps a bounded amount of messages, and reports once how much is missing."""

from __future__ import annotations

from compiler.diagnostic import Diagnostic, clipped
from worker.compile.reports import kept_diagnostics


def error(message: str, **places: int) -> Diagnostic:
    return Diagnostic(severity="error", stage="ttir", message=message, **places)


def test_a_short_text_stays() -> None:
    assert clipped("short", 100) == "short"


def test_a_clipped_text_says_what_is_missing_and_is_not_clipped_again() -> None:
    once = clipped("x" * 500, 100)

    assert once == "x" * 40 + "… [460 more characters were not kept]"
    assert clipped(once, 100) == once


def test_few_diagnostics_stay_as_they_are() -> None:
    said = [error("one", line=3), error("two")]

    assert kept_diagnostics(said) == said


def test_of_many_the_first_are_kept_and_the_rest_is_counted() -> None:
    kept = kept_diagnostics([error(str(n)) for n in range(1000)])

    assert [one.message for one in kept[:2]] == ["0", "1"]
    assert kept[-1].message == "950 more messages were not kept."
    assert kept_diagnostics(kept, children=3) == kept


def test_all_texts_together_are_bounded() -> None:
    kept = kept_diagnostics([error("x" * 10_000) for _ in range(50)])

    assert sum(len(one.message) for one in kept) <= 64 << 10
    assert kept[-1].message == "34 more messages were not kept."


def test_a_line_that_no_text_has_is_left_out() -> None:
    (kept,) = kept_diagnostics([error("one", line=10**400, column=-1)])

    assert (kept.line, kept.column) == (None, None)
