"""A program as answered by the service: frozen views of the JSON.

Parsing is lenient, so that newer services work; unknown members stay in `raw`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tritonc.compilation import UNFINISHED
from tritonc.diagnostic import POSTED_REFERENCE, POSTED_SOURCE, Problem, printable
from tritonc.html_panes import framed, plain
from tritonc.launch_run import GOOD, Finding, Output, Run, excerpt_lines, report_lines, run_members
from tritonc.members import read_members
from tritonc.programs.timed_program import ProgramTimes
from tritonc.service_errors import TritoncError

PASSED, NOT_CHECKED = "passed", "not_checked"


@dataclass(frozen=True, slots=True)
class ProgramFlag:
    """One fact about how a program computes its result: `no_kernel`, `dead_launch`, ..."""

    kind: str = ""
    message: str = ""
    file: str | None = None
    line: int | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "ProgramFlag":
        """Parse a flag; unknown members are ignored."""
        return read_members(cls, body)


@dataclass(frozen=True, slots=True)
class ProgramKernel:
    """A kernel of the program, launched `launches` times per call."""

    name: str
    file: str | None = None
    line: int | None = None
    launches: int = 0
    compilation_key: str | None = None
    compilation_url: str | None = None
    problem: Problem | None = None
    configuration: Mapping[str, Any] | None = None
    """For an autotuned kernel: its `number`, `constexprs`, `options`, and whether `is_fastest`."""
    reads: tuple[str, ...] | None = None
    """The parameters whose memory it may read; None if unknown."""
    writes: tuple[str, ...] | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "ProgramKernel":
        """Parse a kernel. Raises TypeError if it is malformed."""
        named = {name: body[name] for name in ("reads", "writes") if body.get(name) is not None}
        named = {name: tuple(parameters) for name, parameters in named.items()}
        return read_members(cls, body, problem=Problem.of(body), **named)


@dataclass(frozen=True, slots=True)
class Program:
    """A program at the time of the request.

    `state` is queued, running, completed, failed or cancelled. `verdict` is the result, as for
    launches; with cases it is their worst one, and the cases have `outputs` and `findings`. `flags`
    describe how the program computes its result, `kernels` what it launches; `times` are those of a
    GPU, `case_times` those of each case; `reward` summarises the answer: `compiled`, `correct`,
    `speedup`, `coverage`, `flags`, and `serious`, those that make it incorrect; it is None if the
    reference failed, so that the program was not judged. `sources` are the texts that this client
    posted, by file, for excerpts.
    """

    id: str
    state: str
    queue_position: int | None = None
    verdict: str | None = None
    device: Mapping[str, Any] | None = None
    seed: int | None = None
    flags: tuple[ProgramFlag, ...] = ()
    findings: tuple[Finding, ...] = ()
    outputs: Mapping[str, Output] = field(default_factory=dict)
    kernels: tuple[ProgramKernel, ...] = ()
    cases: tuple[Run, ...] = ()
    times: ProgramTimes = field(default_factory=ProgramTimes)
    case_times: tuple[ProgramTimes, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    reward: Mapping[str, Any] | None = None
    peak_bytes: int | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    problem: Problem | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Program":
        """Parse a program. Raises KeyError or TypeError if it is malformed."""
        cases = body.get("cases") or ()
        return read_members(
            cls,
            body,
            flags=tuple(map(ProgramFlag.from_json, body.get("flags") or ())),
            kernels=tuple(map(ProgramKernel.from_json, body.get("kernels") or ())),
            cases=tuple(map(Run.from_json, cases)),
            times=ProgramTimes.from_json(body),
            case_times=tuple(map(ProgramTimes.from_json, cases)),
            raw=body,
            **run_members(body),
        )

    @property
    def finished(self) -> bool:
        """True if the program has ended; states newer than this client count as ended."""
        return self.state not in UNFINISHED

    @property
    def good(self) -> bool:
        """True if it ran all cases without any finding against it.

        One that passed with a serious flag is not good. A program that stops after recording or
        compiling is good if that succeeded.
        """
        if self.state != "completed" or self.counts.get("failed"):
            return False
        if self.verdict is None:
            return all(kernel.problem is None for kernel in self.kernels)
        return self.verdict in GOOD and not self._against

    @property
    def _against(self) -> str:
        """The serious flags of a program that passed, separated by commas."""
        kinds = (self.reward or {}).get("serious") or ()
        return ", ".join(kinds) if self.verdict == PASSED else ""

    def raise_unless_good(self) -> "Program":
        """Return this program if its verdict is good, otherwise raise ProgramFailed."""
        if self.good:
            return self
        raise ProgramFailed(self)

    def render(
        self, source_name: str = POSTED_SOURCE, reference_name: str = "the reference"
    ) -> str:
        """Return findings, flags, kernels, reward and verdict in a compiler's error format.

        The names replace those of the posted sources, so that editors find the files.
        """
        names = {POSTED_SOURCE: source_name, POSTED_REFERENCE: reference_name}
        lines = [*self._problem_lines(self.problem, names), *self._run_lines(names)]
        lines += [*self._flag_lines(names), *self._kernel_lines(names), *self.times.lines(names)]
        lines += [f"warning: {warning}" for warning in self.warnings]
        lines += self._reward_lines()
        return printable("\n".join([*lines, self._outcome()]))

    def __str__(self) -> str:
        """Return the text of `render` with the service's file name."""
        return self.render()

    def __repr__(self) -> str:
        """Return one line: the id, and the state or verdict."""
        return printable(f"<Program {self.id}: {self._outcome()}>")

    def _repr_html_(self) -> str:
        return framed(plain(self.render(), is_good=self.good))

    def _problem_lines(self, problem: Problem | None, names: Mapping[str, str]) -> Iterator[str]:
        """Yield the reason for a missing verdict, at its line of the program or the reference."""
        if problem is None:
            return
        file, line = problem.raw.get("file") or "", problem.raw.get("line") or 0
        is_of_reference = problem.raw.get("program") == "reference"
        if is_of_reference:
            names = {POSTED_SOURCE: names[POSTED_REFERENCE]}
        place = _place(file, line, names) or (names[POSTED_SOURCE] if is_of_reference else "")
        yield f"{place}: error: {problem}" if place else f"error: {problem}"
        if not is_of_reference:
            yield from excerpt_lines(self.sources, file, line)

    def _run_lines(self, names: Mapping[str, str]) -> Iterator[str]:
        if not self.cases:
            run = Run(self.verdict, _named(self.outputs), None, self.findings, None)
            yield from report_lines(run, self.sources, names)
        for index, case in enumerate(self.cases):
            named = f"case {index}" + (f" ({case.name})" if case.name else "")
            yield f"{named}: {case.verdict or 'did not run'}"
            run = replace(case, outputs=_named(case.outputs), timing=None, problem=None)
            lines = [*self._problem_lines(case.problem, names)]
            lines += report_lines(run, self.sources, names)
            lines += self.case_times[index].lines(names)
            yield from (f"  {line}" for line in lines)

    def _flag_lines(self, names: Mapping[str, str]) -> Iterator[str]:
        for flag in self.flags:
            place = _place(flag.file, flag.line, names)
            yield f"{place or 'program'}: {flag.kind}: {flag.message}"
            yield from excerpt_lines(self.sources, flag.file or "", flag.line or 0)

    def _kernel_lines(self, names: Mapping[str, str]) -> Iterator[str]:
        for kernel in self.kernels:
            place = _place(kernel.file, kernel.line, names)
            how_often = "once" if kernel.launches == 1 else f"{kernel.launches} times"
            key = f", compilation {kernel.compilation_key}" if kernel.compilation_key else ""
            at = f" ({place})" if place else ""
            yield f"kernel {kernel.name}{at}: launched {how_often}{_configuration(kernel)}{key}"
            if kernel.problem is not None and not self._is_reported(kernel, kernel.problem):
                yield f"  error: {kernel.problem}"

    def _is_reported(self, kernel: ProgramKernel, problem: Problem) -> bool:
        """Return True if the program's own problem is that of `kernel`."""
        own = self.problem
        return (
            own is not None and own.slug == problem.slug and own.line in {problem.line, kernel.line}
        )

    def _reward_lines(self) -> Iterator[str]:
        if self.reward is None:
            if self.finished:
                yield "reward: none, the reference failed, so the program was not judged"
            return
        lists = {name: self.reward.get(name) or () for name in ("flags", "serious")}
        words = []
        for name in ("compiled", "correct", "speedup", "coverage"):
            value = self.reward.get(name)
            if name == "correct" and self.verdict == NOT_CHECKED and not lists["serious"]:
                words.append("correct not checked")
            elif value is not None:
                words.append(f"{name} {_said(value)}")
        listed = [f"; {name} {', '.join(kinds)}" for name, kinds in lists.items() if kinds]
        yield f"reward: {', '.join(words)}" + "".join(listed)

    def _outcome(self) -> str:
        total_ms = self.timings_ms.get("total")
        took = f" ({total_ms:.0f} ms)" if total_ms is not None else ""
        if self.verdict is None:
            slug = self.problem.slug if self.problem else ""
            return f"{self.state}{f': {slug}' if slug else ''}{took}"
        counts = ", ".join(f"{count} {word}" for word, count in self.counts.items())
        model = (self.device or {}).get("model")
        where = f" on the {model}" if model else ""
        but = f" (incorrect by its flags: {self._against})" if self._against else ""
        return f"verdict: {self.verdict}{but}{where}{took}{f'; {counts}' if self.cases else ''}"


class ProgramFailed(TritoncError):
    """A program that did not run, or whose verdict is not good; the message is its report.

    `program` has what is available: problem, verdict, flags, findings, outputs, kernels.
    `source_name` and `reference_name` are the files in the report.
    """

    def __init__(
        self,
        program: Program,
        source_name: str = POSTED_SOURCE,
        reference_name: str = "the reference",
    ) -> None:
        super().__init__(program.id)
        self.program = program
        self._names = (source_name, reference_name)

    def __str__(self) -> str:
        """Return the report of the program."""
        return self.program.render(*self._names)


def _configuration(kernel: ProgramKernel) -> str:
    if kernel.configuration is None:
        return ""
    fastest = ", the fastest" if kernel.configuration.get("is_fastest") else ""
    return f", configuration {kernel.configuration.get('number')}{fastest}"


def _place(file: str | None, line: int | None, names: Mapping[str, str]) -> str:
    return ":".join(filter(None, [names.get(file or "", file or ""), str(line or "")]))


def _named(outputs: Mapping[str, Output]) -> dict[str, Output]:
    return {f"output {name}": output for name, output in outputs.items()}


def _said(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value:g}"
