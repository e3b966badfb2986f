"""Excerpts point at their subject."""

from __future__ import annotations

import pytest

from compiler.diagnostic import Span, diagnostic, excerpt


def test_carets_stand_under_the_span() -> None:
    assert excerpt(["x = foo(1)"], Span("user.py", 1, 5, 1, 11)) == "x = foo(1)\n    ^^^^^^"


def test_tabs_keep_the_carets_in_place() -> None:
    assert excerpt(["\tx = y"], Span("user.py", 1, 6, 1, 7)) == "\tx = y\n\t    ^"


def test_without_an_end_the_word_is_underlined() -> None:
    assert excerpt(["  tl.load(p)"], Span("user.py", 1, 3)) == "  tl.load(p)\n  ^^^^^^^"


def test_a_span_of_several_lines_shows_its_first() -> None:
    found = excerpt(["f(a,  # note", "  b)"], Span("user.py", 1, 1, 2, 5))

    assert found == "f(a,  # note\n^^^^"


def test_a_line_that_is_not_there_has_no_excerpt() -> None:
    assert excerpt(["one"], Span("user.py", 2, 1)) is None


@pytest.mark.parametrize(
    ("message", "hint", "advice"),
    [
        ("x is not defined", None, "x is not defined"),
        ("x is not defined", "Did you mean y?", "x is not defined. Did you mean y?"),
        ("It is not defined.", "Did you mean y?", "It is not defined. Did you mean y?"),
    ],
)
def test_advice_is_a_message_and_its_hint_as_sentences(
    message: str, hint: str | None, advice: str
) -> None:
    assert diagnostic("error", "frontend", message, hint=hint).advice == advice
