"""Lines of documents have at most 100 characters, except in tables and code."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCUMENTS = [
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks/results").glob("*.md")),
    ROOT / "tests/security/cheats/README.md",
]
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LONGEST = 100


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_line_of_a_document_is_too_long(document: Path) -> None:
    prose = FENCED.sub("", document.read_text()).splitlines()

    assert [line for line in prose if len(line) > LONGEST and not line.startswith("|")] == []
