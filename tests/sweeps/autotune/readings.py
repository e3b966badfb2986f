"""Readings of autotuners as a worker would report them."""

from __future__ import annotations

from typing import Any

from compiler.autotune import AutotuneReading, Heuristic, TunedConfig


def config(values: dict[str, Any], **changes: Any) -> TunedConfig:
    options = changes.pop("options", {"num_warps": 4, "num_ctas": 1, "num_stages": 3})
    return TunedConfig(
        values=values, options=options, **{"unsaid": [], "sets_aside": [], **changes}
    )


def heuristic(name: str, expression: str | None, **changes: Any) -> Heuristic:
    said = {"line": 12, "why_not": None, "outside": False, **changes}
    return Heuristic(name=name, expression=expression, **said)


def reading(**changes: Any) -> AutotuneReading:
    said: dict[str, Any] = {
        "kernel": "matmul",
        "line": 20,
        "target": "cuda:90",
        "parameters": ["a", "M", "N", "BM", "BN", "EVEN"],
        "is_autotuned": True,
        "configs": [config({"BM": 64}), config({"BM": 128})],
        "key": ["M", "N"],
        "reset_to_zero": [],
        "restore_value": [],
        "hooks": [],
        "heuristics": [],
        "source_hash": "ab" * 32,
    }
    return AutotuneReading(**{**said, **changes})
