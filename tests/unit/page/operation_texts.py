"""The page's texts on operations, and which operations an artifact has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from compiler.instructions.instruction_mix import ASSEMBLIES

_FILE = Path(__file__).parents[3] / "page/src/operation_texts.json"
_KNOWN = Path(__file__).parent / "operations_of_the_mix.json"
_FIRST = {
    "mlir": re.compile(r'^\s*(?:[%\w:, ]+ = )?"?([a-z]\w*(?:\.\w+)+|module)\b', re.MULTILINE),
    "ptx": re.compile(
        r"^\s*(?:\{\s*)?(?:@!?%\w+\s+)?([a-z]\w*(?:(?:\.|::)\w+)*)[\s;]", re.MULTILINE
    ),
}
_SECOND = re.compile(r" :: (v_dual_\w+)")


def texts() -> dict[str, dict[str, str]]:
    """Return the texts by syntax and name."""
    found: dict[str, dict[str, str]] = json.loads(_FILE.read_text())
    return found


def of_the_mix() -> dict[str, list[str]]:
    """Return the operations that the mix of benchmarks was once compiled to, by syntax."""
    found: dict[str, list[str]] = json.loads(_KNOWN.read_text())
    return found


def operations_in(syntax: str, text: str) -> set[str]:
    """Return the operations of an artifact, with their modifiers."""
    if syntax in ASSEMBLIES:
        return {opcode for _, opcode, _ in ASSEMBLIES[syntax](text)} | set(_SECOND.findall(text))
    return set(_FIRST[syntax].findall(text))


def without_text(syntax: str, operations: Iterable[str]) -> list[str]:
    """Return those of `operations` that the page tells nothing of."""
    known = texts()[syntax]
    ends = "_|$" if syntax == "amdgcn" else r"\.|::|$"
    return sorted(name for name in operations if not _is_known(name, known, ends))


def _is_known(name: str, known: dict[str, str], pattern: str) -> bool:
    ends = [match.start() for match in re.finditer(pattern, name)]
    return any(name[:end] in known for end in ends)
