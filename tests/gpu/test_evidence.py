"""Timed runs did their work in a plausible time: on a GPU, through the service."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.conftest import a_command
from tests.gpu.serving import given, launch_body, out, running

N = 98_432
SUM = {"source": "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n"}


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    with running(tmp_path_factory.mktemp("up")) as client:
        yield client


@pytest.fixture
def launch(http, figure):
    """Return a function that adds vectors and returns the launch's answer."""

    def post(elements=N, **more):
        arguments = {
            "x_ptr": given(elements, kind="uniform", seed=1),
            "y_ptr": given(elements, kind="normal", seed=2),
            "output_ptr": out(elements), "n_elements": elements,
        }  # fmt: skip
        body = launch_body("add_kernel", arguments, grid=["cdiv(n_elements, BLOCK_SIZE)"],
                           constexprs={"BLOCK_SIZE": 1024}, reference=SUM, **more)  # fmt: skip
        answer = http.post("/v1/launches?wait=60", json=body)
        assert answer.status_code == 200, answer.text
        launched = answer.json()
        said = [(one["kind"], one["message"]) for one in launched["findings"] or []]
        figure(f"{launched['verdict']} {launched['timings_ms']} {launched['timing']} {said}"[:900])
        return launched

    return post


@pytest.mark.parametrize("elements", [N, 97, 1 << 24])
def test_an_honest_kernel_passes_on_values_of_each_repeats_own(launch, elements):
    launched = launch(elements, timing={"fresh_inputs": "values", "min_repeats": 20})

    timing = launched["timing"]
    assert (launched["verdict"], launched["findings"]) == ("passed", [])
    assert timing["repeats"] == timing["checked_repeats"] >= 20
    assert timing["differing_repeats"] == 0
    assert [one["matches"] for one in timing["compared_repeats"]] == [True] * 3
    assert all(one["seeds"].keys() == {"x_ptr", "y_ptr"} for one in timing["compared_repeats"])


@pytest.mark.parametrize("fresh", [False, True])
def test_every_repeat_is_checked_where_inputs_are_the_same(launch, fresh):
    timing = launch(timing={"fresh_inputs": fresh, "min_repeats": 50})["timing"]

    assert timing["checked_repeats"] == timing["repeats"]
    assert timing["differing_repeats"] == 0


def test_a_time_is_reported_as_a_share_of_what_the_device_does(launch):
    moved = 3 * 4 << 24
    launched = launch(1 << 24, timing={"bytes": moved, "flops": 1 << 24})

    timing = launched["timing"]
    assert launched["findings"] == []
    assert timing["plausible"] is True
    assert 0.6 < timing["bytes_share"] < 1.05
    assert 0 < timing["flops_share"] < 0.01
    assert 0 < timing["floor_us"] < timing["median_us"]


def test_a_time_that_cannot_be_is_a_finding_with_its_arithmetic(launch):
    launched = launch(timing={"bytes": 10**10})

    [finding] = launched["findings"]
    assert (launched["verdict"], finding["kind"]) == ("passed", "impossible_time")
    assert launched["timing"]["plausible"] is False
    assert "1e+10 bytes" in finding["message"]


def test_small_and_empty_kernels_are_not_accused(launch):
    for elements in (1, 1024, N):
        assert launch(elements)["findings"] == []


def test_the_ceilings_of_a_device_are_listed(http, figure):
    [device] = http.get("/v1/devices").json()["devices"]
    ceilings = device["ceilings"]
    figure(ceilings)

    assert 1e11 < ceilings["memory_bytes_per_s"] < 2e13
    assert ceilings["memory_bytes_per_s"] <= ceilings["l2_bytes_per_s"]
    assert 0.5 < ceilings["launch_us"] < 10


PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from worker.gpu.timing_integrity.run_comparison import Piece, Poison, Tallies
from worker.gpu.launcher.device import open_device
from worker.gpu.launcher.launcher_context import LauncherContext

context = LauncherContext(open_device(0))
memory, comparison, draws = context.memory, context.comparison, np.random.default_rng(0)
wrong, asked = [], 0
for size in (1, 2, 34, 37, 4096, 393_728, 400_001, 400_002, 20_000_000):
    for offset in (0, 1, 2, 4):
        for item in (1, 2, 4):
            if size % item or offset % item:
                continue
            first = draws.integers(0, 200, size, np.uint8)
            run, other, kept = (memory.take(size + 16, 16).address + offset for _ in range(3))
            memory.write(other, first)
            tallies = Tallies(memory, 4)
            [table] = comparison.tables([[Piece(run, other, size, Poison(255, item), kept)]])
            made, expected = [], []
            for changes, poisoned in ((0, 0), (2, 0), (1, 3), (5, 1)):
                now = first.copy()
                for at in draws.integers(0, size, changes):
                    now[at] = 201
                for at in draws.integers(0, size // item, poisoned):
                    now[at * item : at * item + item] = 255
                differs = now != first
                elements = (now == 255).reshape(-1, item).all(axis=1)
                expected.append((int(differs.sum()), int(elements.sum()) * item))
                memory.write(run, now)
                comparison.compare(table, tallies.address(len(made)))
                made.append(now)
                memory.wait()
            found = [(one.differing_bytes, one.left_bytes) for one in tallies.read(4)]
            worst = max(range(4), key=lambda at: (expected[at][1], expected[at][0], -at))
            is_kept = np.array_equal(memory.read(kept, size), made[worst])
            asked += 1
            if found != expected or (expected[worst] != (0, 0) and not is_kept):
                wrong.append([size, offset, item, found, expected, worst, is_kept])
            memory.scrub()
print(json.dumps(wrong))
print(asked, file=sys.stderr)
"""


def test_what_runs_left_is_counted_as_numpy_counts_and_the_worst_is_kept(figure):
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-c", PROGRAM, str(Path(__file__).parents[2])],
        capture_output=True,
        text=True,
        timeout=100,
        env=a_command().environ(),
    )

    assert done.returncode == 0, done.stderr
    figure(f"{done.stderr.strip()} comparisons")
    assert json.loads(done.stdout) == []
