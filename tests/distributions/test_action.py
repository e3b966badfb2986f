"""The GitHub Action's steps in an empty environment: install, start, judge, stop.

The checkout is an attacker's: its modules have the names of modules that Python and ours import.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.distributions.action_run import ActionRun
from tests.security.hostile_checkout import hostile_modules

SOURCE = """import triton
import triton.language as tl


@triton.jit
def double(x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets))
"""
GATE = """[matrix]
targets = ["cuda:90", "hip:gfx942"]
[budgets]
instructions = {most}
[kernels.double]
source = "double.py"
signature = {{x_ptr = "*fp32:16"}}
constexprs = {{N = 256}}
"""


@pytest.mark.parametrize(("most", "code"), [(10, 1), (10_000, 0)])
@pytest.mark.timeout(900)
def test_the_action_says_what_the_gate_says(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, most: int, code: int
) -> None:
    (tmp_path / "kernels").mkdir()
    ran = hostile_modules(tmp_path)
    (tmp_path / "kernels" / "double.py").write_text(SOURCE)
    (tmp_path / "kernels" / "kernels.toml").write_text(GATE.format(most=most))
    inputs = {"working-directory": "kernels", "python": sys.executable}

    done = ActionRun(tmp_path, tmp_path_factory.mktemp("runner"), inputs).run()

    assert done.exit_code == code, done.log
    assert done.outputs["gate"]["exit-code"] == str(code)
    assert done.summary.startswith("## tritonc gate: ")
    sarif = json.loads(Path(done.outputs["gate"]["sarif"]).read_text())
    assert len(sarif["runs"][0]["results"]) == 2 * code
    if code:
        [place] = sarif["runs"][0]["results"][0]["locations"]
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "kernels/double.py"
    assert not ran.exists()
    pid = (done.temporary / "tritonc-gate" / "tritond.pid").read_text()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


@pytest.mark.timeout(900)
def test_a_version_that_is_none_installs_nothing(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    inputs = {"tritons": "3.6.0 $(touch-x)", "python": sys.executable}

    done = ActionRun(tmp_path, tmp_path_factory.mktemp("runner"), inputs).run()

    assert done.exit_code
    assert "'$(touch-x)' is not a version" in done.log
