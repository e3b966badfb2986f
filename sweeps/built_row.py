"""Rows from records: what a compilation or a launch contains about its variant."""

from dataclasses import replace

from compiler.compilation import Compilation, Resources, compilation_url
from compiler.diagnostic import clipped
from compiler.problem import Problem, failure_problem
from compiler.rejection import FieldError, RequestRejected
from compiler.stages import BINARY
from launch.request.launch_record import Launch, launch_url
from sweeps.row import SweepRow, read_proof, verdict_reason, with_proof
from sweeps.variant import Variant

MAX_DETAIL_CHARS = 500


def compiled_row(variant: Variant, made: Compilation, cache: str | None) -> SweepRow:
    """Return the row of a variant whose compilation is over."""
    row = SweepRow(variant.index, dict(variant.values), made.state, cache=cache)
    return with_compilation(row, made)


def with_compilation(row: SweepRow, made: Compilation) -> SweepRow:
    """Return the row with its kernel's resources; its state stays, a failure's problem is added."""
    binary = next((made.artifacts[name] for name in sorted(BINARY) if name in made.artifacts), None)
    row = replace(
        row,
        compilation_key=made.key,
        compilation_url=compilation_url(made.key),
        code_bytes=binary.size_bytes if binary else None,
        compile_ms=(made.timings_ms or {}).get("total"),
        problem=row.problem if made.problem is None else _short(made.problem),
    )
    return row if made.resources is None else _with_resources(row, made.resources)


def _with_resources(row: SweepRow, takes: Resources) -> SweepRow:
    return replace(
        row,
        registers=takes.registers,
        spill_store_bytes=takes.spill_store_bytes,
        spill_load_bytes=takes.spill_load_bytes,
        shared_bytes=takes.shared_bytes,
        occupancy=takes.occupancy.ratio if takes.occupancy else None,
    )


def launched_row(row: SweepRow, launch: Launch) -> SweepRow:
    """Return the row of a variant whose launch is over."""
    if launch.compilation is not None:
        row = with_compilation(row, launch.compilation)
    if launch.timing is not None:
        row = replace(
            row,
            median_us=launch.timing.median_us,
            interval_us=launch.timing.interval_us,
            repeats=launch.timing.repeats,
        )
    if launch.proof is not None:
        row = with_proof(row, read_proof(launch.proof))
    return replace(
        row,
        state=launch.state,
        launch_id=launch.id,
        launch_url=launch_url(launch.id),
        verdict=launch.verdict,
        reason=verdict_reason(launch),
        problem=row.problem if launch.problem is None else _short(launch.problem),
    )


def refused_row(variant: Variant, rejected: RequestRejected) -> SweepRow:
    """Return the row of a variant that is not a valid request; pointers are into its own."""
    problem = _refusal(rejected.errors)
    return SweepRow(variant.index, dict(variant.values), "refused", problem=problem)


def failed_row(variant: Variant, problem: Problem) -> SweepRow:
    """Return the row of a variant that cannot be compiled."""
    return SweepRow(variant.index, dict(variant.values), "failed", problem=_short(problem))


def budget_row(variant: Variant, budget_s: float) -> SweepRow:
    """Return the row of a variant that was not over within the sweep's budget."""
    detail = f"it was not over within budget_s = {budget_s:g}"
    pruned = {"reason": "budget", "detail": detail}
    return SweepRow(variant.index, dict(variant.values), "pruned", pruned=pruned)


def _refusal(errors: tuple[FieldError, ...]) -> Problem:
    detail = "; ".join(f"{error.pointer or 'the body'}: {error.message}" for error in errors)
    problem = _short(failure_problem("invalid_request", detail))
    return problem.model_copy(update={"status": 422, "errors": list(errors[:3])})


def _short(problem: Problem) -> Problem:
    """Return a problem as rows have it, its detail clipped."""
    return problem.model_copy(update={"detail": clipped(problem.detail, MAX_DETAIL_CHARS)})
