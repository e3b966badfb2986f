"""Preparing to record or replay does not ask the driver whether there is a GPU.

In a CUDA build of torch that question starts the driver, which starts a thread, and then no zygote
can fork. CPU builds cannot ask, so here the question raises.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from programs.worker.program_children import ENVIRONMENT, RECORDER_TASKS, REPLAY_TASKS

_ASKED = """
import importlib, os, sys, torch
def asked(*_):
    raise SystemExit("the driver is asked for the number of its devices")
for name in ("getCurrentRawStream", "getDeviceCount", "init"):
    setattr(torch._C, f"_cuda_{name}", asked)
assert not torch.cuda.is_available(), "torch goes by what is visible"
importlib.import_module(sys.argv[1]).warm_up()
print(len(os.listdir("/proc/self/task")), flush=True)
os._exit(0)  # as zygotes and their children leave: torch's own end knows nothing of a stand-in
"""


@pytest.mark.parametrize("tasks", [RECORDER_TASKS, REPLAY_TASKS])
def test_a_zygote_of_programs_asks_for_no_gpu_where_torch_is_built_for_them(tasks: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ASKED, tasks],
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1"]
