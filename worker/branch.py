"""One toolchain that a worker serves: its children, and what the walls around them are worth."""

from dataclasses import dataclass

from worker.pool import Pool
from worker.sandbox_report import SandboxReport


@dataclass(frozen=True, slots=True)
class Branch:
    """A started pool, and what its self-test said; `level` is what is promised of it."""

    pool: Pool
    report: SandboxReport
    level: str
