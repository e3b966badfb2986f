"""The result as SARIF 2.1.0, which code scanning shows at the user's own lines."""

import hashlib
import json
from pathlib import Path
from typing import Any

from tritonc_version import __version__

from tritonc.gate.gate_judgement import Check, GateJudgement
from tritonc.gate.report_text import one_line, relative_uri

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
MAX_RESULTS = 5000  # limit of code scanning for one run
RULES = {
    "compiles": "the kernel compiles, and fits the GPU",
    "verdict": "the example launch passes",
    "registers": "registers of a thread",
    "spill_bytes": "bytes of register spills, stored and loaded",
    "spilled_registers": "spilled registers",
    "stack_bytes": "bytes of stack of a thread",
    "shared_bytes": "bytes of shared memory of a block",
    "occupancy": "the share of warps that can be resident",
    "code_bytes": "bytes of machine code",
    "instructions": "instructions of the machine code",
    "instruction_classes": "instructions of a class",
    "opcodes": "instructions with an opcode",
    "ptx": "the instructions of the PTX",
    "compile_ms": "compile time",
    "median_us": "time of a launch",
}


def sarif_report(judgement: GateJudgement) -> str:
    """Return the document."""
    bad = judgement.bad[:MAX_RESULTS]
    used = {_rule(check) for check in bad}
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
        "results": [_result(check) for check in bad],
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _result(check: Check) -> dict[str, Any]:
    message = one_line(f"{check.cell.title}: {check.metric}: {check.summary}")
    if check.lines:
        message += one_line(f"; {check.lines[0].counts()} at this line")
    fingerprint = "\n".join([*check.cell.key, check.metric])
    result = {
        "ruleId": _rule(check),
        "level": "error",
        "message": {"text": message},
        "locations": [_location(check.path, check.line)],
        "partialFingerprints": {"tritoncGate/v1": hashlib.sha256(fingerprint.encode()).hexdigest()},
    }
    further = [_location(growth.path, growth.line, str(growth)) for growth in check.lines[1:]]
    return result | ({"relatedLocations": further} if further else {})


def _location(path: Path, line: int, message: str = "") -> dict[str, Any]:
    uri = relative_uri(path)
    artifact = {"uri": path.resolve().as_uri()} if uri is None else {"uri": uri}
    physical = {"artifactLocation": artifact, "region": {"startLine": max(1, line)}}
    described = {"message": {"text": one_line(message)}} if message else {}
    return {"physicalLocation": physical, **described}


def _rule(check: Check) -> str:
    return check.metric.partition(".")[0]
