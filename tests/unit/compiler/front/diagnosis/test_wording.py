"""Messages of Triton and Python, reworded."""

from __future__ import annotations

import pytest

from compiler.front.diagnosis.wording import cleaned, words_of
from compiler.front.environment import StandInUsed

IMPORT = "cannot import name 'nope' from "


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (f"{IMPORT}'triton.language' (/opt/triton/language/__init__.py)", "'triton.language'"),
        (f"{IMPORT}'math' (unknown location)", "'math' (unknown location)"),
        (f"{IMPORT}'ops' (/kernel/ops.py)", "'ops' (/kernel/ops.py)"),
    ],
)  # fmt: skip
def test_messages_hide_the_path_of_a_module_on_this_machine(said: str, words: str) -> None:
    assert words_of(ImportError(said)) == f"ImportError: {IMPORT}{words}"


def test_the_error_of_a_stand_in_has_words_and_no_kind() -> None:
    assert words_of(StandInUsed("its value is not known")) == "its value is not known"


def test_a_function_without_a_form_for_its_arguments_is_named_as_such() -> None:
    words = cleaned("KeyError((triton.language.int32, triton.language.float32))")

    assert words == "the function has no form for arguments of type tl.int32, tl.float32"
