"""The list of sweeps: a summary of each."""

from collections.abc import Sequence
from typing import Any

import orjson

from service.lists.own_list import READ_BYTES, Collection, Summary
from service.state import ServiceState
from store.jobs.types import Standing
from sweeps.stored_sweeps import Sweeps


async def _summaries(state: ServiceState, ids: Sequence[str]) -> list[Summary | None]:
    standings = await state.jobs.standings(ids, READ_BYTES)
    over = await state.store(Sweeps).rows_over(ids[: len(standings)])
    return [_summary(standing, count) for standing, count in zip(standings, over, strict=True)]


def _summary(standing: Standing, over: int) -> Summary | None:
    if standing.payload is None:
        return None
    end: dict[str, Any] = {"state": standing.state}
    if standing.record is not None:
        end = orjson.loads(standing.record)
    plan = orjson.loads(standing.payload).get("plan")
    if plan is None:  # the job of another version, which cannot be read here
        return None
    base = plan["base"]
    kernel = base.get("compilation", {}) if plan["kind"] == "launches" else base
    return {
        "state": end["state"],
        "kind": plan["kind"],
        "kernel": kernel.get("kernel"),
        "target": kernel.get("target"),
        "counts": {"over": over, "total": len(plan["chosen"])},
    }


SWEEPS = Collection("sweeps", _summaries)
