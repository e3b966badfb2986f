"""Findings as GitHub's workflow commands, which annotate the lines of a pull request's files.

Names and messages may be a stranger's. They are escaped, so that each stays within its own command.
"""

from pathlib import Path

from tritonc.gate.gate_judgement import GateJudgement
from tritonc.gate.report_text import one_line, shown_path
from tritonc.gate.sarif_report import message_of, results_of

_OF_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_OF_PROPERTIES = _OF_DATA | {":": "%3A", ",": "%2C"}


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
