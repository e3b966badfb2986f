"""Each row of the table of languages is complete."""

from dataclasses import replace
from typing import get_args

import pytest

from compiler.back.triton_api import FRONT_ENDS
from compiler.languages import (
    BY_NAME,
    EXECUTED,
    LANGUAGES,
    POSTED,
    FrontIr,
    Language,
    PostedLanguage,
    PythonLanguage,
    SourceLanguage,
)
from compiler.stages import BY_NAME as STAGES


def missing(language: Language) -> list[str]:
    """Return what a row lacks, in words."""
    name, runs = language.name, language.is_executed
    needed = {
        "PythonLanguage": not runs or name in get_args(PythonLanguage),
        "PostedLanguage": runs or name in get_args(PostedLanguage),
        "SourceLanguage": runs or name in get_args(SourceLanguage),
        "FrontIr": not runs or language.ir in get_args(FrontIr),
        "a front end": not runs or name in FRONT_ENDS,
        "a pipeline": language.pipeline in FRONT_ENDS,
        "its package among its names": not runs or name in language.names,
        "a stage that its IR is": language.lowered_from in STAGES,
        "a stage to show": language.shown_stage in STAGES,
    }
    return [what for what, is_there in needed.items() if not is_there]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_a_row_is_complete(language: Language) -> None:
    assert missing(language) == []


def test_a_new_language_is_reported_with_its_gaps() -> None:
    new = replace(BY_NAME["gluon"], name="tile", ir="tileir", lowered_from="tileir")

    assert missing(new) == [
        "PythonLanguage",
        "FrontIr",
        "a front end",
        "its package among its names",
        "a stage that its IR is",
    ]


def test_the_types_name_no_language_without_a_row() -> None:
    assert (
        set(get_args(PythonLanguage)) == {language.name for language in EXECUTED} == {*FRONT_ENDS}
    )
    assert set(get_args(PostedLanguage)) == {language.name for language in POSTED}
    assert set(get_args(SourceLanguage)) == {"python", *get_args(PostedLanguage)}
    assert set(get_args(FrontIr)) == {language.ir for language in EXECUTED}


def test_a_front_end_is_found_before_that_of_a_class_it_derives_from() -> None:
    classes = [front_end.function for front_end in FRONT_ENDS.values()]

    assert not any(
        issubclass(later, earlier)
        for number, earlier in enumerate(classes)
        for later in classes[number + 1 :]
    )
