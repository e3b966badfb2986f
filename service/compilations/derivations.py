"""Derivations of compilations, and inspections: finds them in the store, or submits their jobs.

Routes render the answers, and workers make the derivations.
"""

import asyncio
from dataclasses import dataclass
from functools import partial

from compiler.autotune import TunedResults
from compiler.compilation import Compilation
from compiler.derivation import (
    AUTOTUNE_CACHE,
    DIFF,
    KINDS,
    ComparedCompilation,
    Derivation,
    DeriveJob,
    diff_key_of,
    key_of,
    tuned_key_of,
)
from compiler.inspection import InspectJob
from compiler.job import CompileJob
from compiler.target import parse_target
from jobs.core_kinds import DERIVATION, INSPECTION
from jobs.deadline import Deadline
from jobs.submission import JobOrder
from service.caller import Caller
from service.compilations.answer import Cache
from service.compilations.retrieval import find_compilation, forget_evicted
from service.http.problems import ProblemRaised
from service.state import ServiceState
from store.stored import read_stored


@dataclass(frozen=True, slots=True)
class DerivationRequest:
    """The caller of a derivation and its deadline; `refresh` makes the derivation again."""

    state: ServiceState
    caller: Caller
    deadline: Deadline
    refresh: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The state of a derivation: the cache's result, and the outcome if it is over."""

    job_id: str
    cache: Cache
    outcome: Derivation | None


async def read_finished(state: ServiceState, caller: Caller, key: str) -> Compilation:
    """Return the compilation `key`. Raises ProblemRaised: 404, or 409 while it is running."""
    answer = await find_compilation(state, caller, key)
    if not answer.is_finished:
        detail = f"The compilation is {answer.state}; ask again, or wait with GET {key}?wait=S"
        raise ProblemRaised("not_finished", detail, headers={"Retry-After": "1"})
    return read_stored(Compilation, answer.record)


def check_stages(compilation: Compilation, what: str) -> None:
    """Raise ProblemRaised (404) when the compilation lacks the stages that `what` needs."""
    needs = KINDS[what].needs
    if any(stage in compilation.artifacts for stage in needs):
        return
    target = parse_target(compilation.target)
    if not any(stage in target.stages for stage in needs):
        detail = f"{what} is not made for {target}: it needs {' or '.join(needs)}"
        raise ProblemRaised("no_such_stage", detail)
    detail = f"{what} needs {' or '.join(needs)}, which the compilation did not reach"
    raise ProblemRaised("stage_not_reached", detail)


async def _kept(asked: DerivationRequest, job_id: str) -> Found | None:
    record = None if asked.refresh else await asked.state.derivations.read(job_id)
    return Found(job_id, "hit", read_stored(Derivation, record)) if record else None


async def derived(asked: DerivationRequest, compilation: Compilation, what: str) -> Found:
    """Return the stored derivation `what`, else the outcome of the job that makes it."""
    check_stages(compilation, what)
    state, id_ = asked.state, key_of(compilation, what)
    if kept := await _kept(asked, id_):
        return kept
    needs_request = KINDS[what].needs_request
    compile_job = await _compile_job(state, compilation) if needs_request else None
    job = DeriveJob(key=id_, what=what, compilation=compilation, compile_job=compile_job)
    return await _submitted(asked, job)


async def tuned(asked: DerivationRequest, compilation: Compilation, results: TunedResults) -> Found:
    """Return the file of Triton's autotuner that keeps `results`, as `derived` does."""
    check_stages(compilation, AUTOTUNE_CACHE)
    state, id_ = asked.state, tuned_key_of(compilation, results)
    if kept := await _kept(asked, id_):
        return kept
    job = DeriveJob(
        key=id_,
        what=AUTOTUNE_CACHE,
        compilation=compilation,
        compile_job=await _compile_job(state, compilation),
        tuned=results,
    )
    return await _submitted(asked, job)


async def compared(
    asked: DerivationRequest, first: Compilation, second: Compilation, stages: tuple[str, ...]
) -> Found:
    """Return the diff of two compilations, as `derived` does.

    Machine code is compared as disassembly, which each compilation's own toolchain makes.
    """
    disassembled = await asyncio.gather(*(_disassembled(asked, c) for c in (first, second)))
    for text in disassembled:
        if text is not None and (text.outcome is None or _is_evicted(text.outcome)):
            return text
    digests = [_digest_of(text) for text in disassembled]
    state, id_ = asked.state, diff_key_of(first, second, digests, stages)
    if kept := await _kept(asked, id_):
        return kept
    comparison = ComparedCompilation(
        compilation=second,
        compile_job=await _compile_job(state, second),
        sass_of_first=digests[0],
        sass=digests[1],
        stages=stages,
    )
    job = DeriveJob(
        key=id_,
        what=DIFF,
        compilation=first,
        compile_job=await _compile_job(state, first),
        compared=comparison,
    )
    return await _submitted(asked, job)


async def _disassembled(asked: DerivationRequest, compilation: Compilation) -> Found | None:
    if "cubin" not in compilation.artifacts:
        return None
    return await derived(asked, compilation, "sass")


def _is_evicted(outcome: Derivation) -> bool:
    return outcome.problem is not None and outcome.problem.slug == "evicted"


def _digest_of(derived: Found | None) -> str | None:
    """Return the digest of a disassembly, None if there is none."""
    if derived is None or derived.outcome is None:
        return None
    problem = derived.outcome.problem
    if problem is not None and problem.slug != "not_derivable":
        raise ProblemRaised(problem.slug, problem.detail)
    return derived.outcome.digest


async def _submitted(asked: DerivationRequest, job: DeriveJob) -> Found:
    client = asked.state.client
    order = JobOrder(DERIVATION, job, asked.caller.id, refresh=asked.refresh)
    submitted, record = await client.submit_and_wait(partial(client.submit, order), asked.deadline)
    outcome = read_stored(Derivation, record) if record is not None else None
    return Found(job.key, submitted.outcome.value, outcome)


async def _compile_job(state: ServiceState, compilation: Compilation) -> CompileJob:
    """Return the posted request. Raises ProblemRaised (410) if it has left the cache."""
    key = compilation.key
    posted = await state.jobs.kept_payload(key) or await state.compilations.request(key)
    if posted is None:
        raise await forget_evicted(state, key)
    return read_stored(CompileJob, posted)


async def inspect(
    state: ServiceState, job: InspectJob, caller: Caller, wait_s: float
) -> tuple[Cache, bytes | None]:
    """Return the cache's result, and the record if it exists within `wait_s`."""
    record = await state.inspections.read(job.key)
    if record is not None:
        return "hit", record
    client, order = state.client, JobOrder(INSPECTION, job, caller.id)
    submit = partial(client.submit, order)
    submitted, record = await client.submit_and_wait(submit, Deadline(wait_s))
    return submitted.outcome.value, record
