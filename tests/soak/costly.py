"""Requests of two inputs at their limits, which multiplied into unbounded work or bytes once.

`tests.cost_fuzz` measures each alone. Here they come while everything else goes on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from tests.cost_fuzz import vocabulary as words

Body = Callable[[str], dict[str, Any]]
End = tuple[str, str | None]
"""The state and the verdict of a job that is over."""
_PROOF = {
    "signature": words.SIGNATURE,
    "constexprs": {"B": 16},
    "contract": words.ADD_CONTRACT,
    "deadline_s": 120,
}
_KERNEL = {"constexprs": {"B": 16}, "target": "cuda:90"}


def _many_constexprs(comment: str) -> dict[str, Any]:
    return {
        "source": words.HEADER + comment,
        "kernel": "kernel",
        "constexprs": {f"C{n}": 3 + 2 * n for n in range(60)},
        "cases": words.values("ProofRequest", "cases", 0)["scalars"],
    }


def _refuted_accesses(comment: str) -> dict[str, Any]:
    return _PROOF | {"source": words.padded(words.storing(40), 400_000) + comment}


def _a_long_patch(comment: str) -> dict[str, Any]:
    return _PROOF | {"source": words.short_lines(66_000, 105) + comment}


def _many_cases(comment: str) -> dict[str, Any]:
    cases = [{"arguments": words.add_arguments(128 + n)} for n in range(100)]
    kernel = _KERNEL | {"source": words.padded(words.ADD, 900_000) + comment}
    return {
        "compilation": kernel,
        "device": "cpu",
        "grid": ["cdiv(n, B)"],
        "arguments": words.add_arguments(),
        "cases": cases,
    }


COSTLY: Mapping[str, tuple[str, Body, End]] = {
    "many constexprs x cases": ("/v1/proofs", _many_constexprs, ("failed", None)),
    "refuted accesses x source": ("/v1/proofs", _refuted_accesses, ("completed", "refuted")),
    "a long patch": ("/v1/proofs", _a_long_patch, ("completed", "refuted")),
    "cases x source": ("/v1/launches", _many_cases, ("completed", "not_checked")),
}
"""The path, the body with a comment, and the state and verdict that it ends with."""


def costly(chance: random.Random, number: int) -> tuple[str, dict[str, Any], End]:
    """Return one of them, which no cache knows."""
    path, body, end = COSTLY[chance.choice(sorted(COSTLY))]
    return path, body(f"\n# {number}\n"), end
