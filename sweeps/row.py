"""A row of a sweep's table: the result of one variant. The sweep's driver writes it as JSON."""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, get_args

import orjson
from pydantic import BaseModel, Field

from compiler.problem import Problem

LIVING: Final = ("queued", "running")
RowState = Literal[
    "queued", "running", "succeeded", "completed", "failed", "cancelled", "refused", "pruned"
]
"""`succeeded` is a compilation that did, `completed` a launch that ran, whatever its verdict."""
STATES: Final[tuple[str, ...]] = get_args(RowState)


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One variant. What is not known, or does not apply, is null."""

    index: int
    values: Annotated[
        dict[str, Any], Field(description="by axis; null where it keeps the base's value")
    ]
    state: RowState
    compilation_key: str | None = None
    compilation_url: str | None = None
    cache: Annotated[
        str | None, Field(json_schema_extra={"enum": ["hit", "miss", "join", None]})
    ] = None
    registers: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    shared_bytes: int | None = None
    occupancy: Annotated[float | None, Field(description="theoretical, from 0 to 1")] = None
    code_bytes: Annotated[int | None, Field(description="of the machine code's file")] = None
    instruction_mix: Annotated[
        dict[str, Any] | None, Field(description="where `include` names it")
    ] = None
    compile_ms: float | None = None
    proof: Annotated[
        str | None, Field(description="for all sizes of the contract: proved, refuted, ...")
    ] = None
    proof_reason: Annotated[
        str | None, Field(description="the first access that is not proved, or why none is")
    ] = None
    proof_url: str | None = None
    launch_id: str | None = None
    launch_url: str | None = None
    verdict: str | None = None
    reason: Annotated[
        str | None,
        Field(description="why the verdict is what it is: a finding, or how an output differs"),
    ] = None
    median_us: float | None = None
    interval_us: tuple[float, float] | None = None
    repeats: int | None = None
    pruned: Annotated[dict[str, Any] | None, Field(description="why it was not run")] = None
    problem: Problem | None = None

    def to_json(self) -> bytes:
        """Return the row as it is kept and answered."""
        return orjson.dumps(self, default=_said)


def _said(part: Any) -> Any:
    """Return a problem as rows show it: without what is null."""
    if isinstance(part, BaseModel):
        return part.model_dump(mode="json", exclude_none=True)
    raise TypeError(f"{type(part).__name__} cannot be a part of a row")
