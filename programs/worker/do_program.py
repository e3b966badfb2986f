"""Runs one claimed program: each case in all its trials, and finishes its job with a record.

A case is recorded, its kernels are compiled, it and its reference are replayed and judged. This
runs in the worker's own process. Children touch the program's code and its values; this module only
passes their reports on, and judges.
"""

import time
from asyncio import to_thread
from collections.abc import Sequence
from itertools import islice
from typing import Final

from compiler.compilation import amended
from compiler.diagnostic import REFERENCE_FILE, USER_FILE
from jobs.deadline import Deadline, DeadlinePassed
from launch.messages import Finding
from launch.request.verdict import GOOD, RunEnding, Verdict
from programs.flag_kinds import FlagKind
from programs.program_job import (
    CANDIDATE,
    REFERENCE,
    JobCase,
    ProgramJob,
    new_program,
    program_problem,
)
from programs.program_record import Program, ProgramFlag, ProgramProblem
from programs.program_request import InputsRequest, cpu_checks
from programs.tape.flags import drawn_on_cuda, flags_of
from programs.worker.experiments import flags_by_time, make_experiments
from programs.worker.gpu.gpu_replay import DeviceProgram, ProgramGpu
from programs.worker.kernel_jobs import TooManyKernels
from programs.worker.output_tolerances import OutputTolerances, output_tolerances
from programs.worker.program_attempt import ProgramAttempt, ProgramContext
from programs.worker.program_comparison import (
    compare,
    differing_parameters,
    is_sound,
    judged,
)
from programs.worker.program_kernels import (
    ProgramKernels,
    compile_kernels,
    launch_without_allocator,
)
from programs.worker.program_outcome import CaseOutcome, digests_of, values_of, with_cases, with_run
from programs.worker.program_recordings import (
    NotRecorded,
    ProgramTape,
    ProgramTexts,
    RecordedCase,
    Recordings,
)
from programs.worker.program_trials import (
    PassedProgram,
    ProgramTrials,
    TriedConfigurations,
    has_further,
    try_configurations,
    tuned_warnings,
)
from programs.worker.replayed import Replayed
from store.errors import CallerBytesFull
from store.launches import LIFE_S
from worker.consumer import Attempt
from worker.launch.comparison import NotCompared
from worker.launch.gpu.iteration_findings import of_module
from worker.spent_time import SpentTime

VALUE_DEPENDENT: Final = "value_dependent"
_FLAGS: Final[dict[str, FlagKind]] = {
    "precision_downgrade": "precision_downgrade",
    "insensitive_output": "insensitive_output",
    "side_effect_missing": "side_effect_missing",
}
"""The findings of a comparison that are also flags, by their kind."""
_EQUAL_INPUTS = (
    "Both calls get the same inputs, because the code that makes them draws the same numbers "
    "twice. A result cached from the first call would go unnoticed. Draw inputs without a seed of "
    "your own, for instance with torch.randn."
)
_NO_EXPERIMENTS = (
    "No experiments were made, so nothing shows how much of the work torch does, except the times: "
    "they need a replay on the CPU device, but {why}"
)
_TOO_LATE = (
    "Not all experiments ended within half of the time that was left, so flags about the work of "
    "torch and about other values may be missing. Ask for more than this deadline_s, or make the "
    "inputs smaller."
)
_ON_ANY_DEVICE = frozenset({str(Verdict.RACE), str(Verdict.OUT_OF_BOUNDS)})
"""Findings of the CPU device that a GPU cannot make."""
_CPU_BESIDE_GPU_S = 60.0
"""Limit of the experiments on a program that ran on a GPU."""
_MAX_KEPT = 20
"""Limit of findings about kernels that could keep state."""


async def do_program(attempt: Attempt[ProgramJob], context: ProgramContext) -> None:
    """Run a program and finish its job.

    Raises StoreUnavailable, ZygoteError, DeviceCordoned; another attempt may then succeed.
    """
    started = time.monotonic()
    spent = SpentTime()
    program = await _done(attempt, context, spent)
    run_ms = (time.monotonic() - started) * 1000
    if context.gpu is not None and context.gpu.device is not None:
        program = amended(program, device=context.gpu.device)
    queue_ms = attempt.queue_ms
    timings_ms = {"queue": queue_ms, **spent.ms, "run": run_ms, "total": queue_ms + run_ms}
    program = amended(program, timings_ms={k: round(v, 3) for k, v in timings_ms.items()})
    # reusable: a submit with the same idempotency key that comes a moment late gets this record
    await attempt.finish(program, reusable=True, keep_s=LIFE_S)


async def _done(attempt: Attempt[ProgramJob], context: ProgramContext, spent: SpentTime) -> Program:
    try:
        return await _program(attempt, context, spent)
    except DeadlinePassed as passed:
        problem = program_problem("deadline_exceeded", str(passed))
    except CallerBytesFull as full:
        problem = program_problem("too_many_requests", str(full))
    return new_program(attempt.job, "failed", problem=problem)


async def _program(
    attempt: Attempt[ProgramJob], context: ProgramContext, spent: SpentTime
) -> Program:
    job = attempt.job
    deadline = Deadline(job.deadline_s, attempt.queue_ms / 1000, what="program")
    children = context.children
    if context.gpu is None:
        pool, _ = await children.started()
    else:
        context.gpu.launchers.warm_programs(context.gpu.ordinal, job.caller)
        pool = await children.recorder.started()
    recordings = Recordings(job, pool, deadline, context.tapes)
    run = ProgramAttempt(attempt.claim, job, context, deadline, recordings, spent)
    runs = [await _trials(run, case, index) for index, case in enumerate(job.cases)]
    if any(outcome.verdict is not None for outcome in runs):
        kernels = {key: stages for outcome in runs for key, stages in outcome.digests.items()}
        await run.keep_receipt(kernels, [outcome.values for outcome in runs])
    if not job.has_cases:
        return with_run(job, runs[0])
    return with_cases(job, [case.name for case in job.cases], runs)


async def _trials(attempt: ProgramAttempt, case: JobCase, index: int) -> CaseOutcome:
    run = await do_case(attempt, case.inputs)
    for trial in range(1, attempt.job.trials):
        if run.verdict not in GOOD:
            break
        again = attempt.again(trial)
        run.take_trial(await do_case(again, case.inputs), trial, again.seed)
    if attempt.job.has_cases:
        verdict = None if run.verdict is None else str(run.verdict)
        problem = None if run.problem is None else run.problem.slug
        event = {"index": index, "name": case.name, "verdict": verdict, "problem": problem}
        await attempt.report("case", event)
    return run


async def do_case(attempt: ProgramAttempt, inputs: InputsRequest | None) -> CaseOutcome:
    """Return the outcome of the program on `inputs`; None: on the inputs that its code makes.

    Raises DeadlinePassed, CallerBytesFull, ZygoteError.
    """
    case = _Case(attempt)
    try:
        await case.do(inputs)
    except NotRecorded as refused:
        case.outcome.problem = refused.problem
        case.outcome.blames_reference = refused.problem.program == REFERENCE
        case.outcome.flags += _flags_of_refusal(refused.problem)
    except TooManyKernels as many:
        case.outcome.problem = program_problem("invalid_argument", str(many))
    except NotCompared as failed:
        case.outcome.problem = program_problem("worker_lost", str(failed))
    return case.outcome


async def _tape_flags(recorded: RecordedCase, kernels: ProgramKernels) -> list[ProgramFlag]:
    """Return the flags of a candidate's tape, given its kernels as far as they compiled."""
    reference = None if recorded.reference is None else recorded.reference.tape
    # in a thread: the tape may be long
    flags = await to_thread(lambda: flags_of(recorded.candidate.tape, kernels.effects(), reference))
    return [
        ProgramFlag(kind=flag.kind, message=flag.message, file=flag.file, line=flag.line)
        for flag in flags
    ]


def _flags_of_refusal(problem: ProgramProblem) -> list[ProgramFlag]:
    if problem.reason != VALUE_DEPENDENT or problem.program != CANDIDATE:
        return []
    message = "Its control flow depends on values of tensors, which it reads."
    return [
        ProgramFlag(kind=VALUE_DEPENDENT, message=message, file=problem.file, line=problem.line)
    ]


class _Case:
    def __init__(self, attempt: ProgramAttempt) -> None:
        self._attempt = attempt
        self._tolerances = OutputTolerances(attempt.job.tolerance)
        self.outcome = CaseOutcome()

    async def do(self, inputs: InputsRequest | None) -> None:
        attempt, outcome = self._attempt, self.outcome
        recorded = outcome.recorded = await attempt.record(inputs)
        outcome.flags += recorded.candidate.attempts
        if attempt.job.stop_after == "tape":
            return
        compiled = await self._compiled(recorded.candidate, attempt.recordings.texts)
        outcome.digests |= digests_of(compiled.compiled)
        outcome.kernels = compiled.answered
        outcome.problem = compiled.problem(CANDIDATE)
        outcome.is_compiled = outcome.problem is None
        outcome.flags += await _tape_flags(recorded, compiled)
        if attempt.job.stop_after == "kernels" or not outcome.is_compiled:
            return
        # in a thread: the tape may be long
        if recorded.reference is not None and await to_thread(recorded.makes_equal_inputs):
            outcome.warnings.append(_EQUAL_INPUTS)
        gpu = attempt.runs_on
        if gpu is None:
            await self._run(recorded, compiled)
        else:
            await self._run_on(gpu, recorded, compiled)
            if outcome.verdict is Verdict.PASSED and recorded.reference and not attempt.trial:
                await self._experiment_beside_gpu(inputs)

    async def _experiment_beside_gpu(self, inputs: InputsRequest | None) -> None:
        """Make experiments on the CPU device, if the program passes there, too."""
        attempt, outcome = self._attempt, self.outcome
        try:
            there = await do_case(attempt.on_cpu(_CPU_BESIDE_GPU_S), inputs)
        except DeadlinePassed:
            why = f"it takes more than {_CPU_BESIDE_GPU_S:g} s there"
        else:
            if there.experiments is not None:
                outcome.flags += there.experiments.flags
                outcome.warnings += [] if there.experiments.is_complete else [_TOO_LATE]
                return
            outcome.findings += [
                finding for finding in there.findings if finding.kind in _ON_ANY_DEVICE
            ]
            problem = there.problem
            why = f"the verdict is {there.verdict}" if problem is None else problem.detail
        outcome.warnings.append(_NO_EXPERIMENTS.format(why=why or "unknown"))
        if outcome.recorded and outcome.times and outcome.reference_times:
            tape, reference_us = outcome.recorded.candidate.tape, outcome.reference_times.timing
            outcome.flags += flags_by_time(tape, outcome.times.entries, reference_us.median_us)

    async def _compiled(self, recorded: ProgramTape, texts: ProgramTexts) -> ProgramKernels:
        attempt = self._attempt
        with_variants = attempt.job.stop_after == "kernels" or attempt.runs_on is not None
        with attempt.spent.on("compile"):
            compiled = await compile_kernels(
                recorded.tape,
                attempt.kernel_jobs(texts),
                attempt.compiles,
                all_variants=with_variants,
                on_cpu=not with_variants,
            )
        for kernel in compiled.answered if not attempt.trial else ():
            state = "succeeded" if kernel.problem is None else "failed"
            key = kernel.compilation_key
            event = {"kernel": kernel.name, "state": state, "compilation_key": key}
            await attempt.report("compiled", event)
        return compiled

    async def _run(self, recorded: RecordedCase, compiled: ProgramKernels) -> None:
        """Replay the program and its reference, if it has one, on the CPU device; judge."""
        outcome, reference, kernels = self.outcome, None, None
        if (program := recorded.reference) is not None:
            if (kernels := await self._reference_kernels(program)) is None:
                return
            reference = await self._reference(recorded, program, kernels)
            if outcome.problem is not None:
                return
        replayed = await self._replayed(recorded, compiled)
        if replayed.ending is RunEnding.FINISHED:
            # in a thread: the tape may be long
            drawn = await to_thread(drawn_on_cuda, compiled.tape, compiled.effects())
            outcome.warnings += [drawn] if drawn is not None else []
        await self._take(recorded, compiled, replayed, reference)
        tried = None
        if program is not None and kernels is not None and reference is not None:
            both = (compiled, replayed), (kernels, reference)
            passed = PassedProgram(recorded, *both[0], program, *both[1])
            tried = await self._try_configurations(passed)
            await self._experiment(passed)
        ran = {} if tried is None else tried.ran
        outcome.warnings += tuned_warnings(compiled.tape, compiled.numbers, ran)

    async def _try_configurations(self, passed: PassedProgram) -> TriedConfigurations | None:
        """Run the configurations that neither call ran, once for all trials, if it passed."""
        attempt, outcome = self._attempt, self.outcome
        if (
            outcome.verdict is not Verdict.PASSED
            or attempt.trial
            or not has_further(passed.kernels)
        ):
            return None
        jobs = attempt.kernel_jobs(attempt.recordings.texts)
        with attempt.spent.on("configurations"):
            every = await compile_kernels(
                passed.kernels.tape, jobs, attempt.compiles, all_variants=True, on_cpu=True
            )
            outcome.digests |= digests_of(every.compiled)
            tried = await try_configurations(
                ProgramTrials(attempt, passed, self._tolerances), every
            )
        outcome.findings += tried.findings
        outcome.problem = tried.problem
        outcome.verdict = None if tried.problem else tried.verdict or outcome.verdict
        return tried

    async def _experiment(self, passed: PassedProgram) -> None:
        """Make experiments, once for all trials, if the program passed."""
        attempt, outcome = self._attempt, self.outcome
        if outcome.verdict is not Verdict.PASSED or attempt.trial:
            return
        with attempt.spent.on("experiments"):
            trials = ProgramTrials(attempt.in_half_the_time(), passed, self._tolerances)
            experiments = await make_experiments(trials)
        if not experiments.is_complete:
            outcome.warnings.append(_TOO_LATE)
        causes = [flag for flag in outcome.flags if flag.kind == "precision_downgrade"]
        # a flag with a line is more useful than one by the error alone
        outcome.flags += [
            flag for flag in experiments.flags if not causes or flag.kind != causes[0].kind
        ]
        outcome.experiments = experiments

    async def _replayed(self, recorded: RecordedCase, compiled: ProgramKernels) -> Replayed:
        """Replay the candidate, unless Triton would refuse one of its launches."""
        refused = refused_launch(compiled)
        if refused is not None:
            return refused
        inputs = recorded.inputs_of(recorded.candidate)
        return await self._attempt.replay(recorded.candidate, compiled, inputs, CANDIDATE)

    async def _run_on(
        self, gpu: ProgramGpu, recorded: RecordedCase, compiled: ProgramKernels
    ) -> None:
        """Wait for room on the GPU, replay the program and its reference there; judge."""
        attempt, program, kernels = self._attempt, recorded.reference, None
        if program is not None and (kernels := await self._reference_kernels(program)) is None:
            return
        refused = refused_launch(compiled)
        if refused is not None:
            await self._take(recorded, compiled, refused, None)
            return
        caller, deadline = attempt.job.caller, attempt.deadline
        reference = program.tape if program is not None else None
        async with gpu.room_for(recorded.candidate.tape, reference, caller, deadline):
            await self._run_in_turn(gpu, recorded, compiled, kernels)

    async def _run_in_turn(
        self,
        gpu: ProgramGpu,
        recorded: RecordedCase,
        compiled: ProgramKernels,
        kernels: ProgramKernels | None,
    ) -> None:
        """Replay the program, and its reference with its `kernels` if it has one; judge."""
        attempt, outcome, program = self._attempt, self.outcome, recorded.reference
        inputs = recorded.inputs_of(recorded.candidate)
        candidate = device_program(recorded.candidate, compiled, inputs, CANDIDATE)
        device_reference = None
        if program is not None and kernels is not None:
            device_reference = device_program(
                program, kernels, recorded.inputs_of(program), REFERENCE
            )
        replayed, reference = await attempt.replays_on(gpu, self._tolerances).both(
            candidate, device_reference
        )
        outcome.kernels = compiled.answered_with(replayed.variants)
        outcome.times = replayed.times
        outcome.warnings += compiled.left_out_warnings + _untimed("The program", replayed)
        outcome.findings += replayed.kept
        outcome.findings += _kept_by_modules(replayed, attempt.recordings.texts)
        if reference is not None and kernels is not None:
            self._take_reference(reference)
            outcome.reference_kernels = kernels.answered_with(reference.variants)
            outcome.reference_times = reference.times
            outcome.warnings += _untimed("The reference", reference)
            if outcome.problem is not None:
                return
        with attempt.spent.on("compare"):
            await self._take(recorded, compiled, replayed, reference)

    async def _take(
        self,
        recorded: RecordedCase,
        compiled: ProgramKernels,
        replayed: Replayed,
        reference: Replayed | None,
    ) -> None:
        """Judge the replays of both."""
        outcome = self.outcome
        outcome.peak_bytes = replayed.peak_bytes
        outcome.findings += [*replayed.findings, *compiled.warnings]
        outcome.problem = replayed.problem
        if outcome.problem is None:
            await self._judge(replayed, reference, compiled.questionable_irs)
            self._look_at_parameters(recorded, replayed, reference)
            # in a thread: values may be long
            outcome.values = await to_thread(values_of, self._attempt.trial, replayed, reference)

    async def _reference(
        self, recorded: RecordedCase, program: ProgramTape, kernels: ProgramKernels
    ) -> Replayed:
        """Return the replay of the reference."""
        inputs = recorded.inputs_of(program)
        replayed = refused_launch(kernels) or await self._attempt.replay(
            program, kernels, inputs, REFERENCE
        )
        self._take_reference(replayed)
        return replayed

    async def _reference_kernels(self, program: ProgramTape) -> ProgramKernels | None:
        """Return the reference's kernels; None if they fail: see the outcome's problem."""
        texts = self._attempt.recordings.reference_texts
        assert texts is not None
        try:
            compiled = await self._compiled(program, texts)
        except TooManyKernels as many:
            problem = program_problem("invalid_argument", str(many), program=REFERENCE)
            raise NotRecorded(problem) from None
        self.outcome.reference_kernels = compiled.answered
        self.outcome.digests |= digests_of(compiled.compiled)
        self.outcome.problem = compiled.problem(REFERENCE)
        self.outcome.blames_reference = self.outcome.problem is not None
        # in a thread: the tape may be long
        self._tolerances = await to_thread(
            output_tolerances, self._attempt.job.tolerance, program.tape, compiled.effects()
        )
        return compiled if self.outcome.problem is None else None

    def _take_reference(self, replayed: Replayed) -> None:
        self.outcome.reference_peak_bytes = replayed.peak_bytes
        self.outcome.problem = replayed.problem
        self.outcome.blames_reference = replayed.problem is not None and replayed.is_apart

    async def _judge(
        self, replayed: Replayed, reference: Replayed | None, irs: Sequence[bytes]
    ) -> None:
        outcome, job = self.outcome, self._attempt.job
        believed = reference
        if reference is not None and not is_sound(reference):
            outcome.findings.append(_failure_of_reference(reference))
            outcome.blames_reference = reference.is_apart
            believed = None
        pool = self._attempt.context.comparing
        compared = await compare(pool, replayed, believed, self._tolerances, irs)
        outcome.warnings += self._tolerances.warnings(
            (path, output.summary.dtype)
            for path, output in compared.outputs.items()
            if output.summary is not None and output.comparison is not None
        )
        if believed is not None and all(compared.matches):
            compared.matches += [False] * len(replayed.wrong_turns)
            compared.findings += replayed.wrong_turns
        if reference is not None and compared.unmatchable is not None:
            outcome.findings.append(compared.unmatchable)
            outcome.blames_reference = reference.is_apart
        outcome.outputs = compared.outputs
        outcome.findings += compared.findings
        outcome.flags += _flags_of_findings(compared.findings)
        is_on_gpu = self._attempt.runs_on is not None
        checks = job.checks or () if is_on_gpu else cpu_checks(job.checks)
        outcome.verdict = judged(replayed, reference, compared, checks)

    def _look_at_parameters(
        self, recorded: RecordedCase, replayed: Replayed, reference: Replayed | None
    ) -> None:
        """Add a finding to a mismatch if the parameters already differ."""
        if self.outcome.verdict is not Verdict.MISMATCH:
            return
        if reference is None or recorded.reference is None:
            return
        tapes = recorded.candidate.tape, recorded.reference.tape
        difference = differing_parameters(replayed, tapes[0], reference, tapes[1])
        if difference is not None:
            self.outcome.findings.append(difference)


def refused_launch(kernels: ProgramKernels) -> Replayed | None:
    """Return the ending of a program at a launch that Triton refuses, None without one."""
    finding = launch_without_allocator(kernels)
    if finding is None:
        return None
    replayed = Replayed()
    replayed.end(RunEnding.CRASHED, finding)
    return replayed


def device_program(
    program: ProgramTape, kernels: ProgramKernels, inputs_text: bytes | None, role: str
) -> DeviceProgram:
    """Return a program for a GPU. The tape `inputs_text` makes its inputs; None: its own does."""
    return DeviceProgram(
        tape=program.tape,
        text=program.text,
        kernels=kernels,
        inputs_text=inputs_text,
        role=role,
    )


def _untimed(whose: str, replayed: Replayed) -> list[str]:
    why = replayed.untimed.removeprefix("It was not timed: ")
    return [f"{whose} has no time: {why}"] if why else []


def _kept_by_modules(replayed: Replayed, texts: ProgramTexts) -> list[Finding]:
    """Return findings about state that the program's kernels could keep between runs."""
    sources = {USER_FILE: texts.source, **texts.files}
    kept = (finding for state in replayed.module_states for finding in of_module(state, sources))
    return list(islice(kept, _MAX_KEPT))


def _flags_of_findings(findings: Sequence[Finding]) -> list[ProgramFlag]:
    return [
        ProgramFlag(
            kind=_FLAGS[finding.kind], message=finding.message, file=finding.file, line=finding.line
        )
        for finding in findings
        if finding.kind in _FLAGS
    ]


def _failure_of_reference(reference: Replayed) -> Finding:
    """Return why the reference's results cannot be compared with."""
    first = next(iter(reference.findings), None)
    why = first.message if first is not None else f"its run ended as {reference.ending}."
    file = first.file if first is not None else None
    return Finding(
        kind=str(Verdict.INVALID_REFERENCE),
        message=f"The reference failed, so there is nothing to compare with: {why}",
        file=REFERENCE_FILE if file == USER_FILE else file,
        line=first.line if first is not None else None,
    )
