"""The outcome as workflow commands of GitHub Actions, which show it in a pull request's files."""

from tritonc.gate.gate_judgement import Check, GateJudgement
from tritonc.gate.report_text import one_line, shown_path

MAX_ANNOTATIONS = 50  # what a job shows


def annotations_report(judgement: GateJudgement) -> str:
    """Return a line for each broken check, and one with the outcome."""
    lines = [_annotation(check) for check in judgement.bad[:MAX_ANNOTATIONS]]
    lines.append(_text(f"tritonc gate: {judgement.sentence()}"))
    return "\n".join(lines) + "\n"


def _annotation(check: Check) -> str:
    told = f"{check.cell.title}: {check.metric}: {check.told}"
    if check.lines:
        told += f"; {check.lines[0].counts()} at this line"
    place = f"file={_property(shown_path(check.path))},line={check.line}"
    return f"::error {place},title=tritonc gate::{_text(told)}"


def _text(text: str) -> str:
    """Return a text that cannot begin a command of its own."""
    escaped = one_line(text).replace("%", "%25")
    return escaped.replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
