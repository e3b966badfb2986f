"""Lists the libraries and processor features that affect the results of a reference."""

import importlib
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

_PROCESSOR = Path("/proc/cpuinfo")
_NAMES = frozenset(
    {"vendor_id", "cpu family", "model", "model name", "CPU implementer", "CPU part"}
)
_PLACES_OF_FEATURES = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")


def libraries() -> dict[str, str]:
    """Return versions of libraries by name, and the processor, whose instructions affect rounding.

    Call this in a zygote, which may read files.
    """
    return {
        "python": sys.version,
        "numpy": np.__version__,
        "ml_dtypes": ml_dtypes.__version__,
        "triton": _version("triton"),
        "machine": platform.machine(),
        "processor": _processor(),
        "instructions": " ".join(sorted(name for name, there in _features().items() if there)),
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _processor() -> str:
    """Return the processor's name in /proc/cpuinfo, by which a BLAS selects its routines."""
    try:
        lines = _PROCESSOR.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    facts = [[side.strip() for side in line.split(":", 1)] for line in lines if ":" in line]
    return ", ".join(sorted({f"{name} {features}" for name, features in facts if name in _NAMES}))


def _features() -> Mapping[str, bool]:
    """Return the CPU features that NumPy detects, by name."""
    for place in _PLACES_OF_FEATURES:
        with suppress(ImportError):
            module: Any = importlib.import_module(place)
            return dict(module.__cpu_features__)
    return {}
