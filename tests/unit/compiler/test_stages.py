"""Each row of the table of stages is complete."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from tritonc.cli.compiling.emissions import ON_DEMAND

from adapters.compiler_explorer.compile_result import COMMENTS, DEBUG_DIRECTIVES
from compiler.back.derive_tasks import DERIVED
from compiler.derivation import KINDS
from compiler.diff.stage_text import CLEANERS, LANGUAGES
from compiler.lines.line_map import READERS
from compiler.stages import (
    BY_NAME,
    STAGES,
    ComparedStage,
    CompiledStage,
    CompiledTextStage,
    DiagnosticStage,
    Stage,
    TextStage,
    pipeline,
)
from page.tables import FILES
from service.routes.derived import router
from worker.compile.derive import METHODS

ROUTES = {route.name for route in router.routes}


def missing(stage: Stage) -> list[str]:
    """Return what a row lacks, in words."""
    needed = {
        "CompiledStage": stage.is_derived or stage.name in get_args(CompiledStage),
        "CompiledTextStage": stage.is_derived
        or stage.is_binary
        or stage.name in get_args(CompiledTextStage),
        "TextStage": stage.is_binary or stage.name in get_args(TextStage),
        "DiagnosticStage": stage.is_derived
        or stage.name == "source"
        or stage.name in get_args(DiagnosticStage),
        "ComparedStage": not stage.is_compared or stage.name in get_args(ComparedStage),
        "a derivation": not stage.is_derived or stage.name in KINDS,
        "what derives it": not stage.is_derived
        or (stage.name in KINDS and bool(KINDS[stage.name].reads) == (stage.name in DERIVED)),
        "a method in worker/compile/derive.py": stage.name not in KINDS
        or bool(KINDS[stage.name].reads)
        or stage.name in METHODS,
        "a route": not stage.is_derived or f"get_{stage.name}" in ROUTES,
        "an entry of the client": not stage.is_derived or stage.name in ON_DEMAND,
        "a reader of lines": not stage.is_mapped or stage.syntax in READERS,
        "a cleaner for diffs": not stage.is_compared or stage.syntax in CLEANERS,
        "a language for diffs": not stage.is_compared or stage.syntax in LANGUAGES,
        "comments for Compiler Explorer": stage.is_binary or stage.syntax in COMMENTS,
        "debug directives for Compiler Explorer": not stage.is_mapped
        or stage.name == "sass"  # it has none
        or stage.syntax in DEBUG_DIRECTIVES,
        "a stage to derive it from": stage.is_derived == bool(stage.derived_from)
        and all(name in BY_NAME for name in stage.derived_from),
        "a media type": stage.media_type.startswith("text/") != stage.is_binary,
    }
    return [name for name, is_there in needed.items() if not is_there]


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_row_is_complete(stage: Stage) -> None:
    assert missing(stage) == []


def test_a_new_stage_is_reported_with_its_gaps() -> None:
    new = replace(BY_NAME["ptx"], name="vptx", syntax="python")

    assert missing(new) == [
        "CompiledStage",
        "CompiledTextStage",
        "TextStage",
        "DiagnosticStage",
        "ComparedStage",
        "a reader of lines",
        "a cleaner for diffs",
        "a language for diffs",
        "debug directives for Compiler Explorer",
    ]


def test_a_new_derived_stage_is_reported_with_its_gaps() -> None:
    new = replace(BY_NAME["numpy"], name="plain_ptx", derived_from=("ptx",))

    assert missing(new) == [
        "TextStage",
        "a derivation",
        "what derives it",
        "a route",
        "an entry of the client",
    ]


def test_a_new_text_that_reads_no_stages_alone_needs_a_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new = replace(BY_NAME["numpy"], name="plain_ptx", derived_from=("ptx",))
    monkeypatch.setitem(KINDS, "plain_ptx", replace(KINDS["numpy"], suffix="ptx"))

    assert missing(new) == [
        "TextStage",
        "a method in worker/compile/derive.py",
        "a route",
        "an entry of the client",
    ]


def test_the_types_name_no_stage_without_a_row() -> None:
    types = (CompiledStage, CompiledTextStage, TextStage, ComparedStage, DiagnosticStage)
    named = {name for kind in types for name in get_args(kind)}
    assert named == {*BY_NAME, "request", "frontend"}


@pytest.mark.parametrize("backend", ["cuda", "hip"])
def test_only_the_last_stage_of_a_backend_is_binary(backend: str) -> None:
    *texts, last = [BY_NAME[name].is_binary for name in pipeline(backend)]

    assert last
    assert not any(texts)


@pytest.mark.parametrize(
    ("file", "text"), FILES.items(), ids=lambda item: getattr(item, "name", "")
)
def test_the_page_has_the_same_tables(file: Path, text: Callable[[], str]) -> None:
    assert file.read_text() == text(), "run `make page-tables`"
