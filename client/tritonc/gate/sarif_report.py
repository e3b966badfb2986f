"""The result at the user's own lines: as SARIF 2.1.0 for code scanning, or as GitHub's commands.

A kernel has one result for each target, however many of its budgets are broken, and one for each
access that is not proved, whatever the target.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tritonc_version import __version__

from tritonc.gate.gate_judgement import Check, GateJudgement
from tritonc.gate.metric_budget import PROVED
from tritonc.gate.report_text import one_line, relative_uri, shown_path

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
MAX_RESULTS = 5000  # limit of code scanning for one run
MAX_PLACES = 20
RULES = {
    "compiles": "the kernel compiles, and fits the GPU",
    "verdict": "the example launch passes",
    "registers": "registers of a thread",
    "spill_bytes": "bytes of register spills, stored and loaded",
    "spilled_registers": "spilled vector registers",
    "spilled_sgprs": "scalar registers spilled to vector registers",
    "stack_bytes": "bytes of stack of a thread",
    "shared_bytes": "bytes of shared memory of a block",
    "occupancy": "the share of warps that can be resident",
    "code_bytes": "bytes of machine code",
    "instructions": "instructions of the machine code",
    "instruction_classes": "instructions of a class",
    "opcodes": "instructions with an opcode",
    PROVED: "every access is proved, for all sizes",
    "ptx": "the instructions of the PTX",
    "compile_ms": "compile time",
    "median_us": "time of a launch",
}
_OF_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_OF_PROPERTIES = _OF_DATA | {":": "%3A", ",": "%2C"}


def sarif_report(judgement: GateJudgement) -> str:
    """Return the document."""
    results = [_result(checks) for checks in results_of(judgement)]
    used = {result["ruleId"] for result in results}
    driver = {
        "name": "tritonc gate",
        "version": __version__,
        "rules": [
            {"id": rule, "shortDescription": {"text": text}}
            for rule, text in RULES.items()
            if rule in used
        ],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": results,
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def results_of(judgement: GateJudgement) -> list[list[Check]]:
    """Return the broken checks, those of one result together."""
    bad: dict[tuple[str, ...], list[Check]] = {}
    for check in judgement.bad:
        bad.setdefault(_identity(check), []).append(check)
    return list(bad.values())[:MAX_RESULTS]


def _identity(check: Check) -> tuple[str, ...]:
    """Return what the checks of one result have in common."""
    name, target, _ = check.cell.key
    if _rule(check) == PROVED:
        # further lines are the costs of a fix, which depends on the target
        summary = check.summary.partition("\n")[0]
        return name, shown_path(check.path), str(check.line), check.metric, summary
    return name, target


def message_of(checks: Sequence[Check]) -> str:
    """Return the sentence of one result: its first broken budget, then the others."""
    first = checks[0]
    if _rule(first) == PROVED:
        return one_line(f"{first.cell.kernel.name}: {first.metric}: {first.summary}")
    summary = "; ".join(
        f"Triton {check.cell.triton}: {check.metric}: {check.summary}" for check in checks
    )
    how = "launched" if first.cell.is_launch else f"for {first.cell.target}"
    message = one_line(f"{first.cell.kernel.name} {how}: {summary}")
    if first.lines:
        message += one_line(f"; {first.lines[0].counts()} at this line")
    return message


def _result(checks: Sequence[Check]) -> dict[str, Any]:
    first = checks[0]
    message = message_of(checks)
    fingerprint = "\n".join(_identity(first))
    result = {
        "ruleId": _rule(first),
        "level": "error",
        "message": {"text": message},
        "locations": [_location(first.path, first.line)],
        "partialFingerprints": {"tritoncGate/v2": hashlib.sha256(fingerprint.encode()).hexdigest()},
    }
    growths = [growth for check in checks for growth in check.lines][1 if first.lines else 0 :]
    further = {str(growth): growth for growth in growths}
    places = [_location(g.path, g.line, text) for text, g in list(further.items())[:MAX_PLACES]]
    return result | ({"relatedLocations": places} if places else {})


def _location(path: Path, line: int, message: str = "") -> dict[str, Any]:
    uri = relative_uri(path)
    artifact = {"uri": path.resolve().as_uri()} if uri is None else {"uri": uri}
    physical = {"artifactLocation": artifact, "region": {"startLine": max(1, line)}}
    described = {"message": {"text": one_line(message)}} if message else {}
    return {"physicalLocation": physical, **described}


def _rule(check: Check) -> str:
    return check.metric.partition(".")[0]


# Findings as GitHub's workflow commands, which annotate the lines of a pull request's files.
#
# Names and messages may be a stranger's. They are escaped, so that each stays within its own
# command.


def github_report(judgement: GateJudgement) -> str:
    """Return a command for each result."""
    return "".join(
        annotation("error", checks[0].path, checks[0].line, "tritonc gate", message_of(checks))
        for checks in results_of(judgement)
    )


def annotation(level: str, path: Path, line: int, title: str, message: str) -> str:
    """Return the line that annotates `path`; `level` is error, warning or notice."""
    members = {"file": shown_path(path), "line": str(max(1, line)), "title": title}
    properties = ",".join(
        f"{name}={_escaped(text, _OF_PROPERTIES)}" for name, text in members.items()
    )
    return f"::{level} {properties}::{_escaped(message, _OF_DATA)}\n"


def _escaped(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in one_line(text))
