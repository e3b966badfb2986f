"""The data of the events that only programs have, as the OpenAPI document describes them."""

from typing import Literal

from pydantic import BaseModel, Field

Which = Literal["candidate", "reference"]


class RecordedEvent(BaseModel):
    """A tape is recorded."""

    program: Which
    ops: int
    launches: int


class CompiledEvent(BaseModel):
    """A kernel that the program launches is compiled."""

    kernel: str
    state: Literal["succeeded", "failed"]
    compilation_key: str | None


class ReplayedEvent(BaseModel):
    """A tape has run."""

    program: Which
    peak_bytes: int = Field(description="of its tensors")
