"""A proof as SARIF 2.1.0, which code scanning shows at the kernel's own lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tritonc_version import __version__

from tritonc.diagnostic import POSTED_SOURCE
from tritonc.gate.report_text import one_line, relative_uri
from tritonc.gate.sarif_report import SCHEMA
from tritonc.proof import Proof

RULES = {
    "bounds": "every access stays in its buffer, for all sizes",
    "overflow": "no integer of an access wraps, for all sizes",
    "race": "no two programs meet in an element, for all grids",
}
_LEVELS = {"refuted": "error", "possible": "warning", "unknown": "note"}


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


def _results(proof: Proof, path: str) -> Iterator[dict[str, Any]]:
    for access in proof.accesses:
        for check, answer in access.answers.items():
            if answer.verdict == "proved":
                continue
            file = path if access.file in (None, POSTED_SOURCE) else str(access.file)
            region = {"startLine": access.line or 1, "startColumn": access.column or 1}
            place = {
                "artifactLocation": {"uri": relative_uri(Path(file)) or file},
                "region": region,
            }
            said = f"{access.kind} of {access.argument}: {answer.sentence(check)}"
            yield {
                "ruleId": check,
                "level": _LEVELS.get(answer.verdict, "warning"),
                "message": {"text": one_line(said)},
                "locations": [{"physicalLocation": place}],
            }
