"""Pointers, quotes and suggestions in messages."""

import difflib
import random

import pytest

from compiler.rejection import (
    MAX_ERRORS,
    FieldError,
    RequestRejected,
    closest,
    collecting,
    did_you_mean,
    pointer,
    shown,
)


def test_a_pointer_escapes_slash_and_tilde():
    assert pointer("files", "a/b~c.py") == "/files/a~1b~0c.py"


def test_the_whole_body_has_the_empty_pointer():
    assert pointer() == ""


def test_an_empty_name_is_a_part_of_a_pointer():
    assert pointer("constexprs", "", 0) == "/constexprs//0"


def test_a_rejection_says_every_fault_with_its_place():
    rejected = RequestRejected(
        FieldError("/target", "is no target"), FieldError("/kernel", "is no name")
    )

    assert str(rejected) == "/target: is no target; /kernel: is no name"


def test_a_rejection_does_not_list_faults_without_end():
    rejected = RequestRejected(*[FieldError(f"/{index}", "wrong") for index in range(1000)])

    assert len(rejected.errors) == MAX_ERRORS
    assert rejected.errors[0].pointer == "/0"


def test_faults_of_several_places_are_collected():
    errors: list[FieldError] = []
    for at in ("/source", "/target"):
        with collecting(errors):
            raise RequestRejected(FieldError(at, "wrong"))

    assert [error.pointer for error in errors] == ["/source", "/target"]


def test_messages_quote_in_the_spelling_of_json():
    assert shown('a\0"b') == '"a\\u0000\\"b"'
    assert shown(None) == "null"
    assert shown(True) == "true"
    assert shown([1.5, {"a": "é"}]) == '[1.5, {"a": "é"}]'


def test_messages_quote_the_beginning_of_what_is_long():
    assert shown("x" * 1000) == '"' + "x" * 56 + "..."
    assert shown(2**1000) == "an integer of 1001 bits"


def test_the_closest_name_is_suggested():
    assert did_you_mean("num_warp", ["num_ctas", "num_warps"]) == " Did you mean `num_warps`?"


def test_nothing_is_suggested_when_nothing_is_close():
    assert did_you_mean("warp", ["maxnreg", "debug"]) == ""


def test_the_most_alike_name_is_the_one_that_difflib_finds():
    drawn = random.Random(7)
    for _ in range(200):
        names = ["".join(drawn.choices("abcxy", k=drawn.randint(1, 6))) for _ in range(20)]
        name = "".join(drawn.choices("abcxy", k=3))  # too short to be the beginning of another
        expected = difflib.get_close_matches(name, dict.fromkeys(names), n=1, cutoff=0.74)
        assert closest(name, names) == (expected[0] if expected else None)


def test_long_names_are_compared_no_further_than_a_budget(monkeypatch: pytest.MonkeyPatch):
    compared = []
    ratio = difflib.SequenceMatcher.ratio

    def counted(matcher: difflib.SequenceMatcher[str]) -> float:
        compared.append(len(matcher.a) * len(matcher.b))
        return ratio(matcher)

    monkeypatch.setattr(difflib.SequenceMatcher, "ratio", counted)
    names = [f"{'ab' * 30}{index}" for index in range(256)]

    did_you_mean("ba" * 30, names)
    assert 0 < sum(compared) <= 10_000  # a million without a budget
