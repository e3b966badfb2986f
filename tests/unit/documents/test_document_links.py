"""Links in documents lead to existing files and headings."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
PATTERNS = (
    *("*.md", "docs/**/*.md", "client/*.md", "examples/**/*.md", "benchmarks/**/*.md"),
    "tests/security/cheats/README.md",
)
DOCUMENTS = [path for pattern in PATTERNS for path in sorted(ROOT.glob(pattern))]
LINK = re.compile(r"\]\((?![a-z]+:)([^)\s#]*)(?:#([^)\s]*))?\)")
FENCED = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")


@cache
def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub and MkDocs give to the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", path.read_text()), re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading.replace("`", "")).lower() for heading in headings]
    return {re.sub(r"\s", "-", heading.strip()) for heading in plain}


def faults(path: Path) -> list[str]:
    """Return the links of a document that lead nowhere."""
    found = []
    for target, anchor in LINK.findall(CODE.sub("", FENCED.sub("", path.read_text()))):
        file = path.parent / target if target else path
        if not file.exists():
            found.append(target)
        elif anchor and anchor not in anchors(file):
            found.append(f"{target}#{anchor}")
    return found


def test_every_link_of_a_document_leads_somewhere() -> None:
    found = {str(document.relative_to(ROOT)): faults(document) for document in DOCUMENTS}

    assert {document: links for document, links in found.items() if links} == {}


def test_a_link_to_a_missing_heading_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One `two`\n[a](#one-two) [b](#three) [c](gone.md) [d](https://x.y/#z)\n")

    assert faults(page) == ["#three", "gone.md"]


def test_the_index_links_every_page() -> None:
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs)) for page in docs.glob("*/*.md")}
    pages = {page for page in pages if not page.startswith("adr/")} | {"adr/README.md"}
    linked = {target for target, _ in LINK.findall((docs / "index.md").read_text())}
    assert pages <= linked
