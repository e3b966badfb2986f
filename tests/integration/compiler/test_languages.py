"""Each row of the table of languages is complete."""

import re
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from tritonc.cli.kernel_flags import add_kernel
from tritonc.cli.posted_file import IR_SUFFIXES, read_source

from compiler.back import contexts, locations, triton_api
from compiler.back.ir_entry import entry_of
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
from compiler.target import STANDARD_TARGET, parse_target

_KERNEL = "tt.func public @copy(%x_ptr: !tt.ptr<f32>) { tt.return }"
EXAMPLES = {
    "ttir": f"module {{ {_KERNEL} }}",
    "ttgir": f'module attributes {{"ttg.num-warps" = 4 : i32}} {{ {_KERNEL} }}',
}
"""A kernel `copy` in each language of posted IR."""
FORM = (Path(__file__).parents[3] / "page/src/request_form.ts").read_text()


def kernel_found_in(text: str) -> str:
    """Return the kernel of a module that MLIR parses."""
    backend = triton_api.make_backend(triton_api.target_of(parse_target(STANDARD_TARGET)))
    return entry_of(locations.parse(text, contexts.new_context(backend)), "ttir", text).name


def recognised(file: str, text: str) -> str | None:
    """Return the language in which `tritonc` posts a file."""
    return read_source(file, Namespace(), text).language


def flag_choices() -> list[str]:
    """Return the choices of the flag --language."""
    parser = ArgumentParser()
    add_kernel(parser)
    [choices] = re.findall(r"\[--language \{(.+?)\}\]", parser.format_usage())
    return choices.split(",")


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
        "an example here": runs or name in EXAMPLES,
        "its kernel, by compiler/back/ir_entry.py": name not in EXAMPLES
        or kernel_found_in(EXAMPLES[name]) == "copy",
        "its suffix, in client/tritonc/cli/posted_file.py": runs
        or (f".{name}" in IR_SUFFIXES and recognised(f"copy.{name}", _KERNEL) == name),
        "its text, in client/tritonc/cli/posted_file.py": name not in EXAMPLES
        or recognised("copy.mlir", EXAMPLES[name]) == name,
        "a choice of --language": runs or name in flag_choices(),
        "a choice in page/src/request_form.ts": runs or f'["{name}", "{language.title}"]' in FORM,
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


def test_a_new_language_of_ir_is_reported_with_its_gaps() -> None:
    new = replace(BY_NAME["ttgir"], name="tileir", title="Tile IR", ir="tileir")

    assert missing(new) == [
        "PostedLanguage",
        "SourceLanguage",
        "an example here",
        "its suffix, in client/tritonc/cli/posted_file.py",
        "a choice of --language",
        "a choice in page/src/request_form.ts",
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
