"""Where `--emit` writes: rustc's rule, a stage by itself goes to a file named after the source."""

from collections.abc import Sequence
from pathlib import Path

from tritonc.streams import STANDARD

ON_DEMAND = frozenset({"sass"})  # made when first asked for, so never part of the answer


def planned(words: Sequence[str], source_name: str) -> dict[str, str]:
    """Return the path to write for each `STAGE[=PATH]`; `-` is standard output."""
    stem = "kernel" if source_name == STANDARD else Path(source_name).stem
    plan = {}
    for word in words:
        stage, _, path = word.partition("=")
        plan[stage] = path or f"{stem}.{stage}"
    return plan
