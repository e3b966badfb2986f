"""Posts kernels to a tritond and compares the PTX with that of direct compilation."""

import re
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from corpus.imports import needed_files

TARGET = "cuda:90"
TIMEOUT_S = 120
LONGER_S = 600
MOVED_OF = 4


@dataclass(frozen=True)
class Outcome:
    """The outcome of one kernel over HTTP: `reason` is `None` if the PTX is equal.

    `moved` is the outcome with one more line in the file, for one in `MOVED_OF` equal kernels.
    """

    id: str
    reason: str | None
    direct_ms: float
    ours_ms: float
    was_moved: bool
    moved: str | None
    retried: bool


def request_of(root: Path, plan: dict[str, Any], guess: dict[str, Any]) -> dict[str, Any]:
    """Return the compile request for a plan's kernel: its unchanged file and helper modules."""
    return {
        "source": (root / plan["file"]).read_text(),
        "files": needed_files(root, plan["file"], plan["name"]),
        "kernel": plan["name"],
        "target": TARGET,
        "timeout_s": TIMEOUT_S,
        "include": ["ptx"],
        "stop_after": "ptx",
        **guess,
    }


def outcome_of(
    client: httpx.Client, root: Path, plan: dict[str, Any], direct: dict[str, Any], ptx: str
) -> Outcome:
    """Post one kernel, some again with an added line, and compare."""
    body = request_of(root, plan, plan["guesses"][direct["guess"]])
    started = time.perf_counter()
    answer = _post(client, body)
    retried = (answer.get("problem") or {}).get("slug") == "compile_timeout"
    if retried:
        body["timeout_s"] = LONGER_S
        answer = _post(client, body)
    spent_ms = (time.perf_counter() - started) * 1000
    reason = _reason(answer, ptx, moved=False)
    moved = None
    was_moved = reason is None and zlib.crc32(plan["id"].encode()) % MOVED_OF == 0
    if was_moved:
        later = _post(client, body | {"source": "# a line more\n" + body["source"]})
        moved = _reason(later, ptx, moved=True)
    total_ms = (answer.get("timings_ms") or {}).get("total") or spent_ms
    return Outcome(plan["id"], reason, direct["ms"], total_ms, was_moved, moved, retried)


def _post(client: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post("/v1/compilations?wait=60", json=body)
    result: dict[str, Any] = answer.json()
    while result.get("state") in {"queued", "running"}:
        result = client.get(f"{result['url']}?wait=60&include=ptx").json()
    return result


def _reason(answer: dict[str, Any], ptx: str, *, moved: bool) -> str | None:
    if answer.get("state") != "succeeded":
        problem = answer.get("problem") or answer
        notes = [d["message"] for d in answer.get("diagnostics") or []]
        errors = [str(e) for e in problem.get("errors") or []]
        return " | ".join([str(problem.get("slug")), str(problem.get("detail")), *errors, *notes])
    ours = answer["included"]["ptx"]
    if (_code(ours) == _code(ptx)) if moved else (ours == ptx):
        return None
    return "the PTX differs"


def _code(ptx: str) -> str:
    """Return PTX without line information, which is all that an added line changes."""
    code = ptx.partition(".section\t.debug")[0]
    return re.sub(r"(?m)^\s*\.(?:loc|file)\b.*\n|//.*$", "", code)
