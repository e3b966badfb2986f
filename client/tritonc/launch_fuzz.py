"""The report of a launch's fuzzing."""

from collections.abc import Iterator, Mapping
from typing import Any

MOST_LISTED = 8


def fuzz_lines(fuzz: Mapping[str, Any]) -> Iterator[str]:
    """Yield the number of cases, the varied inputs, and the inputs left fixed with reasons."""
    kinds = ", ".join(f"{kind} in {count}" for kind, count in (fuzz.get("kinds") or {}).items())
    left_out = sum((fuzz.get("skipped") or {}).values())
    more = f"; {left_out} more are inconclusive" if left_out else ""
    seed = f" (seed {fuzz.get('seed')}{more})"
    yield f"fuzz: {fuzz.get('cases')} cases{f', {kinds}' if kinds else ''}{seed}"
    yield from _listed("varied", fuzz.get("varied") or ())
    yield from _listed("not varied", fuzz.get("not_varied") or ())


def _listed(how: str, items: Any) -> Iterator[str]:
    listed = list(items)[:MOST_LISTED]
    yield from (f"  {how}: {item}" for item in listed)
    if len(items) > len(listed):
        yield f"  {how}: {len(items) - len(listed)} more"
