"""On the fake CUDA, a launcher catches kernels that do their work in some runs only.

They keep state in Python; tests/gpu tries the places where a real kernel can keep it.
"""

import ctypes
import time
from types import SimpleNamespace

import numpy as np
import pytest

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.target import Target
from launch.buffers.iteration_seeds import iteration_seed
from tests.gpu.bound import Bound
from tests.unit.worker.gpu import fake_cuda

COUNT = 1000
BYTES = 4 * COUNT
SEED = 77


def floats(gpu, pointers, index, *, write=False):
    return gpu.memory(fake_cuda.pointer(pointers, index), BYTES, write=write).view(np.float32)


def double(gpu, pointers, _grid):
    floats(gpu, pointers, 1, write=True)[:] = 2 * floats(gpu, pointers, 0)


def of_module(gpu):
    """Return a counter that starts at zero in each loaded module."""
    return gpu.memory(gpu.variables[b"runs"][0], 4, write=True).view(np.uint32)


def skips(first, last):
    def skip(gpu, pointers, grid):
        runs = of_module(gpu)
        if not first <= runs[0] <= last:
            double(gpu, pointers, grid)
        runs += np.uint32(1)

    return skip


def every_tenth(gpu, pointers, grid):
    if gpu.runs % 10 == 1:  # like %gridid, which counts across modules
        double(gpu, pointers, grid)


def replays(gpu, pointers, grid):
    """Compute in a module's first run; then return the results of the very first run."""
    runs = of_module(gpu)
    if runs[0] == 0:
        double(gpu, pointers, grid)
        gpu.__dict__.setdefault("first", floats(gpu, pointers, 1).copy())
    else:
        floats(gpu, pointers, 1, write=True)[:] = gpu.first
    runs += np.uint32(1)


def half_right(gpu, pointers, grid):
    """Be wrong for inputs that were not posted: no state, only other values."""
    double(gpu, pointers, grid)
    if floats(gpu, pointers, 0)[0] != seeded(1)[0]:
        floats(gpu, pointers, 1, write=True)[7] = 0


def noisy(gpu, pointers, grid):
    double(gpu, pointers, grid)
    floats(gpu, pointers, 1, write=True)[gpu.runs % COUNT] *= np.float32(1 + 2**-23)


def noisy_skipper(gpu, pointers, grid):
    if of_module(gpu)[0] != 20:
        noisy(gpu, pointers, grid)
    of_module(gpu)[:] += np.uint32(1)


def spoils_later(gpu, pointers, grid):
    double(gpu, pointers, grid)
    runs = of_module(gpu)
    if runs[0] == 20:
        floats(gpu, pointers, 0, write=True)[5] = 0
    runs += np.uint32(1)


def leaves_marks(gpu, pointers, grid):
    """Keep the mark in memory that outlives the module, like shared memory."""
    gpu.marks = gpu.__dict__.get("marks", 0) + 1
    if gpu.marks <= 13:
        double(gpu, pointers, grid)


def looks_behind(gpu, *_):
    """Record what was queued right before."""
    gpu.__dict__.setdefault("before", []).append(gpu.calls[-1])


KERNELS = {
    b"double": double, b"skips_13_to_40": skips(13, 40), b"skips_one": skips(20, 20),
    b"every_tenth": every_tenth, b"replays": replays, b"half_right": half_right, b"noisy": noisy,
    b"noisy_skipper": noisy_skipper, b"leaves_marks": leaves_marks,
    b"spoils_later": spoils_later, b"looks_behind": looks_behind,
}  # fmt: skip


def seeded(seed):
    return np.random.Generator(np.random.Philox(seed)).uniform(0, 1, COUNT).astype(np.float32)


@pytest.fixture
def gpu(monkeypatch):
    driver = fake_cuda.install(monkeypatch, KERNELS)
    load = driver.cuModuleLoadData

    def load_with_variable(cubin):
        _, address = driver.cuMemAlloc(16)
        ctypes.memset(address, 0, 16)
        driver.variables = {b"runs": (address, 4)}
        modules.append(driver.variables)
        return load(cubin)

    def unload(_module):
        driver.variables = modules[0] if modules else {}
        return fake_cuda.OK

    modules = []
    driver.modules = modules
    driver.cuModuleLoadData, driver.cuModuleUnload = load_with_variable, unload
    return driver


@pytest.fixture
def run(gpu):
    """Return a function that times a kernel and gives the result and the outputs by stage."""
    from worker.gpu.launcher.device import GpuDevice
    from worker.gpu.launcher.device_run import DeviceRun
    from worker.gpu.launcher.kept_inputs import KeptBudget
    from worker.gpu.launcher.launcher_context import LauncherContext
    from worker.gpu.launcher.launcher_order import LauncherOrder, TimingOrder

    device = GpuDevice(0, None, None, "fake", "GPU-0", (9, 0), 13000, 4, 1 << 30, 1 << 16, 1 << 16,
                       fake_cuda.PAGE, 1e9)  # fmt: skip
    context = LauncherContext(device, KeptBudget(16 << 20, 8 << 20))
    context.warm_up()
    gpu.modules.clear()
    gpu.runs = 0

    def perform(entry, **timing):
        parameters = [
            Parameter(name=name, type="*fp32", role="runtime", hints=[], value=None)
            for name in ("x_ptr", "output_ptr")
        ]
        metadata = {"name": entry, "num_warps": 4, "shared": 0}
        bound = Bound().buffer("x_ptr", "fp32", [COUNT], {"kind": "uniform", "seed": 1})
        bound.buffer("output_ptr", "fp32", [COUNT], output=True)
        asked = {"min_repeats": 50, "max_ms": 60_000.0, "seed": SEED, **timing}
        order = LauncherOrder(
            b"cubin", abi_of(Target("cuda", 90, 32), parameters, metadata), (1, 1, 1),
            bound.allocations, bound.arguments, timing=TimingOrder(**asked),
        )  # fmt: skip
        stages = {}

        def send(header, body):
            stages[header["stage"]] = body if isinstance(body, bytes) else body.content.tobytes()

        return SimpleNamespace(**DeviceRun(context, order, send).perform(), stages=stages)

    return perform


def left(found, index):
    return np.frombuffer(found.stages[f"repeat-{index}:output_ptr"], np.float32)


def is_right(found, index):
    return np.array_equal(left(found, index), 2 * seeded(found.repeats[index]["seeds"]["x_ptr"]))


def test_every_run_of_an_honest_kernel_is_seen_and_equal(run):
    found = run("double")

    assert (found.checked_repeats, found.differing_repeats) == (50, 0)
    assert found.repeats == []


def test_runs_that_were_skipped_are_counted_and_the_worst_is_sent(run):
    found = run("skips_13_to_40", warmup_repeats=0)

    assert found.differing_repeats == 28
    [repeat] = found.repeats
    assert (repeat["seeds"], repeat["left_bytes"]) == ({}, BYTES)
    assert np.isnan(left(found, 0)).all()
    assert found.stages["repeat_unwritten-0:output_ptr"] == b"\xff" * (COUNT // 8)


def test_one_run_that_was_skipped_is_found_among_many_that_differ_a_little(run):
    found = run("noisy_skipper")

    [repeat] = found.repeats
    assert repeat["left_bytes"] == BYTES


def test_a_run_before_the_timed_ones_is_seen_too(run):
    found = run("skips_one", warmup_repeats=30)

    assert found.differing_repeats == 0
    assert found.repeats[0]["repeat"] < 0


def test_each_iteration_has_its_own_values(run):
    found = run("double", fresh_inputs="values")

    assert (found.checked_repeats, found.differing_repeats) == (50, 0)
    assert len(found.repeats) == 3
    for index, repeat in enumerate(found.repeats):
        assert repeat["seeds"] == {"x_ptr": iteration_seed(SEED, repeat["repeat"], "x_ptr")}
        assert is_right(found, index)


@pytest.mark.parametrize("fresh", [False, "values", True])
def test_registers_are_cleared_right_before_every_run(run, gpu, fresh):
    run("looks_behind", fresh_inputs=fresh)

    assert len(gpu.before) > 50
    assert {(kind, contents) for kind, _, contents in gpu.before} == {("cleared", 0)}


@pytest.mark.parametrize("fresh", [False, "values"])
def test_an_input_that_one_later_run_changes_is_reported(run, fresh):
    assert run("spoils_later", fresh_inputs=fresh).modified_inputs == ["x_ptr"]


def test_values_of_a_launch_are_its_own_again_afterwards(run):
    assert run("double", fresh_inputs="values").modified_inputs == []


@pytest.mark.parametrize("kernel", ["skips_13_to_40", "skips_one", "noisy_skipper"])
def test_skipped_runs_are_always_among_those_that_are_sent(run, kernel):
    found = run(kernel, fresh_inputs="values", warmup_repeats=0)

    worst = [index for index, one in enumerate(found.repeats) if one["left_bytes"]]
    assert worst
    assert not any(is_right(found, index) for index in worst)


def test_a_replayed_result_differs_from_a_fresh_kernel_s(run):
    found = run("replays", fresh_inputs="values")

    assert found.differing_repeats == 50
    assert all(one["equals_first"] for one in found.repeats)
    assert not any(is_right(found, index) for index in range(len(found.repeats)))


def test_state_that_outlives_the_module_shows_in_what_was_left_out(run):
    found = run("leaves_marks", fresh_inputs="values")

    assert any(one["left_bytes"] == BYTES for one in found.repeats)


def test_a_kernel_that_works_in_every_tenth_run_is_found(run):
    found = run("every_tenth", fresh_inputs="values")

    assert any(one["left_bytes"] == BYTES for one in found.repeats)


def test_a_kernel_that_is_wrong_for_other_values_agrees_with_itself(run):
    found = run("half_right", fresh_inputs="values")

    assert found.differing_repeats == 0
    assert not any(is_right(found, index) for index in range(3))


def test_a_kernel_whose_sums_differ_a_little_is_sent_as_it_is(run):
    found = run("noisy", fresh_inputs="values")

    assert found.differing_repeats > 40
    assert not any(one["left_bytes"] or one["equals_first"] for one in found.repeats)
    for index, repeat in enumerate(found.repeats):
        assert np.allclose(left(found, index), 2 * seeded(repeat["seeds"]["x_ptr"]), rtol=1e-5)


def test_making_values_ends_when_it_takes_too_long(run):
    found = run("double", fresh_inputs="values", values_ms=0.0)

    assert found.timing["repeats"] == found.checked_repeats == 3


def test_running_repeats_again_ends_when_it_takes_too_long(run, gpu):
    load = gpu.cuModuleLoadData
    gpu.cuModuleLoadData = lambda cubin: (time.sleep(0.01), load(cubin))[1]
    found = run("double", fresh_inputs="values", values_ms=100.0, min_repeats=200)

    assert 3 <= found.checked_repeats < 100
