"""The list of sweeps: a summary of each."""

from collections.abc import Mapping, Sequence

from service.lists.own_list import Collection, Summary
from service.lists.summaries import Members, read_summary, summary_of
from service.state import ServiceState
from store.byte_limits import MAX_LIST_READ_BYTES
from store.jobs.types import Standing
from sweeps.stored_sweeps import Sweeps


async def _summaries(state: ServiceState, ids: Sequence[str]) -> list[Summary | None]:
    standings = await state.jobs.standings(ids, MAX_LIST_READ_BYTES)
    over = await state.store(Sweeps).rows_over(ids[: len(standings)])
    return [_summary(standing, counts) for standing, counts in zip(standings, over, strict=True)]


def _summary(standing: Standing, over: Mapping[str, int]) -> Summary | None:
    summary = summary_of(standing, _of_end, _of_job)
    job = None if standing.payload is None else read_summary(_of_job, standing.payload)
    if summary is None or job is None:
        return None
    return {**job, **summary, "counts": {**job["counts"], **over}}


def _of_end(end: Members) -> Summary:
    return {"state": end["state"]}


def _of_job(job: Members) -> Summary:
    plan = job["plan"]
    base = plan["base"]
    kernel = base.get("compilation", {}) if plan["kind"] == "launches" else base
    return {
        "kind": plan["kind"],
        "kernel": kernel.get("kernel"),
        "target": kernel.get("target"),
        "counts": {"total": len(plan["chosen"])},
    }


SWEEPS = Collection("sweeps", _summaries)
