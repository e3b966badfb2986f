"""The report of the hottest source lines of a kernel."""

from collections.abc import Iterator, Mapping
from typing import Any

MOST_LINES = 10
_LEAST_PERCENT = 1.0
_EXCERPT_CHARS = 80


def hot_lines(
    profile: Mapping[str, Any], sources: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[str]:
    """Yield the hottest lines of a line profile, hottest first.

    `sources` are the posted texts by file; `names` map the service's file names to the user's.
    """
    lines = profile.get("lines")
    if lines is None:
        return
    samples = profile.get("samples") or 0
    yield f"hot lines ({samples} samples):" if samples else "hot lines: no samples"
    hot = [line for line in lines if (line.get("samples_percent") or 0) >= _LEAST_PERCENT]
    for line in hot[:MOST_LINES]:
        yield f"  {line['samples_percent']:5.1f} %  {_line_text(line, sources, names)}"


def _line_text(
    line: Mapping[str, Any], sources: Mapping[str, str], names: Mapping[str, str]
) -> str:
    file, number = line.get("file"), line.get("line")
    stall = f"  [{line['top_stall']}]" if line.get("top_stall") else ""
    if file is None or number is None:
        return f"no line of the source{stall}"
    return f"{names.get(file, file)}:{number}  {_excerpt(sources, file, number)}{stall}"


def _excerpt(sources: Mapping[str, str], file: str, number: int) -> str:
    lines = sources.get(file, "").splitlines()
    return lines[number - 1].strip()[:_EXCERPT_CHARS] if 0 < number <= len(lines) else ""
