"""A prepared child has loaded a dummy source first; the user's source must find no trace of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.integration.compiler.children import ROOT
from worker.launch.launch_children import ENVIRONMENT

TWICE = """
import json, sys
from compiler.front.module import load
load("import torch\\nfrom helpers import x\\n", {"helpers.py": "x = 1\\n"}, module="warm")
tries = "try:\\n    import helpers\\nexcept ImportError:\\n    helpers = None\\n"
again = load("import torch\\nx = torch.cuda.Stream\\n" + tries, {})
vars(again.module)["helpers"] and sys.exit("the first load's file was found")
print(json.dumps(again.assumptions.touches > 0))
"""


def test_a_second_load_counts_its_own_stand_ins() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWICE], cwd=ROOT, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) is True


WARMED = """
import importlib, json, sys
tasks = importlib.import_module(sys.argv[1])
before = [type(finder).__name__ for finder in sys.meta_path]
tasks.warm_up()
finders = [type(finder).__name__ for finder in sys.meta_path]
print(json.dumps(["warm" in sys.modules, finders == before]))
"""


@pytest.mark.parametrize(
    "tasks", ["compiler.front.tasks", pytest.param("launch.launch_tasks", marks=pytest.mark.slow)]
)
def test_a_zygote_keeps_no_trace_of_what_it_loaded(tasks: str) -> None:
    command = [sys.executable, "-c", WARMED, tasks]
    environment = os.environ | (ENVIRONMENT if tasks.startswith("launch") else {})
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, env=environment
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [False, True]
