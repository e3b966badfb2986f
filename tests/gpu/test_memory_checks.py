"""The kernel that checks memory agrees with NumPy at every size and alignment."""

import json
import subprocess
import sys
from pathlib import Path

from tests.gpu.conftest import a_command

PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from dataclasses import astuple
from tests.unit.worker.gpu.fake_gpu_kernels import answer
from worker.gpu.launcher.device import open_device
from worker.gpu.launcher.launcher_context import LauncherContext
from worker.gpu.launcher.memory_checks import filled, holding

context = LauncherContext(open_device(0))
memory, draws = context.memory, np.random.default_rng(0)
start = memory.take(6_000_000, 16).address
asked, expected = [], []
for size in (1, 7, 16, 17, 4096, 393_728, 400_001, 5_000_003):
    for offset in (0, 1, 8):
        content = draws.integers(0, 256, size, np.uint8)
        for item in (1, 2, 4, 8) if size % 8 == 0 and offset != 1 else (1,):
            content[:] = 0xAB if item == 1 else content
            at = int(draws.integers(size // item)) * item
            content[at : at + item] = 0xFF
            memory.write(start + offset, content)
            for check in (context.checks.digest_of(start + offset, size),
                          filled(start + offset, size, 0xAB),
                          holding(start + offset, size, 0xFF, item),
                          holding(start + offset, size, 0xCD, item)):
                asked.append([size, offset, item, check.mode])
                found = context.checks.ask([check])[0]
                expected.append([found, answer(content, *astuple(check)[2:])])
print(json.dumps([how for how, (one, two) in zip(asked, expected) if one != two]))
print(len(asked), file=sys.stderr)
"""


def test_answers_are_those_of_numpy(figure):
    root = str(Path(__file__).parents[2])
    command = a_command()
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-c", PROGRAM, root],
        capture_output=True,
        text=True,
        timeout=100,
        env=command.environ(),
    )
    assert done.returncode == 0, done.stderr
    figure(f"{done.stderr.strip()} answers")
    assert json.loads(done.stdout) == []
