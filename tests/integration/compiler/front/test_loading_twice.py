"""A child that prepared loads a source of its own first; the user's must not find traces of it."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.integration.compiler.children import ROOT

TWICE = """
import json, sys
from compiler.front.module import load
load("import torch\\nfrom helpers import x\\n", {"helpers.py": "x = 1\\n"}, name="warm")
tries = "try:\\n    import helpers\\nexcept ImportError:\\n    helpers = None\\n"
again = load("import torch\\nx = torch.cuda.Stream\\n" + tries, {})
vars(again.module)["helpers"] and sys.exit("the first load's file was found")
print(json.dumps([again.assumptions.touches > 0, again.is_conclusive]))
"""


def test_a_second_load_counts_its_own_stand_ins() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWICE], cwd=ROOT, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, False]
