"""The outcomes of a program's cases, and the record and the receipt made of them."""

import hashlib
import mmap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean, geometric_mean
from typing import Any

from compiler.compilation import amended
from launch.messages import Finding
from launch.request.verdict import GOOD, Verdict, worst
from programs.flag_kinds import without_excess
from programs.program_job import CANDIDATE, REFERENCE, ProgramJob, new_program
from programs.program_record import (
    Program,
    ProgramCaseResult,
    ProgramFlag,
    ProgramKernel,
    ProgramOutput,
    ProgramProblem,
    ReferenceRecord,
    TapeSummary,
    reward_of,
    tape_url,
)
from programs.receipt import MAX_KERNELS, MAX_VALUES, ReceiptValue, ReceiptWork
from programs.tape.schema import Tape, TapeLaunch
from programs.worker.gpu.program_times import ProgramTimes, Speedup, speedup_of
from programs.worker.kernel_compiles import BuiltKernel
from programs.worker.program_recordings import ProgramTape, RecordedCase
from programs.worker.replayed import Replayed, ReplayedTensor
from worker.pool.shared_bytes import Body

_MAX_WARNINGS = 100
_MAX_FLAGS = 100
"""Limit of flags in a record, over all cases."""
_OF_THE_CALLER = {"id", "caller", "namespace", "lane"}
"""Members of a job that name its caller or its queue, and change no result."""


@dataclass(frozen=True, slots=True)
class ExperimentResults:
    """The flags that experiments raise, and the share of the work that torch does not do."""

    flags: Sequence[ProgramFlag] = ()
    coverage: float | None = None
    is_complete: bool = True
    """False if some did not end within the time that they had."""


@dataclass(slots=True)
class CaseOutcome:
    """The outcome of one case. `problem` is set if there is no verdict though one was asked for."""

    recorded: RecordedCase | None = None
    kernels: list[ProgramKernel] = field(default_factory=list)
    reference_kernels: list[ProgramKernel] = field(default_factory=list)
    flags: list[ProgramFlag] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    outputs: dict[str, ProgramOutput] = field(default_factory=dict)
    verdict: Verdict | None = None
    peak_bytes: int | None = None
    reference_peak_bytes: int | None = None
    times: ProgramTimes | None = None
    reference_times: ProgramTimes | None = None
    experiments: ExperimentResults | None = None
    """The results of experiments, if they were made on the CPU device."""
    warnings: list[str] = field(default_factory=list)
    problem: ProgramProblem | None = None
    digests: dict[str, dict[str, str]] = field(default_factory=dict)
    """The digest of each stage of the kernels, by compilation key."""
    values: list[ReceiptValue] = field(default_factory=list)
    """The values that it and the reference returned, in all trials."""
    is_compiled: bool = False
    """True if it was recorded and all of its kernels compile."""
    blames_reference: bool = False
    """True if its reference failed in a process that no kernel of the program shared."""

    @property
    def blames_candidate(self) -> bool:
        """True if it has a fault that is not the reference's."""
        is_bad = self.verdict is not None and self.verdict not in GOOD
        return not self.blames_reference and (is_bad or self.problem is not None)

    @property
    def speedup(self) -> Speedup | None:
        """The reference's time divided by its time; None unless both were timed."""
        if self.times is None or self.reference_times is None:
            return None
        return speedup_of(self.times, self.reference_times)

    @property
    def coverage_by_work(self) -> float | None:
        """The share of the work that torch does not do, if experiments measured it."""
        return self.experiments.coverage if self.experiments is not None else None

    @property
    def timed(self) -> dict[str, Any]:
        """The record's fields of times; of work if nothing is timed."""
        if self.times is None:
            share = self.coverage_by_work
            return {} if share is None else {"coverage": share, "coverage_measure": "work"}
        speedup = self.speedup
        return {
            "timing": self.times.timing,
            "entries": list(self.times.entries),
            "coverage": self.times.coverage,
            "coverage_measure": None if self.times.coverage is None else "time",
            "speedup": None if speedup is None else speedup.ratio,
            "speedup_interval": None if speedup is None else speedup.interval,
        }

    @property
    def all_warnings(self) -> list[str]:
        """The warnings of the case, its times and its speedup."""
        times = [timing for timing in (self.times, self.reference_times) if timing is not None]
        warnings = [*self.warnings, *(warning for timing in times for warning in timing.warnings)]
        speedup = self.speedup
        return warnings if speedup is None else [*warnings, *speedup.warnings]

    def take_trial(self, other: "CaseOutcome", trial: int, seed: int) -> None:
        """Adopt the verdict of another trial if that is not good. Times and kernels stay."""
        self.values += other.values[: MAX_VALUES - len(self.values)]
        if other.verdict in GOOD and other.problem is None:
            return
        self.verdict, self.problem = other.verdict, other.problem
        self.blames_reference = other.blames_reference
        self.outputs, self.findings = other.outputs, other.findings
        self.warnings.append(
            f"Trial {trial + 1} is the first that failed. The outputs and findings shown are those "
            f"of its two calls, with the seeds {seed} and {seed + 1}."
        )

    def result(self, index: int, name: str | None) -> ProgramCaseResult:
        """Return the case as it is in the record."""
        return ProgramCaseResult(
            index=index,
            name=name,
            verdict=self.verdict,
            flags=self.flags,
            outputs=self.outputs,
            findings=self.findings,
            peak_bytes=self.peak_bytes,
            reference_timing=self.reference_times.timing if self.reference_times else None,
            problem=self.problem,
            **self.timed,
        )


def launches_of(tape: Tape) -> int:
    """Return the number of launches in one call of the program."""
    return sum(isinstance(op, TapeLaunch) and op.phase == "run" for op in tape.ops)


def with_run(job: ProgramJob, run: CaseOutcome) -> Program:
    """Return the record of a program without cases."""
    program = _with_tapes(new_program(job, "completed"), job, run)
    counts = {} if run.verdict is None and run.problem is None else counted([run])
    return _rewarded(
        amended(
            program,
            state="completed" if run.problem is None else "failed",
            verdict=run.verdict,
            flags=run.flags,
            findings=run.findings,
            outputs=run.outputs,
            peak_bytes=run.peak_bytes,
            counts=counts,
            problem=run.problem,
            **run.timed,
        ),
        job,
        [run],
        compiled=run.is_compiled,
    )


def with_cases(
    job: ProgramJob, names: Sequence[str | None], runs: Sequence[CaseOutcome]
) -> Program:
    """Return the record of a program with cases: the worst verdict, and the count of each.

    A program fails only if none of its cases could run. It passes only if all of them ran.
    """
    ran = [run.verdict for run in runs if run.verdict is not None]
    verdict = worst(ran)
    if verdict is Verdict.PASSED and len(ran) < len(runs):
        verdict = Verdict.NOT_CHECKED
    named = enumerate(zip(names, runs, strict=True))
    flags = [flag for run in runs for flag in run.flags]
    peaks = [run.peak_bytes for run in runs if run.peak_bytes is not None]
    return _rewarded(
        amended(
            _with_tapes(new_program(job, "completed"), job, _first_recorded(runs), of_cases=True),
            state="completed" if ran else "failed",
            verdict=verdict,
            flags=without_excess(flags, _MAX_FLAGS),
            cases=[run.result(index, name) for index, (name, run) in named],
            counts=counted(runs),
            peak_bytes=max(peaks, default=None),
            problem=None if ran else runs[0].problem,
            warnings=list(dict.fromkeys(warning for run in runs for warning in run.all_warnings))[
                :_MAX_WARNINGS
            ],
            speedup=_mean_speedup(runs),
            **_coverage(runs),
        ),
        job,
        runs,
        compiled=_compiled(runs),
    )


def _first_recorded(runs: Sequence[CaseOutcome]) -> CaseOutcome:
    return next((run for run in runs if run.recorded is not None), runs[0])


def _compiled(runs: Sequence[CaseOutcome]) -> bool:
    """Return True if the kernels compile in all recorded cases; a refused case does not count."""
    recorded = [run.is_compiled for run in runs if run.recorded is not None]
    return bool(recorded) and all(recorded)


def counted(runs: Sequence[CaseOutcome]) -> dict[str, int]:
    """Return the number of runs by verdict; `failed` counts those without one."""
    return dict(Counter(str(run.verdict or "failed") for run in runs))


def _mean_speedup(runs: Sequence[CaseOutcome]) -> float | None:
    """Return the geometric mean; None unless every case has a speedup."""
    ratios = [run.speedup.ratio for run in runs if run.speedup is not None]
    return geometric_mean(ratios) if ratios and len(ratios) == len(runs) else None


def _coverage(runs: Sequence[CaseOutcome]) -> dict[str, Any]:
    """Return the fields for the share of all cases' time in kernels, or the mean share of work."""
    times = [run.times for run in runs if run.times is not None]
    total = sum(timing.entries_us for timing in times)
    if total > 0:
        by_kernels = sum(timing.kernels_us for timing in times)
        return {"coverage": by_kernels / total, "coverage_measure": "time"}
    shares = [run.coverage_by_work for run in runs if run.coverage_by_work is not None]
    return {"coverage": fmean(shares), "coverage_measure": "work"} if shares else {}


def _rewarded(
    program: Program, job: ProgramJob, runs: Sequence[CaseOutcome], *, compiled: bool
) -> Program:
    """Add the reward, unless a failed reference is all that is wrong: then nothing was judged."""
    reward = reward_of(program, compiled=compiled, serious=job.serious_flags)
    is_judged = reward.serious or any(run.blames_candidate for run in runs)
    if not is_judged and any(run.blames_reference for run in runs):
        return program
    return amended(program, reward=reward)


def _with_tapes(
    program: Program, job: ProgramJob, run: CaseOutcome, *, of_cases: bool = False
) -> Program:
    """Return `program` with the tapes and kernels of `run`. Each case has its times in `cases`."""
    if run.recorded is None:
        return program
    reference = None
    if run.recorded.reference is not None:
        reference = ReferenceRecord(
            tape=_summary(run.recorded.reference, tape_url(job.id, of_reference=True)),
            kernels=run.reference_kernels,
            peak_bytes=run.reference_peak_bytes,
            timing=run.reference_times.timing if run.reference_times and not of_cases else None,
        )
    return amended(
        program,
        tape=_summary(run.recorded.candidate, tape_url(job.id)),
        kernels=run.kernels,
        reference=reference,
        warnings=run.all_warnings[:_MAX_WARNINGS],
    )


def _summary(recorded: ProgramTape, url: str) -> TapeSummary:
    return TapeSummary(
        ops=len(recorded.tape.ops),
        launches=launches_of(recorded.tape),
        bytes=len(recorded.text),
        url=url,
    )


def values_of(trial: int, replayed: Replayed, reference: Replayed | None) -> list[ReceiptValue]:
    """Return the values that both returned, the reference's first, at most `MAX_VALUES`.

    Their `case` is 0: a case does not know its number.
    """
    values: list[ReceiptValue] = []
    runs: dict[Any, Replayed | None] = {REFERENCE: reference, CANDIDATE: replayed}
    for program, run in runs.items():
        for call, returned in enumerate(run.calls if run is not None else ()):
            tensors = {p: item for p, item in returned.items() if isinstance(item, ReplayedTensor)}
            for path, item in tensors.items():
                if len(values) == MAX_VALUES:
                    return values
                values.append(
                    ReceiptValue(
                        case=0,
                        trial=trial,
                        program=program,
                        call=call,
                        path=path,
                        dtype=item.meta.dtype,
                        shape=list(item.meta.shape),
                        sha256=None if item.unwritten is not None else _digest(item.data),
                    )
                )
    return values


def _digest(data: Body | None) -> str | None:
    if data is None:
        return None
    if isinstance(data, bytes) or not len(data):
        return hashlib.sha256(bytes(data)).hexdigest()
    with mmap.mmap(data.descriptor, len(data), prot=mmap.PROT_READ) as view:  # without a copy
        return hashlib.sha256(view).hexdigest()


def digests_of(kernels: Mapping[str, BuiltKernel]) -> dict[str, dict[str, str]]:
    """Return the digest of each stage of compiled kernels, by key."""
    return {
        key: {stage: artifact.digest for stage, artifact in built.compilation.artifacts.items()}
        for key, built in kernels.items()
    }


def written_work(
    job: ProgramJob,
    triton: str,
    kernels: Mapping[str, dict[str, str]],
    values: Sequence[Sequence[ReceiptValue]],
) -> bytes:
    """Return the worker's part of a receipt as JSON. `values` are those of each case."""
    numbered = [
        amended(value, case=case)
        for case, case_values in enumerate(values)
        for value in case_values
    ]
    work = ReceiptWork(
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
        triton=triton,
        job=job.model_dump(mode="json", exclude=_OF_THE_CALLER),
        kernels=dict(list(kernels.items())[:MAX_KERNELS]),
        values=numbered[:MAX_VALUES],
    )
    return work.model_dump_json().encode()
