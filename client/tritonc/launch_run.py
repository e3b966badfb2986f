"""The result of running a kernel on one set of arguments, and its report.

A launch has one run, or one for each case; `Launch` has the members that all runs share.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tritonc.diagnostic import POSTED_IR, POSTED_SOURCE, Diagnostic, Problem, render_all
from tritonc.members import read_members

GOOD = frozenset({"passed", "not_checked"})
DOES_NOT_COMPILE = "does_not_compile"
OUTSIDE = "out_of_bounds", "write"
_MAX_LINES = 10
_MIN_PERCENT = 1.0
_EXCERPT_CHARS = 80
_MAX_LISTED = 8


@dataclass(frozen=True, slots=True)
class Finding:
    """One error that a run found; unknown parts of its location are None.

    `kind` is the resulting verdict, such as `out_of_bounds`; `index` refers to the argument's
    shape, `line` and `column` count from 1 in the posted `file`, which is `user.py` for the source.
    `diagnostics` are the compiler's, for a kernel that `does_not_compile`; `measure` has the
    numbers behind a finding, `seeds` the inputs of the timed repeat that it concerns; `case` is the
    case that fuzzing found, in the form of `cases` of a launch.
    """

    kind: str = ""
    message: str = ""
    access: str | None = None
    argument: str | None = None
    index: list[int] | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    program: list[int] | None = None
    scope: str | None = None
    diagnostics: list[Mapping[str, Any]] | None = None
    measure: Mapping[str, float] | None = None
    seeds: Mapping[str, int] | None = None
    case: Mapping[str, Any] | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Finding":
        """Parse a finding; unknown members are ignored."""
        return read_members(cls, body)


@dataclass(frozen=True, slots=True)
class Output:
    """One output: its `summary` in numbers, and its `comparison` with the reference if any.

    `values` has its elements if requested; non-finite ones are the strings NaN, Infinity and
    -Infinity. `url` locates its .npy file; `Client.launches.output` fetches it.
    """

    summary: Mapping[str, Any] | None = None
    comparison: Mapping[str, Any] | None = None
    values: Any = None
    url: str | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Output":
        """Parse an output; unknown members are ignored."""
        return read_members(cls, body)

    @property
    def matches(self) -> bool | None:
        """True if it equals the reference within tolerance; None if nothing was compared."""
        return None if self.comparison is None else bool(self.comparison.get("matches"))


def run_members(body: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the members of a run that are records: of a launch, a program, or one of its cases."""
    return {
        "outputs": {n: Output.from_json(o) for n, o in (body.get("outputs") or {}).items()},
        "findings": tuple(map(Finding.from_json, body.get("findings") or ())),
        "problem": Problem.of(body),
    }


@dataclass(frozen=True, slots=True)
class Run:
    """The result for one set of arguments: the only one of a launch, or one case."""

    verdict: str | None = None
    outputs: Mapping[str, Output] = field(default_factory=dict)
    timing: Mapping[str, Any] | None = None
    findings: tuple[Finding, ...] = ()
    problem: Problem | None = None
    name: str | None = None
    profile: Mapping[str, Any] | None = None
    fuzz: Mapping[str, Any] | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Run":
        """Parse a case, or the same members of a launch without cases."""
        return read_members(cls, body, **run_members(body))

    @property
    def good(self) -> bool:
        """True if it ran without any finding against the kernel."""
        return self.verdict in GOOD

    @property
    def compiler_messages(self) -> tuple[Diagnostic, ...]:
        """The compiler's messages for a case whose kernel does not compile."""
        if self.problem is None:
            return ()
        findings = (finding for finding in self.findings if finding.kind == DOES_NOT_COMPILE)
        reported = (item for finding in findings for item in finding.diagnostics or ())
        return tuple(map(Diagnostic.from_json, reported))


def report_lines(run: Run, sources: Mapping[str, str], names: Mapping[str, str]) -> Iterator[str]:
    """Yield the findings of a run and its times, in a compiler's error format.

    `sources` are the posted texts by file, for excerpts; `names` map file names to the user's.
    """
    if messages := run.compiler_messages:
        own = names.get(POSTED_SOURCE) or names.get(POSTED_IR[0], POSTED_SOURCE)
        yield from render_all(messages, own).splitlines()
    elif run.problem is not None:
        yield from _problem(str(run.problem), sources, names)
    for finding in run.findings:
        if not messages or finding.kind != DOES_NOT_COMPILE:
            yield from _finding(finding, sources, names)
    # a store with a lane outside its buffer is not run: what it leaves unwritten is a consequence
    is_outside = any((item.kind, item.access) == OUTSIDE for item in run.findings)
    for name, output in run.outputs.items():
        yield from _output(name, output, are_unwritten_shown=not is_outside)
    if run.timing:
        yield f"time: {times_text(run.timing)}"
    if run.fuzz:
        yield from _fuzz_lines(run.fuzz)
    if run.profile:
        yield from _hot_lines(run.profile, sources, names)


def _output(name: str, output: Output, *, are_unwritten_shown: bool) -> Iterator[str]:
    comparison, summary = output.comparison or {}, output.summary or {}
    unwritten = summary.get("unwritten") or 0
    # elements that were never written differ anyway; report them only once
    if output.matches is False and comparison.get("mismatched") != unwritten:
        yield f"{name}: {_difference(comparison, summary)}"
    if unwritten and are_unwritten_shown:
        yield f"{name}: never written: {unwritten} of {_count(output.summary)} elements"


def _finding(
    finding: Finding, sources: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[str]:
    file, line = finding.file or "", finding.line or 0
    place = ":".join(filter(None, [names.get(file, file), str(line or "")]))
    message = finding.message.removeprefix(f"line {line}: ")  # of a reference: the place has it
    yield f"{place or 'kernel'}: {finding.kind}: {message}"
    yield from excerpt_lines(sources, file, line)


def _problem(text: str, sources: Mapping[str, str], names: Mapping[str, str]) -> Iterator[str]:
    """Yield a problem, with its location first if it has one."""
    placed = re.match(r"([^\s:]+):(\d{1,9}): ", text)
    if placed is None:
        yield f"error: {text}"
        return
    file, line = placed[1], int(placed[2])
    yield f"{names.get(file, file)}:{line}: error: {text[placed.end() :]}"
    yield from excerpt_lines(sources, file, line)


def excerpt_lines(sources: Mapping[str, str], file: str, line: int) -> Iterator[str]:
    """Yield the line of a posted text, indented; nothing if it is unknown."""
    lines = sources.get(file, "").splitlines()
    if 0 < line <= len(lines):
        yield f"    {lines[line - 1].strip()}"


def _difference(comparison: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    text = f"{comparison.get('mismatched')} of {_count(summary)} elements differ"
    if first := comparison.get("first_mismatch"):
        text += f"; first at {first['index']}: {first['actual']}, expected {first['expected']}"
    if strange := comparison.get("nonfinite_mismatched"):
        text += f"; {strange} of them are NaN or infinite on one side"
    bounds = ", ".join(f"{n} {comparison[n]:g}" for n in ("rtol", "atol") if comparison.get(n))
    error = comparison.get("max_abs_error")
    if error:
        text += f"; largest error {error}" + (f" ({bounds})" if bounds else "")
    return text


def times_text(timing: Mapping[str, Any]) -> str:
    """Return the times of a run in one line."""
    known = {n: timing[n] for n in ("median_us", "p20_us", "p80_us") if timing.get(n) is not None}
    text = ", ".join(f"{name.removesuffix('_us')} {us:g} us" for name, us in known.items())
    if timing.get("bytes_per_s"):
        text += f", {timing['bytes_per_s'] / 1e9:.4g} GB/s"
    if timing.get("flops_per_s"):
        text += f", {timing['flops_per_s'] / 1e12:.4g} TFLOP/s"
    notes = [f"{timing.get('repeats')} repeats"]
    if timing.get("noisy"):
        notes.append("noisy")
    if timing.get("plausible") is False:
        notes.append(f"impossible: {timing.get('floor_us')} us is the minimum")
    return f"{text} ({'; '.join(notes)})"


def _count(summary: Mapping[str, Any] | None) -> int | str:
    total = 1
    for extent in (summary or {}).get("shape") or ():
        total *= extent
    return total if summary else "?"


def _hot_lines(
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
    hot = [line for line in lines if (line.get("samples_percent") or 0) >= _MIN_PERCENT]
    for line in hot[:_MAX_LINES]:
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


def _fuzz_lines(fuzz: Mapping[str, Any]) -> Iterator[str]:
    """Yield the number of cases, the varied inputs, and the inputs left fixed with reasons."""
    kinds = ", ".join(f"{kind} in {count}" for kind, count in (fuzz.get("kinds") or {}).items())
    left_out = sum((fuzz.get("skipped") or {}).values())
    more = f"; {left_out} more are inconclusive" if left_out else ""
    seed = f" (seed {fuzz.get('seed')}{more})"
    yield f"fuzz: {fuzz.get('cases')} cases{f', {kinds}' if kinds else ''}{seed}"
    yield from _listed("varied", fuzz.get("varied") or ())
    yield from _listed("not varied", fuzz.get("not_varied") or ())


def _listed(how: str, items: Any) -> Iterator[str]:
    listed = list(items)[:_MAX_LISTED]
    yield from (f"  {how}: {item}" for item in listed)
    if len(items) > len(listed):
        yield f"  {how}: {len(items) - len(listed)} more"
