"""The parts of the support module that a text needs, so that the text needs no other file.

They are read once, when this is imported: a child in its sandbox cannot open files.
"""

import ast
import builtins
import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILES = (
    "launching", "memory", "tensor_ops", "scaled_dot", "descriptors", "special_functions",
    "integer_ops", "number_ops", "conversions", "rounding",
)  # fmt: skip
_FOLDER = Path(__file__).parent / "runtime"
_TEXTS = {name: (_FOLDER / f"{name}.py").read_text() for name in _FILES}
_WORD = re.compile(r"[A-Za-z_]\w*")
_IMPORTED = frozenset({"np", "ml_dtypes", "annotations", "inspect", "itertools", "math", "Any"})
ALWAYS = ("launch",)


@dataclass(frozen=True)
class _Part:
    """A function, class or constant of the support module, with the words of its text."""

    text: str
    words: frozenset[str]


@cache
def _parts() -> dict[str, _Part]:
    """Return the parts by name, in the order of the files."""
    parts: dict[str, _Part] = {}
    for text in _TEXTS.values():
        lines = text.splitlines()
        previous = None
        for node in ast.parse(text).body:
            name = _name_of(node)
            end = node.end_lineno or node.lineno
            if name is not None:
                body = "\n".join(lines[node.lineno - 1 : end])
                parts[name] = _Part(body, frozenset(_WORD.findall(body)))
            elif previous is not None and isinstance(node, ast.Expr):  # the docstring of a constant
                known = parts[previous].text
                body = "\n".join([known, *lines[node.lineno - 1 : end]])
                parts[previous] = _Part(body, frozenset(_WORD.findall(known)))
            previous = name if isinstance(node, ast.Assign | ast.AnnAssign) else None
    return parts


def _name_of(node: ast.stmt) -> str | None:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return None


@cache
def never() -> frozenset[str]:
    """Return what not even a kernel is called: words that the support needs."""
    words = frozenset[str]().union(*(part.words for part in _parts().values()))
    return (words & frozenset(dir(builtins))) | _IMPORTED | frozenset(keyword.kwlist)


@cache
def names() -> frozenset[str]:
    """Return the names that no value of a kernel may have."""
    return frozenset(_parts()) | _IMPORTED


def needed(lines: Iterable[str]) -> str:
    """Return the parts that `lines` need, with those that these need."""
    parts = _parts()
    words = {word for line in lines for word in _WORD.findall(line)}
    pending = [*ALWAYS, *(word for word in words if word in parts)]
    wanted: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in wanted:
            wanted.add(name)
            pending += [word for word in parts[name].words if word in parts]
    texts, previous = [], ""
    for name, part in parts.items():
        if name in wanted:
            is_constant = not part.text.startswith(("def ", "class "))
            texts.append(part.text if is_constant and previous else f"\n{part.text}")
            texts.append("")
            previous = "constant" if is_constant else ""
    return "\n".join(texts).strip("\n") + "\n"


def imports(text: str) -> str:
    """Return the import lines that `text` needs."""
    standard = [name for name in ("inspect", "itertools", "math") if f"{name}." in text]
    lines = [f"import {name}" for name in standard]
    lines += ["from typing import Any", "", "import numpy as np"]
    if "ml_dtypes." in text:
        lines.insert(len(lines) - 1, "import ml_dtypes")
    return "\n".join(lines)
