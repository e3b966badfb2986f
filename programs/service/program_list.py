"""The list of programs: a summary of each."""

from service.lists.own_list import Summary
from service.lists.summaries import Members, owned

MOST_CHARS = 100


def _of_record(record: Members) -> Summary:
    names = dict.fromkeys(kernel["name"] for kernel in record["kernels"])
    device = record["device"] or {}
    return {
        "state": record["state"],
        "verdict": record["verdict"],
        "kernel": ", ".join(names)[:MOST_CHARS] or None,
        "target": device.get("target"),
    }


def _of_job(job: Members) -> Summary:
    device = job["device"] or {}
    return {"target": device.get("target")}


LISTED = owned("programs", _of_record, _of_job)
