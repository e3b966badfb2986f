"""Each glossary term names an existing field of the HTTP API, module or class."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from tests.unit.service.applications import document

GLOSSARY = Path(__file__).parents[3] / "docs" / "glossary.md"
ROW = re.compile(r"^- \*\*([^*]+)\*\*\s+\(`([\w.]+)`\):", re.MULTILINE)
TERMS = ROW.findall(GLOSSARY.read_text())


def schemas() -> dict[str, Any]:
    return document()["components"]["schemas"]


def exists(name: str) -> bool:
    """Return whether `name` is Schema, Schema.field, package.module or package.module.Class."""
    head, _, rest = name.partition(".")
    if head[0].isupper():
        return head in schemas() and rest in ["", *schemas()[head].get("properties", {})]
    module, _, member = name.rpartition(".")
    if not member[:1].isupper():
        module, member = name, ""
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError:
        return False
    return hasattr(found, member) if member else True


def test_every_term_names_something_that_exists() -> None:
    assert len(TERMS) > 50
    assert [(term, name) for term, name in TERMS if not exists(name)] == []


def test_every_row_has_a_name() -> None:
    rows = re.findall(r"^- ", GLOSSARY.read_text(), re.MULTILINE)

    assert len(rows) == len(TERMS)


def test_a_name_that_is_gone_is_found() -> None:
    gone = ["Compilation.gone", "Gone", "compiler.gone", "compiler.target.Gone"]

    assert [name for name in gone if exists(name)] == []
