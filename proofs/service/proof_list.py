"""The list of proofs: a summary of each."""

from service.lists.own_list import Summary
from service.lists.summaries import Members, failure_of, owned


def _of_record(record: Members) -> Summary:
    named = {name: record.get(name) for name in ("state", "verdict", "kernel", "target")}
    return {**named, **failure_of(record)}


def _of_job(job: Members) -> Summary:
    compiled = job["compile_job"]
    return {"kernel": compiled["kernel"], "target": compiled["target_name"]}


LISTED = owned("proofs", _of_record, _of_job)
