"""Lines of documents have at most 100 characters, except in tables and code."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCUMENTS = [
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks/results").glob("*.md")),
    ROOT / "tests/security/cheats/README.md",
]
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
MAX_LENGTH = 100


def test_no_line_of_a_document_is_too_long() -> None:
    too_long = [
        (str(document.relative_to(ROOT)), line)
        for document in DOCUMENTS
        for line in FENCED.sub("", document.read_text()).splitlines()
        if len(line) > MAX_LENGTH and not line.startswith("|")
    ]

    assert too_long == []
