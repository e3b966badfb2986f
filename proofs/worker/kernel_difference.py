"""The differences of two compilations that can change what an elementwise kernel stores.

A proof compares TTIR. What is made of it depends on the target, the compiler and its options, too.
"""

from typing import Any

from compiler.compilation import Compilation

_WITHOUT_EFFECT = frozenset(
    {
        "num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu", "sched4reg",
        "min_shared_mem", "schedule_hint",
    }
)  # fmt: skip
"""Options that decide where and when an elementwise operation runs, never its result."""
_MAX_VALUE = 60


def difference_of(first: Compilation, other: Compilation) -> str:
    """Return why equal TTIR may store other values, "" where nothing can change them."""
    if first.target != other.target:
        return f"one is compiled for {first.target}, the other for {other.target}"
    for what in ("triton", "ptxas"):
        versions = [getattr(each.toolchain, what) for each in (first, other)]
        if versions[0] != versions[1]:
            return f"{what} {versions[0]} compiles one, {what} {versions[1]} the other"
    for name in sorted((first.options.keys() | other.options.keys()) - _WITHOUT_EFFECT):
        values = [each.options.get(name) for each in (first, other)]
        if values[0] != values[1]:
            return f"{name} is {_shown(values[0])} in one and {_shown(values[1])} in the other"
    return ""


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}..."
