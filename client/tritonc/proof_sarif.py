"""Unproved accesses at the lines of the kernel: as SARIF 2.1.0, and as annotations of GitHub."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tritonc_version import __version__

from tritonc.diagnostic import POSTED_SOURCE
from tritonc.gate.report_text import one_line, relative_uri
from tritonc.gate.sarif_report import SCHEMA, annotation
from tritonc.proof import Proof, ProofAnswer, ProvedAccess

RULES = {
    "bounds": "every access stays in its buffer, for all sizes",
    "overflow": "no integer of an access wraps, for all sizes",
    "race": "no two programs meet in an element, for all grids",
}
_LEVELS = {"refuted": "error", "possible": "warning", "unknown": "note"}
_OF_GITHUB = {"refuted": "error", "possible": "warning", "unknown": "notice"}


def proof_sarif(proof: Proof, path: str) -> str:
    """Return the document; `path` is the kernel's file."""
    driver = {
        "name": "tritonc prove",
        "version": __version__,
        "rules": [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": list(_results(proof, path)),
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def proof_annotations(proof: Proof, path: str) -> str:
    """Return GitHub's workflow commands; `path` is the kernel's file."""
    return "".join(
        annotation(
            _OF_GITHUB.get(answer.verdict, "warning"),
            _file(access, path),
            access.line or 1,
            f"tritonc prove: {check}",
            _said(access, check, answer),
        )
        for access, check, answer in proof.unproved()
    )


def _results(proof: Proof, path: str) -> Iterator[dict[str, Any]]:
    for access, check, answer in proof.unproved():
        file = _file(access, path)
        region = {"startLine": access.line or 1, "startColumn": access.column or 1}
        place = {
            "artifactLocation": {"uri": relative_uri(file) or str(file)},
            "region": region,
        }
        yield {
            "ruleId": check,
            "level": _LEVELS.get(answer.verdict, "warning"),
            "message": {"text": one_line(_said(access, check, answer))},
            "locations": [{"physicalLocation": place}],
        }


def _file(access: ProvedAccess, path: str) -> Path:
    return Path(path if access.file in (None, POSTED_SOURCE) else str(access.file))


def _said(access: ProvedAccess, check: str, answer: ProofAnswer) -> str:
    return f"{access.kind} of {access.argument}: {answer.on_one_line(check)}"
