"""The service neither runs nor unpickles its input: none of its modules could."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
RUNS_TEXT = re.compile(r"(?<![\w.])(?:compile|eval|exec)\(")
PARSES_TEXT = re.compile(r"\bast\.(?:parse|literal_eval)\(|\bfrom ast import\b")
UNPICKLES = re.compile(
    r"^\s*(import|from) (cloudpickle|dill|joblib|marshal|pickle|shelve)\b"
    r"|torch\.load\(|allow_pickle=True",
    re.MULTILINE,
)
LOADED = """
import json, sys
import service.application, service.application, service.server
paths = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
print(json.dumps([path for path in paths if path]))
"""


@pytest.fixture(scope="module")
def loaded() -> dict[str, str]:
    """Return the text of each project file that a service may load, by its path.

    A process reports the modules that it starts with. Files of its package that load later count,
    too.
    """
    done = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    paths = {*map(Path, json.loads(done.stdout)), *(ROOT / "service").rglob("*.py")}
    below = sorted(path.relative_to(ROOT) for path in paths if path.is_relative_to(ROOT))
    return {str(path): (ROOT / path).read_text() for path in below if path.parts[0] in PACKAGES}


def test_all_of_a_service_is_looked_at(loaded):
    assert len(loaded) > 100
    assert "launch/formula.py" in loaded


def test_no_module_of_a_service_runs_a_text(loaded):
    assert [path for path, text in loaded.items() if RUNS_TEXT.search(text)] == []


def test_formulas_and_headers_of_npy_are_all_that_a_service_parses(loaded):
    """The service bounds both before Python's parser reads them, and evaluates neither."""
    assert [path for path, text in loaded.items() if PARSES_TEXT.search(text)] == [
        "launch/buffers/npy_header.py",
        "launch/formula.py",
    ]


def test_no_module_of_ours_unpickles():
    folders = [*PACKAGES, "client/tritonc"]
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 500
    assert [path for path in files if UNPICKLES.search(path.read_text())] == []
