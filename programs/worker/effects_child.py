"""Has children read the TTIRs of a program's kernels, and checks what they report.

The texts come from compiling user code, so this process only passes them on.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import Field

from compiler.messages.wire import header_of
from jobs.deadline import Deadline
from programs.tape.effects_tasks import EffectsOrder
from programs.tape.kernel_effects import KernelEffects
from worker.compile.reports import Malformed, Report, read_report
from worker.pool.lazy_pool import LazyPool
from worker.pool.retry import run_task

LIMIT_S = 60.0
MOST_BODY_BYTES = 16 << 20
"""TTIRs that one child reads, unless one alone is longer."""
_Names = list[Annotated[str, Field(max_length=4_096)]]
logger = logging.getLogger(__name__)


class _Reported(Report):
    """The report of a child."""

    effects: list[Annotated[list[_Names], Field(min_length=2, max_length=2)] | None]


async def effects_of(
    ttirs: Mapping[str, bytes], readers: LazyPool, deadline: Deadline
) -> dict[str, KernelEffects | None]:
    """Return what each of the kernels does to its parameters, by the key of its TTIR.

    None where that is unknown, also because its text cannot be read within the limits of a child.
    Raises DeadlinePassed, ZygoteError.
    """
    found: dict[str, KernelEffects | None] = {}
    for keys in _batches(ttirs):
        pool = await readers.started()
        deadline.check()
        order = EffectsOrder(sizes_bytes=[len(ttirs[key]) for key in keys])
        outcome = await run_task(
            pool,
            order.profile,
            header_of(order),
            b"".join(ttirs[key] for key in keys),
            deadline_s=min(LIMIT_S, deadline.left_s),
        )
        effects = _read(outcome.result, len(keys))
        if effects is None:
            deadline.check()
            logger.warning("the effects of %d kernels are not known: %s", len(keys), outcome.detail)
            effects = [None] * len(keys)
        found |= zip(keys, effects, strict=True)
    return found


def _batches(ttirs: Mapping[str, bytes]) -> Iterator[list[str]]:
    batch: list[str] = []
    size_bytes = 0
    for key, text in ttirs.items():
        if batch and size_bytes + len(text) > MOST_BODY_BYTES:
            yield batch
            batch, size_bytes = [], 0
        batch.append(key)
        size_bytes += len(text)
    if batch:
        yield batch


def _read(result: Mapping[str, object] | None, count: int) -> Sequence[KernelEffects | None] | None:
    """Return what a child reported of `count` kernels, None where it did not."""
    if result is None:
        return None
    try:
        reported = read_report(_Reported, dict(result)).effects
    except Malformed:
        return None
    if len(reported) != count:
        return None
    return [None if one is None else KernelEffects(*map(frozenset, one)) for one in reported]
