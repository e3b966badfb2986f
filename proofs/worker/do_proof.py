"""One claimed proof, to its record: the kernel's TTIR, the proof of it, and what is kept.

Runs in the worker's own process, which reads neither source nor IR.
"""

import json
import logging
import time
from asyncio import to_thread
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from compiler.compilation import Compilation, amended
from compiler.derivation import KINDS, Derivation, DeriveJob, key_of
from compiler.job import CompileJob
from compiler.labelled_digest import labelled_digest
from compiler.languages import titles_with_ttir
from compiler.messages.orders import IrBounds, Order
from compiler.problem import Problem, failure_problem
from compiler.specialization import plain_type
from compiler.target import parse_target
from jobs.core_kinds import COMPILATION, DERIVATION
from jobs.deadline import Deadline, DeadlinePassed
from jobs.submission import JobClient, JobOrder
from launch.contract.guesses import unmarked
from launch.proof.proof_messages import OtherKernel, ProofReport, ProveOrder
from launch.recheck.recheck_messages import (
    FixOrder,
    RecheckedKernel,
    RecheckOrder,
    RecheckReport,
)
from proofs.proof_job import ProofJob, failed_proof, new_proof
from proofs.proof_record import Proof
from proofs.stored_proofs import Proofs
from proofs.worker.kernel_difference import difference_of
from proofs.worker.proof_answers import (
    comparison_of,
    proved_accesses,
    verdict_of,
    without_hints,
)
from proofs.worker.proof_report import read_proof_report, written_proof_report
from proofs.worker.proposed_fix import SourceChange, TriedFix, proposals_of, tried
from proofs.worker.recheck_order import bits_order, log_contradiction, recheck_order
from proofs.worker.recheck_report import read_recheck_report
from proofs.worker.rechecked_report import needs_recheck, rechecked_report, without_rechecks
from store.blobs import Blobs
from store.compilations import Compilations, Derived
from store.errors import CallerBytesFull, StoreUnavailable
from store.events import Events
from store.jobs.types import Priority
from store.launches import LIFE_S
from store.stored import read_stored
from worker.compile.child_task import carry_out
from worker.compile.reports import Malformed
from worker.consumer import Attempt
from worker.launch.kernel_ir import fuses, runtime_paths
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.pool import LazyPool

_TTIR = "ttir"
_COUNTED = "instructions"
MAX_SOURCE_CHARS = 200_000
_MADE = "made"
"""The name of the one blob of a kept proof."""
_ASSUMED = [
    "arguments do not overlap in memory",
    "an address counts elements of its buffer's type",
]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProofContext:
    """The shared objects that proofs work with."""

    client: JobClient
    compilations: Compilations
    blobs: Blobs
    kept: Derived
    events: Events
    proofs: Proofs
    children: LazyPool
    ir_bounds: IrBounds
    code: str
    """The digest of the code that proves."""


class _NoProof(Exception):
    """Ends a proof without an answer."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


async def do_proof(attempt: Attempt[ProofJob], context: ProofContext) -> None:
    """Do a proof and finish its job. Raises StoreUnavailable, ZygoteError."""
    await context.proofs.create(attempt.job.id, attempt.job.caller)  # also if no request did
    run = _ProofRun(attempt, context)
    started = time.monotonic()
    try:
        proof = await run.proof()
    except _NoProof as none:
        proof = failed_proof(attempt.job, none.problem)
    except DeadlinePassed as passed:
        proof = failed_proof(attempt.job, failure_problem("deadline_exceeded", str(passed)))
    except CallerBytesFull as full:
        proof = failed_proof(attempt.job, failure_problem("too_many_requests", str(full)))
    run_ms = (time.monotonic() - started) * 1000
    timings_ms = {
        "queue": attempt.queue_ms,
        "compile": run.compile_ms,
        "run": run_ms - run.compile_ms,
        "total": attempt.queue_ms + run_ms,
    }
    proof = amended(proof, timings_ms={k: round(v, 3) for k, v in timings_ms.items()})
    await attempt.finish(proof, reusable=True, keep_s=LIFE_S)


class _ProofRun:
    def __init__(self, attempt: Attempt[ProofJob], context: ProofContext) -> None:
        self._attempt, self._context, self._job = attempt, context, attempt.job
        self._deadline = Deadline(self._job.deadline_s, attempt.queue_ms / 1000, what="proof")
        self.compile_ms = 0.0
        self._may_differ = False
        """True if another attempt at the same change may end differently."""
        self._lacks_recheck = False
        """True if a child that was to re-check failed, so that another attempt may answer more."""
        self._difference = ""
        """The reason why two kernels of equal TTIR may store other values."""

    async def proof(self) -> Proof:
        """Return the record. Raises _NoProof, DeadlinePassed, CallerBytesFull."""
        job = self._job
        started = time.monotonic()
        compilation = await self._compilation(job.compile_job)
        other = None if job.other is None else await self._compilation(job.other.compile_job)
        self.compile_ms = (time.monotonic() - started) * 1000
        await self._report("compiled", {"compilation_key": job.compile_job.key})
        constants = constants_of(compilation)
        self._difference = "" if other is None else difference_of(compilation, other)
        key = self._key(compilation, constants, other)
        hit = await self._context.kept.hit(key, [_MADE])
        body = None if hit is None else hit.included[_MADE]
        if body is None:
            body = await self._proved(compilation, constants, other)
            if not self._lacks_recheck:
                digest = await self._context.blobs.put(body)
                await self._context.kept.write(key, b"{}", {_MADE: digest})
        report = await to_thread(read_proof_report, body)
        fix = await self._fix(key, report, compilation)
        kernel_key = await self._launched_key(report)
        cache = "miss" if hit is None else "hit"
        proof = await to_thread(self._recorded, report, kernel_key, cache, fix)
        built = [compilation] if other is None else [compilation, other]
        assumed = [f"{a.file}:{a.line}: {a.message}" for each in built for a in each.assumptions]
        assumptions = [*proof.assumptions, *dict.fromkeys(assumed)]
        return amended(proof, kernel=compilation.kernel, assumptions=assumptions)

    async def _fix(self, key: str, report: ProofReport, compilation: Compilation) -> TriedFix:
        """Return the change that proves a refuted access, tried once for each compilation.

        `key` is the report's. Kernels of one TTIR share it, but not the cost of a change.
        """
        job = self._job.compile_job
        if not proposals_of(report):
            return TriedFix()
        key = labelled_digest("proof-fix", [("proof", key), ("compilation", job.key)])
        hit = await self._context.kept.hit(key, [_MADE])
        body = None if hit is None else hit.included[_MADE]
        if body is not None:
            return read_stored(TriedFix, body)
        self._may_differ = False
        keeps = partial(self._keeps_meaning, compilation)
        fix = await tried(
            job, report, self._compiled, self._proved_again, keeps, self._instructions
        )
        if not self._may_differ:
            digest = await self._context.blobs.put(fix.model_dump_json().encode())
            await self._context.kept.write(key, b"{}", {_MADE: digest})
        return fix

    async def _compiled(self, job: CompileJob) -> Compilation | None:
        """Return the compilation of a changed kernel, None if it does not compile."""
        try:
            return await self._compilation(job)
        except _NoProof as none:
            self._may_differ |= none.problem.retryable
            return None

    async def _keeps_meaning(
        self, before: Compilation, after: Compilation, change: SourceChange
    ) -> bool:
        """Return whether a changed kernel stores the same, as far as a child's runs show."""
        texts = [await self._ttir(before), await self._ttir(after)]
        kernels = [
            RecheckedKernel(
                ttir_bytes=len(text),
                contract=unmarked(self._job.contract),
                constants=constants_of(version),
                parameters=parameters_of(version),
                files=list(self._job.compile_job.texts),
                fp_fusion=False,  # a mask may keep a product from its sum
            )
            for version, text in zip((before, after), texts, strict=True)
        ]
        order = FixOrder(
            target=parse_target(before.target),
            kernel=kernels[0],
            other=kernels[1],
            checks=self._job.checks,
            most_size=self._job.limits.size,
            most_elements=self._job.limits.elements,
            ir_bounds=self._context.ir_bounds,
            access=change.access,
            is_masked=change.check == "bounds",
        )
        report = await self._recheck(order, b"".join(texts))
        seen = None if report is None else report.equivalent
        return seen is not None and seen.outcome == "agrees"

    async def _instructions(self, compilation: Compilation) -> dict[str, int] | None:
        """Return a kernel's instructions by class, derived as for any caller; None for none."""
        if not any(stage in compilation.artifacts for stage in KINDS[_COUNTED].needs):
            return None
        order = JobOrder(
            DERIVATION,
            DeriveJob(
                key=key_of(compilation, _COUNTED),
                what=_COUNTED,
                compilation=compilation,
                compile_job=None,
            ),
            self._job.caller,
            Priority(self._job.priority),
            queued_ms=self._deadline.left_ms,
        )
        record = await self._context.client.done_within(self._deadline, order)
        derived = read_stored(Derivation, record)
        content = await self._context.blobs.get(derived.digest) if derived.digest else None
        if content is None:
            self._may_differ = True
            return None
        by_class = (await to_thread(json.loads, content))["by_class"]
        return {name: count for name, count in by_class.items() if count}

    async def _proved_again(self, compilation: Compilation) -> ProofReport | None:
        """Return the report of a changed kernel, None if its child fails."""
        try:
            body = await self._proved(compilation, constants_of(compilation), None)
        except _NoProof as none:
            self._may_differ |= none.problem.retryable
            return None
        return await to_thread(read_proof_report, body)

    async def _launched_key(self, report: ProofReport) -> str:
        """Return the compilation that witnesses launch: one without hints, which they may break."""
        own = self._job.compile_job
        plain = without_hints(own)
        answers = (answer for access in report.accesses for answer in access.answers.values())
        if plain is own or all(answer.witness is None for answer in answers):
            return own.key
        return own.key if await self._compiled(plain) is None else plain.key

    def _recorded(self, report: ProofReport, kernel_key: str, cache: str, fix: TriedFix) -> Proof:
        mistake = report.contract_error
        if mistake is not None:
            where = f"line {mistake.line}, column {mistake.column}"
            detail = f"The contract does not fit the kernel: {where}: {mistake.message}"
            raise _NoProof(failure_problem("invalid_argument", detail, "/contract"))
        accesses = proved_accesses(report, self._job, kernel_key, fix)
        reason = None
        if report.refused:
            line = "" if report.refused_line is None else f"line {report.refused_line}: "
            reason = f"{line}{report.refused}"
        pair = report.equivalent
        compared = None if pair is None else comparison_of(pair, self._job, self._difference)
        verdict = verdict_of(accesses) if compared is None else compared.verdict
        return new_proof(
            self._job,
            "completed",
            verdict="unknown" if report.refused else verdict,
            equivalent=compared,
            reason=reason,
            accesses=accesses,
            assumptions=_ASSUMED,
            cache=cache,
            solver_ms=report.solver_ms,
            effort=report.effort,
        )

    async def _compilation(self, job: CompileJob) -> Compilation:
        context = self._context
        record = await context.compilations.read(job.key)
        if record is None:
            order = JobOrder(
                COMPILATION,
                job,
                self._job.caller,
                Priority(self._job.priority),
                queued_ms=self._deadline.left_ms,
                timeout_ms=int(job.timeout_s * 1000),
            )
            record = await context.client.done_within(self._deadline, order)
        compilation = read_stored(Compilation, record)
        if compilation.state != "succeeded":
            lost = failure_problem("worker_lost", "The kernel was not compiled. Post it again.")
            raise _NoProof(compilation.problem or lost)
        if _TTIR not in compilation.artifacts:
            detail = f"It has no TTIR to prove: only {titles_with_ttir()} kernels have it."
            raise _NoProof(failure_problem("not_derivable", detail))
        return compilation

    async def _ttir(self, compilation: Compilation) -> bytes:
        text = await self._context.blobs.get(compilation.artifacts[_TTIR].digest)
        if text is None:
            detail = "The kernel's TTIR left the cache before it was read. Post the proof again."
            raise _NoProof(failure_problem("worker_lost", detail))
        return text

    async def _proved(
        self, compilation: Compilation, constants: Mapping[str, int], compared: Compilation | None
    ) -> bytes:
        """Have a child prove the kernel; return its report as JSON."""
        job, context = self._job, self._context
        text, other = await self._ttir(compilation), None
        if compared is not None and job.other is not None:
            contract, known = unmarked(job.other.contract), constants_of(compared)
            other = OtherKernel(
                first_bytes=len(text),
                parameters=parameters_of(compared),
                contract=contract,
                constants=known,
                has_same_options=compilation.options == compared.options,
            )
            text += await self._ttir(compared)
        order = ProveOrder(
            target=parse_target(compilation.target),
            files=list(job.compile_job.texts),
            parameters=parameters_of(compilation),
            contract=unmarked(job.contract),
            constants=constants,
            checks=job.checks,
            source=_source_of(job.compile_job),
            other=other,
            most_size=job.limits.size,
            most_elements=job.limits.elements,
            ir_bounds=context.ir_bounds,
        )
        outcome = await self._carried_out(order, text)
        report = await to_thread(_report_of, outcome)
        if needs_recheck(report) and not self._difference:
            report = await self._rechecked(report, order, text)
        return await to_thread(written_proof_report, report)

    async def _rechecked(self, report: ProofReport, order: ProveOrder, text: bytes) -> ProofReport:
        """Have separate children re-check what is proved; what they contradict is unknown."""
        running = recheck_order(order, text, self._job)
        by_running = await self._recheck(running, text)
        of_bits = None if order.other is not None else bits_order(running)
        by_bits = None if of_bits is None else await self._recheck(of_bits, text)
        rechecked, contradictions = rechecked_report(report, by_running, by_bits)
        for broken in contradictions:
            await to_thread(log_contradiction, broken, self._job, order)
        return rechecked

    async def _recheck(self, order: RecheckOrder, text: bytes) -> RecheckReport | None:
        """Return what a re-check saw, None where its child failed."""
        outcome = await self._carried_out(order, text)
        if outcome.ending is Ending.DEADLINE:
            detail = "The re-check of the proof took longer than the proof's deadline_s."
            raise _NoProof(failure_problem("deadline_exceeded", detail))
        try:
            if outcome.result is not None:
                return await to_thread(read_recheck_report, outcome.result)
            logger.warning("%s: %s ended with %s", self._job.id, order.task, outcome.ending)
        except Malformed as error:
            logger.warning("%s: the report of %s: %s", self._job.id, order.task, error)
        self._lacks_recheck = self._may_differ = True
        return None

    async def _carried_out(self, order: Order, text: bytes) -> ChildOutcome:
        pool = await self._context.children.started()
        self._deadline.check()
        return await carry_out(pool, order, text, deadline_s=self._deadline.left_s)

    def _key(
        self, compilation: Compilation, constants: Mapping[str, int], compared: Compilation | None
    ) -> str:
        job = self._job
        other: list[Any] | None = None
        if compared is not None and job.other is not None:
            digest = compared.artifacts[_TTIR].digest
            other = [digest, parameters_of(compared), job.other.contract, constants_of(compared)]
            # re-checks run both kernels, with their own options, unless these differ
            other += [self._difference, fuses(job.compile_job)]
            other.append(compilation.options == compared.options)
        parts = [
            ("ttir", compilation.artifacts[_TTIR].digest),
            ("parameters", parameters_of(compilation)),
            ("contract", job.contract),
            ("constants", dict(constants)),
            ("checks", sorted(job.checks)),
            ("limits", job.limits.model_dump()),
            ("files", sorted(job.compile_job.texts)),
            ("target", compilation.target),
            ("namespace", job.compile_job.namespace),
            ("other", other),
            ("source", _source_of(job.compile_job)),
            ("code", self._context.code),
        ]
        return labelled_digest("proof", parts)

    async def _report(self, kind: str, data: Mapping[str, Any]) -> None:
        """Send an event to followers. If the store refuses it, they miss it."""
        claim = self._attempt.claim
        try:
            await self._context.events.append(claim.id, claim.token, kind, data)
        except StoreUnavailable as error:
            logger.warning("followers of %s miss %s: %s", claim.id, kind, error)


def constants_of(compilation: Compilation) -> dict[str, int]:
    """Return the integers that the kernel was compiled with, by name."""
    constants = {}
    for item in compilation.parameters:
        if item.role == "specialized":
            constants[item.name] = 1
        elif item.role == "constexpr" and type(item.value) is int:
            constants[item.name] = item.value
    return constants


def parameters_of(compilation: Compilation) -> list[str]:
    """Return the names of the parameters of the kernel's TTIR, in order."""
    runtime = [item for item in compilation.parameters if item.role == "runtime"]
    return [path for item in runtime for path in runtime_paths(item.name, plain_type(item.type))]


def _source_of(job: CompileJob) -> str:
    """Return the source to propose changes to; "" without one, or for a long one."""
    source = job.source or ""
    return source if len(source) <= MAX_SOURCE_CHARS else ""


def _report_of(outcome: ChildOutcome) -> ProofReport:
    """Return the report of the prover's child. Raises _NoProof."""
    if outcome.result is not None:
        try:
            return without_rechecks(read_proof_report(outcome.result))
        except Malformed as error:
            raise _NoProof(
                failure_problem("compiler_crashed", f"The prover's report: {error}")
            ) from None
    if outcome.ending is Ending.DEADLINE:
        raise _NoProof(
            failure_problem("deadline_exceeded", "The proof took longer than its deadline_s.")
        )
    if outcome.failure is not None:
        message = str(outcome.failure.get("message", ""))
        slug = str(outcome.failure.get("slug", ""))
        known = slug if slug in ("memory_exceeded", "out_of_resources") else "compiler_crashed"
        raise _NoProof(failure_problem(known, message))
    detail = f"The process that proved the kernel ended with {outcome.ending}: {outcome.detail}"
    raise _NoProof(failure_problem("compiler_crashed", detail))
