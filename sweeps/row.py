"""A row of a sweep's table: what became of one variant. Made by whoever drove it, kept as JSON."""

from dataclasses import asdict, dataclass
from typing import Any, Final

import orjson

LIVING: Final = ("queued", "running")
STATES: Final = (
    *LIVING, "succeeded", "completed", "failed", "cancelled", "refused", "pruned",
)  # fmt: skip
"""`succeeded` is a compilation that did, `completed` a launch that ran, whatever its verdict."""


@dataclass(frozen=True, slots=True)
class Row:
    """One variant; what is not known of it, or does not apply, is None."""

    index: int
    values: dict[str, Any]
    state: str
    compilation_key: str | None = None
    compilation_url: str | None = None
    cache: str | None = None
    registers: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    shared_bytes: int | None = None
    occupancy: float | None = None
    code_bytes: int | None = None
    instruction_mix: dict[str, Any] | None = None
    compile_ms: float | None = None
    launch_id: str | None = None
    launch_url: str | None = None
    verdict: str | None = None
    median_us: float | None = None
    interval_us: tuple[float, float] | None = None
    repeats: int | None = None
    pruned: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None

    def to_json(self) -> bytes:
        """Return the row as it is kept and answered."""
        return orjson.dumps(asdict(self))
