"""Limits of a program's view of the machine from inside its record child."""

from __future__ import annotations

import sys
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[3]
REAL = sorted({str(ROOT), sys.prefix, sys.base_prefix, str(Path(sys.executable).parent)})
LOOK = f"""
import gc, sys, types
roots = [root[::-1] for root in {[root[::-1] for root in REAL]!r}]
found = set()

def look(where, text):
    if any(root in text for root in roots):
        found.add((where, text[:200]))

frame = sys._getframe()
while frame:
    look("frame", frame.f_code.co_filename)
    frame = frame.f_back
for module in list(sys.modules.values()):
    if getattr(module, "__name__", "user") not in ("user", "sys"):
        for name in ("__file__", "__path__", "__spec__", "__cached__"):
            look(module.__name__, repr(vars(module).get(name)))
        for value in list(vars(module).values()):
            if isinstance(value, types.FunctionType):
                look(module.__name__, value.__code__.co_filename)
look("sys", repr((sys.path, sys.argv, sys.orig_argv, sys.prefix, sys.executable)))
look("importers", repr(sys.path_importer_cache))
assert not found, (len(found), sorted(found)[:8])
assert "torch" in sys.modules
"""


def looked_for(programs: httpx.Client, source: str) -> dict[str, object]:
    posted = {"source": source, "entry": {"kind": "script"}, "stop_after": "tape"}
    answer = programs.post("/v1/programs?wait=60", json=posted)
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def test_a_program_is_shown_an_invented_installation(programs: httpx.Client) -> None:
    assert looked_for(programs, LOOK)["problem"] is None
