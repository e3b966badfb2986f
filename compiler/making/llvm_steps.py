"""Watches what Triton does with LLVM itself after the last MLIR pass: translate, link, optimize."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

_STEPS = {
    "to_module": "translate-to-llvm-ir",
    "link_extern_libs": "link-device-libraries",
    "optimize_module": "llvm-optimize",
}
"""Functions of `triton._C.libtriton.llvm` that are given the whole module first, by our names."""


@dataclass(frozen=True)
class Step:
    """One step, and the module as it was before it."""

    name: str
    before: str


@contextmanager
def watched(lower: Callable[..., Any]) -> Iterator[list[Step]]:
    """Yield the list of the steps that `lower`, a stage of a backend, is about to take."""
    steps: list[Step] = []
    names = vars(sys.modules[_module_of(lower)])
    original = names["llvm"]
    names["llvm"] = _Watched(original, steps)
    try:
        yield steps
    finally:
        names["llvm"] = original


def _module_of(lower: Callable[..., Any]) -> str:
    return str(lower.__module__)


class _Watched:
    """Stands in for the `llvm` module of Triton's C++ side."""

    def __init__(self, original: Any, steps: list[Step]) -> None:
        self._original = original
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._original, name)
        if name not in _STEPS:
            return found

        def noting(module: Any, *arguments: Any, **options: Any) -> Any:
            self._steps.append(Step(_STEPS[name], str(module).strip("\n")))
            return found(module, *arguments, **options)

        return noting
