"""Runs one claimed program, and finishes its job with a record.

This runs in the worker's own process. Children touch the program's code and its values; this
module only passes their reports on, and judges.
"""

import time

from compiler.compilation import amended
from jobs.deadline import Deadline, DeadlinePassed
from launch.request.verdict import GOOD
from programs.program_job import JobCase, ProgramJob, new_program, program_problem
from programs.program_record import Program
from programs.worker.program_attempt import ProgramAttempt, ProgramContext
from programs.worker.program_case import do_case
from programs.worker.program_outcome import CaseOutcome, with_cases, with_run
from programs.worker.program_recordings import Recordings
from store.errors import CallerBytesFull
from store.launches import LIFE_S
from worker.consumer import Attempt
from worker.spent_time import SpentTime


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
    runs = [await _case(run, case, index) for index, case in enumerate(job.cases)]
    if any(one.verdict is not None for one in runs):
        kernels = {key: stages for one in runs for key, stages in one.digests.items()}
        await run.keep_receipt(kernels, [one.values for one in runs])
    if not job.has_cases:
        return with_run(job, runs[0])
    return with_cases(job, [case.name for case in job.cases], runs)


async def _case(attempt: ProgramAttempt, case: JobCase, index: int) -> CaseOutcome:
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
