"""A launch as the client sees it: frozen views over the JSON that the service answers.

Reading is lenient, so that a newer service works: what is unknown stays in `raw`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tritonc.compilation import UNFINISHED, Compilation
from tritonc.errors import LaunchFailed
from tritonc.problem import Problem
from tritonc.report import render

GOOD = frozenset({"passed", "not_checked"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a run did wrong; what is not known of its place is None.

    `kind` is the verdict that it leads to, such as `out_of_bounds`; `index` counts in the
    argument's own shape, `line` from 1 in the `file` that was posted, `user.py` for the source.
    """

    kind: str
    message: str
    access: str | None = None
    argument: str | None = None
    index: list[int] | None = None
    file: str | None = None
    line: int | None = None
    program: list[int] | None = None

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
        """Whether it is what the reference says; None where nothing was compared."""
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
        )

    @property
    def good(self) -> bool:
        """Whether it ran and nothing speaks against it."""
        return self.verdict in GOOD


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch, at the moment it was asked for.

    `state` says how far it is: queued, running, completed, failed or cancelled. `verdict` says what
    it found out, such as `passed`, `mismatch` or `out_of_bounds`; with cases it is the worst of
    theirs, and `outputs`, `timing` and `findings` are theirs. `timing` has times in microseconds,
    `timings_ms` says how long the request took. `seeds` are those of the random inputs.
    `sources` are the posted texts by file, where this client posted them: for excerpts.
    """

    id: str
    state: str
    queue_position: int | None
    verdict: str | None
    compilation: Compilation | None
    device: Mapping[str, Any] | None
    outputs: Mapping[str, Output]
    deterministic: bool | None
    timing: Mapping[str, Any] | None
    findings: tuple[Finding, ...]
    cases: tuple[Run, ...]
    counts: Mapping[str, int]
    seeds: Mapping[str, Any]
    stdout: str
    timings_ms: Mapping[str, float]
    problem: Problem | None
    raw: Mapping[str, Any]
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Launch":
        """Read a launch. Raises KeyError or TypeError when it is not one."""
        compilation, run = body.get("compilation"), Run.from_json(body)
        return cls(
            id=body["id"],
            state=body["state"],
            queue_position=body.get("queue_position"),
            verdict=run.verdict,
            compilation=None if compilation is None else Compilation.from_json(compilation),
            device=body.get("device"),
            outputs=run.outputs,
            deterministic=body.get("deterministic"),
            timing=run.timing,
            findings=run.findings,
            cases=tuple(Run.from_json(case) for case in body.get("cases") or ()),
            counts=body.get("counts") or {},
            seeds=body.get("seeds") or {},
            stdout=body.get("stdout") or "",
            timings_ms=body.get("timings_ms") or {},
            problem=run.problem,
            raw=body,
        )

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen; a state newer than this client counts as finished."""
        return self.state not in UNFINISHED

    @property
    def good(self) -> bool:
        """Whether it ran, with all its cases, and nothing speaks against the kernel."""
        ran = self.state == "completed" and not self.counts.get("failed")
        return ran and self.verdict in GOOD

    def raise_unless_good(self) -> "Launch":
        """Return this launch if its verdict is good, and raise LaunchFailed if not."""
        if self.good:
            return self
        raise LaunchFailed(self)

    def render(self, source_name: str = "user.py") -> str:
        """Return findings, differences, times and the verdict, as compilers show errors.

        The posted source is called `source_name`, so that editors find the file it came from.
        """
        return render(self, source_name)

    def __str__(self) -> str:
        """Return what `render` does under the service's own file name."""
        return self.render()
