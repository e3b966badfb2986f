"""Hooks of MkDocs: pages from outside of docs/, and links between files of the checkout.

Documents link to each other by their paths in the checkout, so that the links work there as well.
A document outside of docs/ becomes a page below `project/`. A link to any other file becomes its
text, since the site holds no source. A link to a missing file fails the strict build.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent
DOCS = ROOT / "docs"
OPENAPI = ROOT / ".cache" / "docs" / "openapi.json"  # `make docs` asks the service for it
OUTSIDE = (
    *("*.md", "client/*.md", "examples/**/*.md", "benchmarks/**/*.md"),
    "tests/security/cheats/README.md",
)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:)([^)\s#]+)(#[^)\s]*)?\)")
log = logging.getLogger("mkdocs.hooks.links")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside of docs/ and the service's OpenAPI document."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            uri, text = page_of(path), path.read_text(encoding="utf-8")
            files.append(
                File.generated(config, uri, content=text, inclusion=InclusionLevel.NOT_IN_NAV)
            )
    openapi = OPENAPI.read_text(encoding="utf-8")
    files.append(File.generated(config, "reference/openapi.json", content=openapi))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Return the text with its links as the site needs them."""
    uri = page.file.src_uri
    source = ROOT / uri.removeprefix("project/") if uri.startswith("project/") else DOCS / uri

    def link(found: re.Match[str]) -> str:
        text, path, anchor = found[1], found[2], found[3] or ""
        target = Path(os.path.normpath(source.parent / path))
        if target.is_dir() and (target / "README.md").exists():
            target /= "README.md"
        if not target.exists():
            log.warning("%s links to %s, which does not exist", source.relative_to(ROOT), path)
        if files.get_file_from_path(page_of(target)) is None:
            return text
        return f"[{text}]({os.path.relpath(page_of(target), Path(uri).parent)}{anchor})"

    return LINK.sub(link, markdown)


def page_of(path: Path) -> str:
    """Return where the site has a file of the checkout."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return f"project/{path.relative_to(ROOT).as_posix()}"
