"""A batch on the wire: the body of POST /v1/batches and its answer.

Its kinds, and their names in the OpenAPI document, come from the features: see `batch_document.py`.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from compiler.problem import Problem
from compiler.request.compile_request import EXAMPLE as COMPILATION_EXAMPLE
from compiler.request.compile_request import Json
from launch.request.launch_request import EXAMPLE as LAUNCH_EXAMPLE

MAX_REQUESTS = 1000
Kind = Annotated[str, Field(max_length=64), WithJsonSchema({"type": "string", "enum": []})]
ItemState = Literal["queued", "running", "succeeded", "completed", "failed", "cancelled", "refused"]
EXAMPLES: dict[str, Any] = {
    "two versions of one kernel": {
        "kind": "compilations",
        "requests": [
            {**COMPILATION_EXAMPLE, "constexprs": {"BLOCK_SIZE": size}, "include": []}
            for size in (512, 1024)
        ],
    },
    "one launch": {"kind": "launches", "requests": [LAUNCH_EXAMPLE]},
}


class BatchRequest(BaseModel):
    """Up to 1,000 requests of one kind. An invalid item does not affect the others."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        json_schema_extra={"examples": [*EXAMPLES.values()]},
    )

    kind: Kind
    requests: Annotated[list[Json], Field(min_length=1, max_length=MAX_REQUESTS)]


class BatchItem(BaseModel):
    """One request of the batch. When it is over it has a result or a problem."""

    index: int
    status: int = Field(description="HTTP status of the item; 202 while it is not over")
    state: ItemState
    url: str | None
    result: dict[str, Any] | None
    problem: Problem | None = Field(
        description="why there is no result; pointers refer to the item's own request"
    )


class Counts(BaseModel):
    """Number of items in each state; the sum is the number of items."""

    queued: int = 0
    running: int = 0
    succeeded: int = Field(default=0, description="compilations")
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    refused: int = Field(default=0, description="invalid, or the queue was full")


class Batch(BaseModel):
    """A batch as it is now."""

    id: str
    url: str
    kind: Kind
    state: Literal["running", "completed"]
    counts: Counts
    items: list[BatchItem]


def batch_url(batch_id: str) -> str:
    """Return the path of a batch."""
    return f"/v1/batches/{batch_id}"
