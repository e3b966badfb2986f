"""Summaries of compilations, launches, batches, and of other jobs that their caller owns."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from service.lists.own_list import Collection, Summary
from service.state import ServiceState
from store.byte_limits import MAX_LIST_READ_BYTES
from store.jobs.types import Standing

MAX_DETAIL_CHARS = 200
Members = Mapping[str, Any]
Read = Callable[[Members], Summary]
"""Reads a record, or what a job was submitted with."""


async def _compilations(state: ServiceState, keys: Sequence[str]) -> list[Summary | None]:
    standings = await state.jobs.standings(keys, MAX_LIST_READ_BYTES)
    cached = await state.compilations.peek(keys[: len(standings)])
    return [
        summary_of(standing, _kernel_of_record, _kernel_of_job)
        or (None if record is None else read_summary(_kernel_of_record, record))
        for standing, record in zip(standings, cached, strict=True)
    ]


def _kernel_of_record(record: Members) -> Summary:
    named = {name: record[name] for name in ("state", "kernel", "target")}
    return {**named, **failure_of(record)}


def failure_of(record: Members) -> Summary:
    """Return the members that describe a record's failure, none for a result without a problem."""
    problem = record.get("problem")
    if problem is None:
        return {}
    detail = (problem.get("detail") or "").partition("\n")[0][:MAX_DETAIL_CHARS]
    return {"slug": problem["slug"], "detail": detail or None}


def _kernel_of_job(job: Members) -> Summary:
    return {"kernel": job["kernel"], "target": job["target_name"]}


def owned(name: str, of_record: Read, of_job: Read) -> Collection:
    """Return the collection of jobs whose record is kept with their result."""
    return Collection(name, partial(_owned, of_record, of_job))


async def _owned(
    of_record: Read, of_job: Read, state: ServiceState, ids: Sequence[str]
) -> list[Summary | None]:
    standings = await state.jobs.standings(ids, MAX_LIST_READ_BYTES)
    return [summary_of(standing, of_record, of_job) for standing in standings]


def summary_of(standing: Standing, of_record: Read, of_job: Read) -> Summary | None:
    """Return the summary of a job, None when nothing that can be read is kept of it."""
    if standing.record is not None:
        return read_summary(of_record, standing.record)
    if standing.state is None or standing.payload is None:
        return None
    summary = read_summary(of_job, standing.payload)
    return None if summary is None else {**summary, "state": standing.state}


def read_summary(read: Read, stored: bytes) -> Summary | None:
    """Return what `read` finds in a stored document, None in one that another version wrote."""
    try:
        return read(orjson.loads(stored))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


async def _launches(state: ServiceState, ids: Sequence[str]) -> list[Summary | None]:
    standings = await state.jobs.standings(ids, MAX_LIST_READ_BYTES)
    kernels = await state.launches.kernels(ids[: len(standings)])
    summaries = [
        summary_of(standing, _launch_of_record, lambda job: _kernel_of_job(job["compile_job"]))
        for standing in standings
    ]
    return [
        None if summary is None else {**summary, "kernel": summary["kernel"] or kernel}
        for summary, kernel in zip(summaries, kernels, strict=True)
    ]


def _launch_of_record(record: Members) -> Summary:
    compilation, device = record["compilation"] or {}, record["device"] or {}
    return {
        "state": record["state"],
        "verdict": record["verdict"],
        "counts": record["counts"],
        **failure_of(record),
        "kernel": record.get("kernel") or compilation.get("kernel"),
        "target": device.get("target") or compilation.get("target"),
    }


async def _batches(state: ServiceState, ids: Sequence[str]) -> list[Summary | None]:
    return [
        None
        if batch is None
        else {
            "state": "running" if batch.left else "completed",
            "kind": batch.kind,
            "counts": {**batch.ended, "left": batch.left},
        }
        for batch in await state.batches.summaries(ids)
    ]


COMPILATIONS = Collection("compilations", _compilations)
LAUNCHES = Collection("launches", _launches)
BATCHES = Collection("batches", _batches)
