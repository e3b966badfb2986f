"""A batch on the wire: the body of POST /v1/batches and what is answered."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from compiler.problem import Problem
from compiler.request.compile_request import EXAMPLE as COMPILATION_EXAMPLE
from compiler.request.compile_request import Json
from launch.request.launch_request import EXAMPLE as LAUNCH_EXAMPLE
from programs.program_request import EXAMPLE as PROGRAM_EXAMPLE

MAX_REQUESTS = 1000
Kind = Annotated[
    str,
    Field(max_length=64),
    WithJsonSchema({"type": "string", "enum": ["compilations", "launches", "programs"]}),
]
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
    "one program": {"kind": "programs", "requests": [PROGRAM_EXAMPLE]},
}


class BatchRequest(BaseModel):
    """What to do. Items are looked at one by one, so a wrong one does not spoil the others."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        json_schema_extra={"examples": [*EXAMPLES.values()]},
    )

    kind: Kind
    requests: Annotated[list[Json], Field(min_length=1, max_length=MAX_REQUESTS)] = Field(
        description="bodies of POST /v1/compilations, of POST /v1/launches, or of POST /v1/programs"
    )


class BatchItem(BaseModel):
    """One request of the batch: in the end it has a result or a problem."""

    index: int
    status: int = Field(description="HTTP status that it would have alone: 202 while not over")
    state: ItemState
    url: str | None = Field(
        description="of the compilation, launch or program; null when it was refused"
    )
    result: dict[str, Any] | None = Field(
        description="once it is over: the compilation, launch or program as its URL answers it"
    )
    problem: Problem | None = Field(
        description="why there is no result; its pointers are into the item's own request"
    )


class Counts(BaseModel):
    """Items by state; they add up to all items."""

    queued: int = 0
    running: int = 0
    succeeded: int = Field(default=0, description="compilations")
    completed: int = Field(default=0, description="launches and programs, whatever their verdict")
    failed: int = 0
    cancelled: int = 0
    refused: int = Field(default=0, description="not valid, or no room in the queue")


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
