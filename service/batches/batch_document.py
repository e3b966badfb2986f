"""Describes batches in the OpenAPI document by the kinds of jobs that the features bring."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.batches.batch import BatchRequest
from service.batches.batch_submission import COMPILATIONS
from service.http.openapi import body_of
from service.owned_jobs import OwnedJobs


def describe_batches(
    document: dict[str, Any], owned: Sequence[OwnedJobs[Any]], examples: Mapping[str, Any]
) -> None:
    """Name compilations and `owned` in the schemas of batches; `examples` are bodies by title."""
    collections = [COMPILATIONS, *(jobs.collection for jobs in owned)]
    noun = _listed(["compilation", *(jobs.kind.noun for jobs in owned)], " or ")
    summary = _listed(collections, " or ")
    routes = _listed([f"of POST /v1/{name}" for name in collections], ", or ")
    verdicts = _listed([jobs.collection for jobs in owned], " and ")

    post = document["paths"]["/v1/batches"]["post"]
    post["summary"] = f"Submit many {summary}"
    post["requestBody"] = body_of(BatchRequest, examples)
    for tag in document["tags"]:
        if tag["name"] == "batches":
            tag["description"] = f"Up to 1,000 {summary} in one request."

    schemas = document["components"]["schemas"]
    for name in ("BatchRequest", "Batch"):
        schemas[name]["properties"]["kind"]["enum"] = collections
    for name, member, description in (
        ("BatchRequest", "requests", f"bodies {routes}"),
        ("BatchItem", "url", f"URL of the {noun}; null if refused"),
        ("BatchItem", "result", f"the {noun} once it is over, as its URL answers it"),
        ("Counts", "completed", f"{verdicts}, with any verdict"),
    ):
        schemas[name]["properties"][member]["description"] = description


def _listed(names: Sequence[str], before_the_last: str) -> str:
    *others, last = names
    return f"{', '.join(others)}{before_the_last}{last}" if others else last
