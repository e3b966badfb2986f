"""The data of the events of all jobs, as the OpenAPI document describes them."""

from typing import Literal

from pydantic import BaseModel, Field


class QueuedEvent(BaseModel):
    """The job waits for a worker."""

    priority: Literal["interactive", "batch"]


class StartedEvent(BaseModel):
    """A worker has begun."""

    attempt: int = Field(description="1, or more after a worker was lost")


class StageEvent(BaseModel):
    """A stage of a compilation is made, or was found in the cache."""

    stage: str
    ms: float | None
    size_bytes: int


class CaseEvent(BaseModel):
    """A case is over."""

    index: int
    name: str | None
    verdict: str | None
    problem: str | None = Field(description="the slug of the problem, if there is no verdict")


class ItemEvent(BaseModel):
    """An item of a batch is over."""

    index: int
    state: Literal["succeeded", "completed", "failed", "cancelled", "refused"]


class FinishedEvent(BaseModel):
    """The job is over; GET it for its result. The last event, unless a finding follows."""

    ending: Literal["finished", "cancelled"]


class BatchFinishedEvent(BaseModel):
    """All items are over. The last event."""

    state: Literal["completed"]
