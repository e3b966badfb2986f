"""A launch as answered by the service: frozen views of the JSON.

Parsing is lenient, so that newer services work; unknown members stay in `raw`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tritonc.compilation import UNFINISHED, Compilation, CompileFailed
from tritonc.data_frames import data_frame
from tritonc.diagnostic import POSTED_REFERENCE, POSTED_SOURCE, Problem, posted_names, printable
from tritonc.html_panes import cells_pane, framed, plain
from tritonc.launch_run import GOOD, Finding, Output, Run, report_lines, run_members
from tritonc.members import read_members
from tritonc.proof import Proof
from tritonc.service_errors import TritoncError


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch at the time of the request.

    `state` is queued, running, completed, failed or cancelled. `verdict` is the result, such as
    `passed`, `mismatch` or `out_of_bounds`; with cases it is their worst one, and the cases have
    `outputs`, `timing`, `profile` and `findings`. `timing` has times in microseconds, `profile` a
    profiler's counts, and `timings_ms` the duration of the request. `seeds` are those of random
    inputs, `fuzz` describes fuzzing, `proof` is the kernel's where it was asked for. `sources` are
    the texts that this client posted, by file, for excerpts.
    """

    id: str
    state: str
    queue_position: int | None = None
    verdict: str | None = None
    kernel: str | None = None
    compilation: Compilation | None = None
    device: Mapping[str, Any] | None = None
    outputs: Mapping[str, Output] = field(default_factory=dict)
    deterministic: bool | None = None
    timing: Mapping[str, Any] | None = None
    profile: Mapping[str, Any] | None = None
    findings: tuple[Finding, ...] = ()
    cases: tuple[Run, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    seeds: Mapping[str, Any] = field(default_factory=dict)
    stdout: str = ""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    fuzz: Mapping[str, Any] | None = None
    proof: Proof | None = None
    problem: Problem | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Launch":
        """Parse a launch. Raises KeyError or TypeError if it is malformed."""
        compilation, proof = body.get("compilation"), body.get("proof")
        return read_members(
            cls,
            body,
            compilation=None if compilation is None else Compilation.from_json(compilation),
            proof=None if proof is None else Proof.from_json(proof),
            cases=tuple(map(Run.from_json, body.get("cases") or ())),
            raw=body,
            **run_members(body),
        )

    @property
    def finished(self) -> bool:
        """True if the launch has ended; states newer than this client count as ended."""
        return self.state not in UNFINISHED

    @property
    def good(self) -> bool:
        """True if it ran all cases without any finding against the kernel."""
        ran = self.state == "completed" and not self.counts.get("failed")
        return ran and self.verdict in GOOD

    def raise_unless_good(self) -> "Launch":
        """Return this launch if its verdict is good, otherwise raise LaunchFailed."""
        if self.good:
            return self
        raise LaunchFailed(self)

    def render(
        self, source_name: str = POSTED_SOURCE, reference_name: str = POSTED_REFERENCE
    ) -> str:
        """Return findings, differences, times and the verdict in a compiler's error format.

        The names replace those of the posted texts, so that editors find the files.
        """
        names = {**posted_names(source_name), POSTED_REFERENCE: reference_name}
        lines = list(self._run_lines(names))
        if self.compilation is not None and self._is_compilation_to_report():
            lines.append(CompileFailed(self.compilation).render(source_name))
        if self.proof is not None:
            lines += self.proof.short_lines(source_name)
        if self.seeds and self.verdict is not None and not self.good:
            seeds = ", ".join(f"{name} {seed}" for name, seed in self.seeds.items())
            lines.append(f"seeds: {seeds}")
        return printable("\n".join([*lines, self._outcome()]))

    def to_pandas(self) -> Any:
        """Return the cases as a DataFrame, or the launch as its one row: verdict, times, outputs.

        Raises ModuleNotFoundError without pandas.
        """
        runs: tuple[Run | Launch, ...] = self.cases or (self,)
        return data_frame([_record(index, run) for index, run in enumerate(runs)])

    def __str__(self) -> str:
        """Return the text of `render` with the service's file name."""
        return self.render()

    def __repr__(self) -> str:
        """Return one line: the id, the state or verdict, and the device."""
        return printable(f"<Launch {self.id}: {self._outcome()}>")

    def _repr_html_(self) -> str:
        return framed(plain(self.render(), is_good=self.good), self.cases_pane())

    def cases_pane(self) -> str:
        """Return a table of the cases as HTML, "" without cases."""
        rows = [
            [str(index), case.name or "", case.verdict or "did not run", _median(case)]
            for index, case in enumerate(self.cases)
        ]
        return cells_pane(["case", "name", "verdict", "median us"], rows) if rows else ""

    def _is_compilation_to_report(self) -> bool:
        """Return True if only the failed compilation explains the failure."""
        failed = self.compilation is not None and self.compilation.state == "failed"
        return failed and not any(case.compiler_messages for case in self.cases)

    def _is_compilations_problem(self) -> bool:
        """Return True if the compilation, reported too, has the same problem as the launch."""
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
        """Return the device as text."""
        device = self.device or {}
        if device.get("interpreter"):
            return "on the CPU device"
        return f"on the {device['model']}" if device.get("model") else ""


def _median(run: Run) -> str:
    median = (run.timing or {}).get("median_us")
    return "" if median is None else f"{median:.4g}"


def _record(index: int, run: Run | Launch) -> dict[str, Any]:
    """Return a run as a row; the columns of an output begin with its name."""
    timing = run.timing or {}
    summaries = {name: output.summary or {} for name, output in run.outputs.items()}
    return {
        "case": index,
        "name": getattr(run, "name", None),
        "verdict": run.verdict,
        "median_us": timing.get("median_us"),
        **{
            f"{name}.{member}": value
            for name, summary in summaries.items()
            for member, value in summary.items()
            if isinstance(value, int | float | str)
        },
    }


class LaunchFailed(TritoncError):
    """A launch that did not run, or whose verdict is not good; the message is its report.

    `launch` has what is available: problem, compilation, verdict, findings, outputs.
    """

    def __init__(self, launch: Launch) -> None:
        super().__init__(launch.id)
        self.launch = launch

    def __str__(self) -> str:
        """Return the report of the launch."""
        return self.launch.render()
