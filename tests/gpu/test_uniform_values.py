"""Uniform numbers drawn on the GPU equal NumPy's bit by bit, for every type, size and range."""

import json
import subprocess
import sys
from pathlib import Path

from tests.gpu.conftest import a_command

PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from launch.buffers.allocation import memory_of
from worker.gpu.inputs.uniform_draw import UniformDraw
from worker.gpu.launcher.device import open_device
from worker.gpu.launcher.launcher_context import LauncherContext

context = LauncherContext(open_device(0))
context.warm_up()
assert context.uniform.is_exact
memory, draws = context.memory, np.random.default_rng(0)
wrong, asked = [], 0
for dtype in ("fp16", "fp32", "fp64"):
    for count in (1, 2, 3, 4, 5, 1023, 98_432, 98_433, 3_000_001):
        for low, high in ((0, 1), (-2.5, 3.7), (-1e-6, 1e-9), (1e4, 6e4), (0.1, 0.1)):
            seed = int(draws.integers(1 << 60))
            init = {"kind": "uniform", "seed": seed, "low": low, "high": high}
            described = {"name": "x", "dtype": dtype, "elements": count, "init": init}
            expected = memory_of(described, None, b"").view(np.uint8)
            block = memory.take(expected.nbytes, 16)
            context.uniform.draw(UniformDraw.of(described, None), block.address)
            drawn = memory.read(block.address, expected.nbytes)
            asked += 1
            if not np.array_equal(drawn, expected) or memory.damage(block) is not None:
                wrong.append([dtype, count, low, high, seed])
            memory.scrub()
print(json.dumps(wrong))
print(asked, file=sys.stderr)
"""


def test_numbers_are_those_of_numpy(figure):
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-c", PROGRAM, root],
        capture_output=True,
        text=True,
        timeout=100,
        env=a_command().environ(),
    )
    assert done.returncode == 0, done.stderr
    figure(f"{done.stderr.strip()} draws")
    assert json.loads(done.stdout) == []
