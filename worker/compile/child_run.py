"""Has a child carry out one order, and checks its report."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from compiler.messages.orders import Order
from compiler.messages.wire import header_of
from compiler.stages import BINARY
from jobs import tracing
from worker.compile.reports import FailureReport, Malformed, Report, read_report
from worker.pool.child_outcome import ChildOutcome
from worker.pool.child_process import MoreTime, OnStage
from worker.pool.pool import Pool
from worker.pool.retry import run_task

_Report = TypeVar("_Report", bound=Report)


@dataclass(frozen=True, slots=True)
class ChildRun(Generic[_Report]):
    """The end of a child. After a normal end there is either a `report` or a `failure`."""

    outcome: ChildOutcome
    report: _Report | None
    failure: FailureReport | None


async def carry_out(
    pool: Pool,
    order: Order,
    body: bytes,
    *,
    deadline_s: float,
    triton: str = "",
    on_stage: OnStage | None = None,
    more_s: MoreTime | None = None,
) -> ChildOutcome:
    """Have a child of `pool` carry out `order`; return how it ended. See `run_task`."""
    with tracing.span(order.task, {}):
        outcome = await run_task(
            pool,
            order.profile,
            header_of(order),
            body,
            deadline_s=deadline_s,
            stages=order.stages,
            on_stage=on_stage,
            more_s=more_s,
            triton=triton,
        )
        tracing.past_steps({stage.name: stage.ms for stage in outcome.stages})
    return outcome


def read_run(outcome: ChildOutcome, model: type[_Report]) -> ChildRun[_Report]:
    """Return the validated report of a child; a result must be a `model`. Raises Malformed."""
    return ChildRun(
        outcome,
        None if outcome.result is None else read_report(model, outcome.result),
        None if outcome.failure is None else read_report(FailureReport, outcome.failure),
    )


def read_stages(order: Order, outcome: ChildOutcome) -> dict[str, bytes]:
    """Return the stages of `outcome` that `order` asks for. Raises Malformed for any other."""
    stages: dict[str, bytes] = {}
    for stage in outcome.stages:
        if stage.name not in order.stages:
            raise Malformed(f"a {order.task} child does not make the stage {stage.name!r}")
        if stage.name not in BINARY and not _is_text(stage.body):
            raise Malformed(f"the stage {stage.name} is not UTF-8 text")
        stages[stage.name] = stage.body
    return stages


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
