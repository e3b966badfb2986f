"""The measurements of one cell, taken from answers of the service.

The service is trusted with numbers only: counts are bounded, names are short, and values that are
not numbers are ignored.
"""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tritonc.compilation import Compilation
from tritonc.diagnostic import POSTED_SOURCE, Diagnostic, Problem
from tritonc.gate.metric_budget import CLASSES, COMPILE_TIME, OPCODES, PTX, TIME
from tritonc.launch import Launch
from tritonc.packages.package import needs_of
from tritonc.proof import Proof

MAX_NAMES = 2000  # classes, opcodes
MAX_NAME_CHARS = 80
MAX_LINES = 20_000
MAX_CASES = 1000
SETTING_NAMES = (
    "num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu", "matrix_instr_nonkdim",
)  # fmt: skip
_NOT_CODE = re.compile(r"\s*(?://.*|\.loc\b[^;]*|\.file\b.*|\.version\b.*|\$L__tmp\d+:|)")
_DEBUG_SECTION = re.compile(r"\s*\.section\s+\.debug")


@dataclass(frozen=True, slots=True)
class LineMix:
    """The instructions of one line; `file` has the service's name for it.

    `local_bytes` are what a thread moves to and from its own memory: spills, and indexed arrays.
    """

    file: str
    line: int
    by_class: Mapping[str, int]
    local_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CellNumbers:
    """The numbers of one cell by metric, such as `registers` or `opcodes.LDG`.

    `failure` explains missing numbers; `line` is its location in the posted `file`. `intervals` has
    the confidence intervals of times by metric; a launch on the CPU device has none. `url` is that
    of the compilation or launch. `settings` has the constexprs and options that were compiled,
    `proof` what is proved for all sizes, if a budget asks for it.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    ptx: str | None = None
    lines: tuple[LineMix, ...] = ()
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    device: str | None = None
    has_no_times: bool = False
    failure: str | None = None
    needs: tuple[str, ...] = ()
    """The modules that it asks for, if it failed for want of them."""
    file: str = POSTED_SOURCE
    line: int | None = None
    entry: str | None = None
    key: str | None = None
    url: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    proof: Proof | None = None

    def opcodes(self, opcode: str) -> int:
        """Return the number of instructions with an opcode, with any modifiers."""
        whole = f"{OPCODES}.{opcode}"
        begins = (f"{whole}.", f"{whole}_")
        counts = self.metrics.items()
        return int(sum(n for name, n in counts if name == whole or name.startswith(begins)))

    def with_instructions(self, document: Mapping[str, Any]) -> "CellNumbers":
        """Return this with the answer of `GET /v1/compilations/{key}/instructions` added.

        Raises KeyError or TypeError if the answer is malformed.
        """
        metrics = {"instructions": _count(document["total"])}
        metrics |= {f"{CLASSES}.{n}": c for n, c in _counts(document["by_class"])}
        metrics |= {f"{OPCODES}.{n}": c for n, c in _counts(document["by_opcode"])}
        if document.get("code_bytes") is not None:
            metrics["code_bytes"] = _count(document["code_bytes"])
        lines = tuple(
            LineMix(
                str(row["file"])[:300],
                _count(row["line"]),
                dict(_counts(row["by_class"])),
                _count(row.get("local_bytes", 0)),
            )
            for row in document["by_line"][:MAX_LINES]
            if row.get("file") is not None and row.get("line") is not None
        )
        return replace(self, metrics={**self.metrics, **metrics}, lines=lines)


def compilation_measured(compilation: Compilation) -> CellNumbers:
    """Return the numbers of a finished compilation, or the location of its failure."""
    entry, key, url = compilation.kernel, compilation.key, compilation.raw.get("url")
    if not compilation.succeeded:
        failed = _failed(compilation.problem, compilation.diagnostics, compilation.state)
        return replace(failed, entry=entry, key=key, url=url)
    resources = compilation.resources
    if resources.get("fits") is False:
        shared, limit = (resources.get(f"shared_{what}") for what in ("bytes", "limit_bytes"))
        failure = f"it does not fit the GPU: {shared} of {limit} bytes of shared memory"
        return CellNumbers(failure=failure, entry=entry, key=key, url=url)
    metrics = {
        **dict(_numbers(resources, ("registers", "stack_bytes", "shared_bytes"))),
        **_spills(resources),
        **dict(_numbers({COMPILE_TIME: compilation.timings_ms.get("total")}, (COMPILE_TIME,))),
    }
    occupancy = resources.get("occupancy")
    if isinstance(occupancy, Mapping) and _is_number(occupancy.get("ratio")):
        metrics["occupancy"] = float(occupancy["ratio"])
    text = compilation.included.get(PTX)
    ptx = ptx_digest(text) if isinstance(text, str) else None
    settings = dict(_settings(compilation))
    return CellNumbers(metrics, ptx, entry=entry, key=key, url=url, settings=settings)


def launch_measured(launch: Launch) -> CellNumbers:
    """Return the times of a finished launch, or the reason why its verdict is not good."""
    if launch.verdict is None:
        failed = _failed(launch.problem, (), launch.state)
        return replace(failed, url=launch.raw.get("url"))
    device = launch.raw.get("device")
    reported = device if isinstance(device, Mapping) else {}
    model = str(reported.get("model") or reported.get("target") or "the CPU device")[
        :MAX_NAME_CHARS
    ]
    if not launch.good:
        finding = _first_finding(launch.raw)
        line = finding.get("line")
        reason = f": {finding['message']}" if isinstance(finding.get("message"), str) else ""
        failure = f"verdict {launch.verdict} on {model}{reason}"[:2000]
        where = line if isinstance(line, int) and not isinstance(line, bool) else None
        return CellNumbers(failure=failure, line=where, device=model, url=launch.raw.get("url"))
    times = dict(_times(launch.raw))
    metrics = {name: median for name, (median, _) in times.items()}
    intervals = {name: interval for name, (_, interval) in times.items()}
    return CellNumbers(
        metrics,
        intervals=intervals,
        device=model,
        has_no_times=bool(reported.get("interpreter")),
        url=launch.raw.get("url"),
    )


def ptx_digest(text: str) -> str:
    """Return a digest of the instructions in PTX, without comments, locations, debug sections."""
    digest = hashlib.sha256()
    for line in _code_lines(text):
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return f"sha256:{digest.hexdigest()}"


def _code_lines(text: str) -> Iterator[str]:
    depth, in_debug = 0, False
    for line in text.splitlines():
        if _DEBUG_SECTION.match(line):
            in_debug, depth = True, 0
        if in_debug:
            depth += line.count("{") - line.count("}")
            in_debug = depth > 0 or "}" not in line
        elif not _NOT_CODE.fullmatch(line):
            yield " ".join(line.partition("//")[0].split())


def _settings(compilation: Compilation) -> Iterator[tuple[str, Any]]:
    """Yield the constexprs, and the options that every kernel has or that a person would set."""
    for parameter in compilation.parameters[:MAX_NAMES]:
        if parameter.get("role") == "constexpr":
            yield str(parameter["name"])[:MAX_NAME_CHARS], _setting(parameter.get("value"))
    for name in SETTING_NAMES:
        if name in compilation.options:
            yield name, _setting(compilation.options[name])


def _setting(value: Any) -> Any:
    """Return a value that a line of the baseline can hold."""
    is_plain = value is None or isinstance(value, str | bool) or _is_number(value)
    return value if is_plain and len(str(value)) <= MAX_NAME_CHARS else str(value)[:MAX_NAME_CHARS]


def _spills(resources: Mapping[str, Any]) -> dict[str, float]:
    if resources.get("backend") == "hip":
        # apart, since scalar registers spill into vector registers, not into memory
        of_kind = {"spilled_registers": ["vgpr_spills"], "spilled_sgprs": ["sgpr_spills"]}
    else:
        of_kind = {"spill_bytes": ["spill_store_bytes", "spill_load_bytes"]}
    metrics = {metric: dict(_numbers(resources, names)) for metric, names in of_kind.items()}
    return {
        metric: sum(numbers.values())
        for metric, numbers in metrics.items()
        if len(numbers) == len(of_kind[metric])
    }


def _times(body: Mapping[str, Any]) -> Iterator[tuple[str, tuple[float, tuple[float, float]]]]:
    """Yield the times of a launch or of its cases, with their intervals."""
    cases = body.get("cases")
    runs = [(TIME, body)]
    if isinstance(cases, list):
        several = cases[:MAX_CASES]
        runs = [(f"{TIME}.{case.get('name') or case.get('index')}", case) for case in several]
    for name, run in runs:
        timing = run.get("timing")
        median = timing.get(TIME) if isinstance(timing, Mapping) else None
        if timing is None or median is None or not _is_number(median):
            continue
        interval = timing.get("interval_us")
        is_pair = isinstance(interval, list) and len(interval) == 2
        low, high = interval if is_pair and all(map(_is_number, interval)) else (median, median)
        yield name[:MAX_NAME_CHARS], (float(median), (float(low), float(high)))


def _first_finding(body: Mapping[str, Any]) -> Mapping[str, Any]:
    runs = [body, *(body.get("cases") or ())]
    findings = [finding for run in runs for finding in run.get("findings") or ()]
    return findings[0] if findings and isinstance(findings[0], Mapping) else {}


def _failed(
    problem: Problem | None, diagnostics: tuple[Diagnostic, ...], state: str
) -> CellNumbers:
    errors = [d for d in diagnostics if d.severity == "error"]
    if errors:
        first = errors[0]
        line = first.line if isinstance(first.line, int) else None
        file = first.file or POSTED_SOURCE
        needs = needs_of(problem)
        return CellNumbers(failure=first.message[:2000], file=file, line=line, needs=needs)
    return CellNumbers(failure=str(problem or f"it is {state}")[:2000], needs=needs_of(problem))


def _numbers(members: Mapping[str, Any], names: Sequence[str]) -> Iterator[tuple[str, float]]:
    for name in names:
        if _is_number(members.get(name)):
            yield name, members[name]


def _counts(members: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name in list(members)[:MAX_NAMES]:
        yield str(name)[:MAX_NAME_CHARS], _count(members[name])


def _count(count: Any) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise TypeError(f"{count!r} is not a count")
    return count


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
