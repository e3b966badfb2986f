"""Validates the report of a child that proved a kernel, and writes it for the cache."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from launch.proof.proof_messages import ProofReport
from worker.compile.reports import Malformed

MOST_ACCESSES: Final = 1_000
MOST_CHARS: Final = 4_000
"""Of one text."""
_MEMBERS = {item.name for item in fields(ProofReport)}
_REPORT = TypeAdapter(ProofReport)


def read_proof_report(said: bytes | Mapping[str, Any]) -> ProofReport:
    """Return the report that a child sent, or that was kept. Raises Malformed."""
    members = json.loads(said) if isinstance(said, bytes) else said
    try:
        report = _REPORT.validate_python({k: v for k, v in members.items() if k in _MEMBERS})
    except ValidationError as error:
        raise Malformed(str(error)) from None
    if len(report.accesses) > MOST_ACCESSES:
        raise Malformed(f"has more than {MOST_ACCESSES} accesses")
    if any(len(text) > MOST_CHARS for text in _texts(report)):
        raise Malformed(f"has a text of more than {MOST_CHARS} characters")
    return report


def written_proof_report(report: ProofReport) -> bytes:
    """Return the report as JSON."""
    return json.dumps(asdict(report)).encode()


def _texts(report: ProofReport) -> list[str]:
    found = [report.refused]
    for access in report.accesses:
        found += [access.argument or "", access.file or ""]
        for answer in access.answers.values():
            found += [answer.reason, answer.expression, *answer.proved_under]
    return found
