"""What a launch found out, written as compilers write errors: places first, the verdict last."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tritonc.diagnostic import POSTED_SOURCE, printable
from tritonc.errors import CompileFailed

if TYPE_CHECKING:
    from tritonc.launch import Finding, Launch, Run


def render(launch: "Launch", source_name: str = POSTED_SOURCE) -> str:
    """Return the report of a launch, without a newline at its end."""
    names = {POSTED_SOURCE: source_name}
    lines: list[str] = []
    if launch.cases:
        for index, case in enumerate(launch.cases):
            named = f"case {index}" + (f" ({case.name})" if case.name else "")
            lines.append(f"{named}: {case.verdict or 'did not run'}")
            lines += [f"  {line}" for line in _run(case, launch.sources, names)]
    else:
        lines += _run(launch, launch.sources, names)
    compilation = launch.compilation
    if compilation is not None and compilation.state == "failed":
        lines.append(CompileFailed(compilation).render(source_name))
    if launch.seeds and launch.verdict is not None and not launch.good:
        seeds = ", ".join(f"{name} {seed}" for name, seed in launch.seeds.items())
        lines.append(f"seeds: {seeds}")
    lines.append(_outcome(launch))
    return printable("\n".join(lines))


def _run(
    run: "Run | Launch", sources: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[str]:
    if run.problem is not None:
        yield from _problem(str(run.problem), sources, names)
    for finding in run.findings:
        yield from _finding(finding, sources, names)
    for name, output in run.outputs.items():
        comparison, summary = output.comparison or {}, output.summary or {}
        unwritten = summary.get("unwritten") or 0
        # what was never written differs, and saying so once is enough
        if output.matches is False and comparison.get("mismatched") != unwritten:
            yield f"{name}: {_difference(comparison, summary)}"
        if unwritten:
            yield f"{name}: never written: {unwritten} of {_count(output.summary)} elements"
    if run.timing:
        yield _times(run.timing)


def _finding(
    finding: "Finding", sources: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[str]:
    file, line = finding.file or "", finding.line or 0
    place = ":".join(filter(None, [names.get(file, file), str(line or "")]))
    yield f"{place or 'kernel'}: {finding.kind}: {finding.message}"
    yield from _excerpt(sources, file, line)


def _problem(said: str, sources: Mapping[str, str], names: Mapping[str, str]) -> Iterator[str]:
    """Yield a problem, which begins with its place if it has one."""
    placed = re.match(r"([^\s:]+):(\d+): ", said)
    if placed is None:
        yield f"error: {said}"
        return
    file, line = placed[1], int(placed[2])
    yield f"{names.get(file, file)}:{line}: error: {said[placed.end() :]}"
    yield from _excerpt(sources, file, line)


def _excerpt(sources: Mapping[str, str], file: str, line: int) -> Iterator[str]:
    text = sources.get(file, "").splitlines()
    if 0 < line <= len(text):
        yield f"    {text[line - 1].strip()}"


def _difference(comparison: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    said = f"{comparison.get('mismatched')} of {_count(summary)} elements differ"
    if first := comparison.get("first_mismatch"):
        said += f"; first at {first['index']}: {first['actual']}, expected {first['expected']}"
    if strange := comparison.get("nonfinite_mismatched"):
        said += f"; {strange} of them are NaN or infinite on one side"
    bounds = ", ".join(f"{n} {comparison[n]:g}" for n in ("rtol", "atol") if comparison.get(n))
    error = comparison.get("max_abs_error")
    if error:
        said += f"; largest error {error}" + (f" ({bounds})" if bounds else "")
    return said


def _times(timing: Mapping[str, Any]) -> str:
    known = {n: timing[n] for n in ("median_us", "p20_us", "p80_us") if timing.get(n) is not None}
    said = ", ".join(f"{name.removesuffix('_us')} {us:g} us" for name, us in known.items())
    if timing.get("bytes_per_s"):
        said += f", {timing['bytes_per_s'] / 1e9:.4g} GB/s"
    if timing.get("flops_per_s"):
        said += f", {timing['flops_per_s'] / 1e12:.4g} TFLOP/s"
    noisy = "; noisy" if timing.get("noisy") else ""
    return f"time: {said} ({timing.get('repeats')} repeats{noisy})"


def _outcome(launch: "Launch") -> str:
    device = launch.device or {}
    where = "interpreter" if device.get("interpreter") else device.get("model")
    total_ms = launch.timings_ms.get("total")
    took = f" ({total_ms:.0f} ms)" if total_ms is not None else ""
    if launch.verdict is None:
        slug = launch.problem.slug if launch.problem else ""
        return f"{launch.state}{f': {slug}' if slug else ''}{took}"
    counts = ", ".join(f"{count} {word}" for word, count in launch.counts.items())
    cases = f"; {counts}" if launch.cases else ""
    return f"verdict: {launch.verdict}{f' on the {where}' if where else ''}{took}{cases}"


def _count(summary: Mapping[str, Any] | None) -> int | str:
    total = 1
    for extent in (summary or {}).get("shape") or ():
        total *= extent
    return total if summary else "?"
