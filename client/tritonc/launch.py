"""A launch as the client sees it: frozen views over the JSON that the service answers.

Reading is lenient, so that a newer service works: what is unknown stays in `raw`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tritonc.compilation import UNFINISHED, Compilation, CompileFailed
from tritonc.diagnostic import POSTED_SOURCE, Problem, printable
from tritonc.html_panes import framed, plain
from tritonc.launch_run import GOOD, Finding, Output, Run, report_lines
from tritonc.service_errors import TritoncError


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch, at the moment it was asked for.

    `state` says how far it is: queued, running, completed, failed or cancelled. `verdict` says what
    it found out, such as `passed`, `mismatch` or `out_of_bounds`; with cases it is the worst of
    theirs, and `outputs`, `timing`, `profile` and `findings` are theirs. `timing` has times in
    microseconds, `profile` what a profiler counted, `timings_ms` says how long the request took.
    `seeds` are those of the random inputs, `fuzz` says how it was fuzzed. `sources` are the posted
    texts by file, where this client posted them: for excerpts.
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
    profile: Mapping[str, Any] | None
    findings: tuple[Finding, ...]
    cases: tuple[Run, ...]
    counts: Mapping[str, int]
    seeds: Mapping[str, Any]
    stdout: str
    timings_ms: Mapping[str, float]
    fuzz: Mapping[str, Any] | None
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
            profile=run.profile,
            findings=run.findings,
            cases=tuple(Run.from_json(case) for case in body.get("cases") or ()),
            counts=body.get("counts") or {},
            seeds=body.get("seeds") or {},
            stdout=body.get("stdout") or "",
            timings_ms=body.get("timings_ms") or {},
            fuzz=run.fuzz,
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

    def render(self, source_name: str = POSTED_SOURCE) -> str:
        """Return findings, differences, times and the verdict, as compilers show errors.

        The posted source is called `source_name`, so that editors find the file it came from.
        """
        lines = list(self._run_lines({POSTED_SOURCE: source_name}))
        if self.compilation is not None and self._is_compilation_to_tell():
            lines.append(CompileFailed(self.compilation).render(source_name))
        if self.seeds and self.verdict is not None and not self.good:
            seeds = ", ".join(f"{name} {seed}" for name, seed in self.seeds.items())
            lines.append(f"seeds: {seeds}")
        return printable("\n".join([*lines, self._outcome()]))

    def __str__(self) -> str:
        """Return what `render` does under the service's own file name."""
        return self.render()

    def __repr__(self) -> str:
        """Return one line: the id, the state or verdict, and where it ran."""
        return printable(f"<Launch {self.id}: {self._outcome()}>")

    def _repr_html_(self) -> str:
        return framed(plain(self.render(), is_good=self.good))

    def _is_compilation_to_tell(self) -> bool:
        """Whether a failed compilation says what nothing else here does."""
        failed = self.compilation is not None and self.compilation.state == "failed"
        return failed and not any(case.compiler_said for case in self.cases)

    def _is_compilations_problem(self) -> bool:
        """Whether the compilation, which is told as well, ended with what this ended with."""
        compiled = self.compilation.problem if self.compilation is not None else None
        if compiled is None or self.problem is None:
            return False
        return compiled.slug == self.problem.slug

    def _run_lines(self, names: Mapping[str, str]) -> Iterator[str]:
        if not self.cases:
            problem = None if self._is_compilations_problem() else self.problem
            run = Run(
                self.verdict,
                self.outputs,
                self.timing,
                self.findings,
                problem,
                profile=self.profile,
                fuzz=self.fuzz,
            )
            yield from report_lines(run, self.sources, names)
        for index, case in enumerate(self.cases):
            named = f"case {index}" + (f" ({case.name})" if case.name else "")
            yield f"{named}: {case.verdict or 'did not run'}"
            yield from (f"  {line}" for line in report_lines(case, self.sources, names))

    def _outcome(self) -> str:
        where = self._where()
        total_ms = self.timings_ms.get("total")
        took = f" ({total_ms:.0f} ms)" if total_ms is not None else ""
        if self.verdict is None:
            slug = self.problem.slug if self.problem else ""
            return f"{self.state}{f': {slug}' if slug else ''}{took}"
        counts = ", ".join(f"{count} {word}" for word, count in self.counts.items())
        cases = f"; {counts}" if self.cases else ""
        return f"verdict: {self.verdict}{f' {where}' if where else ''}{took}{cases}"

    def _where(self) -> str:
        """Return what ran it."""
        device = self.device or {}
        if device.get("interpreter"):
            return "on the CPU device"
        return f"on the {device['model']}" if device.get("model") else ""


class LaunchFailed(TritoncError):
    """A launch that did not run, or whose verdict is not good; it reads like its report.

    `launch` holds what there is: problem, compilation, verdict, findings, outputs.
    """

    def __init__(self, launch: Launch) -> None:
        super().__init__(launch.id)
        self.launch = launch

    def __str__(self) -> str:
        """Return the report of the launch."""
        return self.launch.render()
