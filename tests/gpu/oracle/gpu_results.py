"""The results of a visit: the buffers of every case after its launch on a GPU."""

import json
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from launch.buffers.allocation import materialise


@dataclass(frozen=True)
class GpuResult:
    """One case with a GPU's result: the elements of each allocation, before and after."""

    case: dict[str, Any]
    folder: Path
    result: dict[str, Any]
    before: dict[str, np.ndarray]
    after: dict[str, np.ndarray]


def results(visit: Path, cases: Path) -> Iterator[GpuResult]:
    """Yield the cases that ran and still exist."""
    archives = [zipfile.ZipFile(path) for path in sorted(visit.glob("changed-*.zip"))]
    where = {name: archive for archive in archives for name in archive.namelist()}
    for result in json.loads((visit / "results.json").read_text()):
        path = cases / result["id"] / "case.json"
        if result["state"] == "ran" and path.exists():
            case = json.loads(path.read_text())
            yield GpuResult(case, path.parent, result, *_buffers(case, where))


def _buffers(case: dict[str, Any], where: dict[str, zipfile.ZipFile]) -> Any:
    before, after = {}, {}
    for allocation in materialise(case["allocations"], case["arguments"], b""):
        name = f"{case['id']}/{allocation.name}"
        before[allocation.name] = allocation.memory
        change = np.frombuffer(zlib.decompress(where[name].read(name)), np.uint8)
        bits = allocation.memory.view(np.uint8) ^ change
        after[allocation.name] = bits.view(allocation.memory.dtype)
    return before, after
