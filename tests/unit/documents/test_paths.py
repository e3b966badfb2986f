"""Every file that a current document names exists."""

import re
from pathlib import Path

from jobs.features import NAMES

ROOT = Path(__file__).parents[3]
DOCUMENTS = [
    *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
BUILT = set((ROOT / ".gitignore").read_text().split())
"""Build outputs: absent from a fresh checkout."""
_FOLDERS = "|".join(
    [
        *"adapters benchmarks client compiler deploy docs examples jobs launch page".split(),
        *("service", "store", "tests", "worker", *NAMES),
    ]
)
_NAMED = re.compile(rf"(?<![\w/.-])(?:{_FOLDERS})/[\w./@-]*\w(?:/(?!\w))?")


def test_the_files_that_a_document_names_exist() -> None:
    gone = [
        (document.name, name)
        for document in DOCUMENTS
        for name in set(_NAMED.findall(document.read_text())) - BUILT
        if not (ROOT / name).exists()
    ]

    assert gone == []
