"""What running a kernel on one set of arguments gave, and how that is printed.

A launch has one run, or one for each of its cases; what is the same for all is in `Launch`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tritonc.diagnostic import POSTED_SOURCE, Diagnostic, Problem, render_all
from tritonc.launch_fuzz import fuzz_lines
from tritonc.launch_profile import hot_lines

GOOD = frozenset({"passed", "not_checked"})
DOES_NOT_COMPILE = "does_not_compile"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a run did wrong; what is not known of its place is None.

    `kind` is the verdict that it leads to, such as `out_of_bounds`; `index` counts in the
    argument's own shape, `line` and `column` from 1 in the `file` that was posted, `user.py` for
    the source. `diagnostics` are the compiler's, of a kernel that `does_not_compile`; `measure` has
    the numbers that a finding rests on, `seeds` the inputs of a timed repeat that it is about;
    `case` is what fuzzing found, as `cases` of a launch takes it.
    """

    kind: str
    message: str
    access: str | None = None
    argument: str | None = None
    index: list[int] | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    program: list[int] | None = None
    diagnostics: list[Mapping[str, Any]] | None = None
    measure: Mapping[str, float] | None = None
    seeds: Mapping[str, int] | None = None
    case: Mapping[str, Any] | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Finding":
        """Read a finding; unknown members are left out."""
        known = {item.name: body[item.name] for item in fields(cls) if item.name in body}
        return cls(**{"kind": "", "message": ""} | known)


@dataclass(frozen=True, slots=True)
class Output:
    """One output: its `summary` in numbers, and its `comparison` with the reference if any.

    `values` has its elements if they were asked for; non-finite ones are the strings NaN, Infinity
    and -Infinity. `url` is where its .npy file is; `Client.launches.output` fetches it.
    """

    summary: Mapping[str, Any] | None
    comparison: Mapping[str, Any] | None
    values: Any
    url: str | None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Output":
        """Read an output; unknown members are left out."""
        return cls(**{item.name: body.get(item.name) for item in fields(cls)})

    @property
    def matches(self) -> bool | None:
        """Whether it equals the reference within tolerance; None where nothing was compared."""
        return None if self.comparison is None else bool(self.comparison.get("matches"))


@dataclass(frozen=True, slots=True)
class Run:
    """What one set of arguments led to; the only one of a launch, or one of its cases."""

    verdict: str | None
    outputs: Mapping[str, Output]
    timing: Mapping[str, Any] | None
    findings: tuple[Finding, ...]
    problem: Problem | None
    name: str | None = None
    profile: Mapping[str, Any] | None = None
    fuzz: Mapping[str, Any] | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Run":
        """Read a case, or what a launch without cases has instead."""
        problem = body.get("problem")
        return cls(
            verdict=body.get("verdict"),
            outputs={n: Output.from_json(o) for n, o in (body.get("outputs") or {}).items()},
            timing=body.get("timing"),
            findings=tuple(Finding.from_json(f) for f in body.get("findings") or ()),
            problem=None if problem is None else Problem.from_json(problem),
            name=body.get("name"),
            profile=body.get("profile"),
            fuzz=body.get("fuzz"),
        )

    @property
    def good(self) -> bool:
        """Whether it ran and nothing speaks against it."""
        return self.verdict in GOOD

    @property
    def compiler_said(self) -> tuple[Diagnostic, ...]:
        """What the compiler said of a case that did not run, as its kernel does not compile."""
        if self.problem is None:
            return ()
        findings = (finding for finding in self.findings if finding.kind == DOES_NOT_COMPILE)
        said = (one for finding in findings for one in finding.diagnostics or ())
        return tuple(map(Diagnostic.from_json, said))


def report_lines(run: Run, sources: Mapping[str, str], names: Mapping[str, str]) -> Iterator[str]:
    """Yield what speaks against a run and how long it took, as compilers write errors.

    `sources` are the posted texts by file, for excerpts; `names` what to call files instead.
    """
    if said := run.compiler_said:
        yield from render_all(said, names.get(POSTED_SOURCE, POSTED_SOURCE)).splitlines()
    elif run.problem is not None:
        yield from _problem(str(run.problem), sources, names)
    for finding in run.findings:
        if not said or finding.kind != DOES_NOT_COMPILE:
            yield from _finding(finding, sources, names)
    for name, output in run.outputs.items():
        yield from _output(name, output)
    if run.timing:
        yield f"time: {times_text(run.timing)}"
    if run.fuzz:
        yield from fuzz_lines(run.fuzz)
    if run.profile:
        yield from hot_lines(run.profile, sources, names)


def _output(name: str, output: Output) -> Iterator[str]:
    comparison, summary = output.comparison or {}, output.summary or {}
    unwritten = summary.get("unwritten") or 0
    # what was never written differs, and saying so once is enough
    if output.matches is False and comparison.get("mismatched") != unwritten:
        yield f"{name}: {_difference(comparison, summary)}"
    if unwritten:
        yield f"{name}: never written: {unwritten} of {_count(output.summary)} elements"


def _finding(
    finding: Finding, sources: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[str]:
    file, line = finding.file or "", finding.line or 0
    place = ":".join(filter(None, [names.get(file, file), str(line or "")]))
    yield f"{place or 'kernel'}: {finding.kind}: {finding.message}"
    yield from excerpt_lines(sources, file, line)


def _problem(text: str, sources: Mapping[str, str], names: Mapping[str, str]) -> Iterator[str]:
    """Yield a problem, which begins with its place if it has one."""
    placed = re.match(r"([^\s:]+):(\d{1,9}): ", text)
    if placed is None:
        yield f"error: {text}"
        return
    file, line = placed[1], int(placed[2])
    yield f"{names.get(file, file)}:{line}: error: {text[placed.end() :]}"
    yield from excerpt_lines(sources, file, line)


def excerpt_lines(sources: Mapping[str, str], file: str, line: int) -> Iterator[str]:
    """Yield the line of a posted text, indented; nothing where that is not known."""
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
    """Return the times of a run in a line."""
    known = {n: timing[n] for n in ("median_us", "p20_us", "p80_us") if timing.get(n) is not None}
    text = ", ".join(f"{name.removesuffix('_us')} {us:g} us" for name, us in known.items())
    if timing.get("bytes_per_s"):
        text += f", {timing['bytes_per_s'] / 1e9:.4g} GB/s"
    if timing.get("flops_per_s"):
        text += f", {timing['flops_per_s'] / 1e12:.4g} TFLOP/s"
    said = [f"{timing.get('repeats')} repeats"]
    if timing.get("noisy"):
        said.append("noisy")
    if timing.get("plausible") is False:
        said.append(f"cannot be: {timing.get('floor_us')} us is the least")
    return f"{text} ({'; '.join(said)})"


def _count(summary: Mapping[str, Any] | None) -> int | str:
    total = 1
    for extent in (summary or {}).get("shape") or ():
        total *= extent
    return total if summary else "?"
