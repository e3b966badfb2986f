"""A launch from its job to its result, on the fake CUDA: allocations, reads and reports."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.target import Target
from tests.gpu.bound import Bound
from tests.unit.worker.gpu import fake_cuda

COUNT = 1000
BYTES = 4 * COUNT
LARGE = 1 << 19


def floats(gpu, pointers, index, count=COUNT, *, write=False):
    return gpu.memory(fake_cuda.pointer(pointers, index), 4 * count, write=write).view(np.float32)


def add(gpu, pointers, _grid):
    count = fake_cuda.pointer(pointers, 3, ctypes.c_int32)
    x, y = floats(gpu, pointers, 0, count), floats(gpu, pointers, 1, count)
    floats(gpu, pointers, 2, count, write=True)[:] = x + y


def add_half(gpu, pointers, _grid):
    x, y = floats(gpu, pointers, 0), floats(gpu, pointers, 1)
    floats(gpu, pointers, 2, write=True)[:500] = (x + y)[:500]


def zero_x(gpu, pointers, grid):
    add(gpu, pointers, grid)
    floats(gpu, pointers, 0, write=True)[:] = 0


def zero_x_when_timed(gpu, pointers, grid):
    add(gpu, pointers, grid)
    if gpu.runs > 5:
        floats(gpu, pointers, 0, write=True)[:] = 0


def before_output(gpu, pointers, grid):
    add(gpu, pointers, grid)
    gpu.memory(fake_cuda.pointer(pointers, 2) - 8, 4, write=True)[:] = 1


def other_when_timed(gpu, pointers, grid):
    add(gpu, pointers, grid)
    if gpu.runs > 5:
        floats(gpu, pointers, 2, write=True)[3] += 1


KERNELS = {
    one.__name__.encode(): one
    for one in (add, add_half, zero_x, zero_x_when_timed, before_output, other_when_timed)
}


@pytest.fixture
def gpu(monkeypatch):
    return fake_cuda.install(monkeypatch, KERNELS)


@pytest.fixture
def launcher(gpu):
    """Return a function that runs jobs in one launcher and gives the last result and outputs."""
    from worker.gpu.launcher.device import GpuDevice
    from worker.gpu.launcher.kept_inputs import KeptBudget
    from worker.gpu.launcher.launcher_context import LauncherContext

    device = GpuDevice(0, None, None, "fake", "GPU-0", (9, 0), 13000, 4, 1 << 30, 1 << 16, 1 << 16,
                       fake_cuda.PAGE, 1e9)  # fmt: skip
    context = LauncherContext(device, KeptBudget(8 * fake_cuda.PAGE, 4 * fake_cuda.PAGE))
    context.warm_up()

    def run(*jobs):
        from worker.gpu.launcher.device_run import DeviceRun
        from worker.gpu.launcher.launcher_order import LauncherOrder

        for job in jobs:
            outputs = {}

            def send(header, body, outputs=outputs):
                kind, _, name = header["stage"].partition(":")
                if name:
                    content = body if isinstance(body, bytes) else body.content.tobytes()
                    outputs[kind] = outputs.get(kind, b"") + content

            order = LauncherOrder.from_frame(*job.to_frame())
            result = DeviceRun(context, order, send).perform()
        return SimpleNamespace(**result, outputs=outputs)

    run.context = context
    return run


def job(entry="add", count=COUNT, y=None, **asked):
    from worker.gpu.launcher.launcher_order import LauncherOrder

    names = {"x_ptr": "*fp32", "y_ptr": "*fp32", "output_ptr": "*fp32", "n": "i32"}
    parameters = [
        Parameter(name=name, type=kind, role="runtime", hints=[], value=None)
        for name, kind in names.items()
    ]
    abi = abi_of(Target("cuda", 90, 32), parameters, {"name": entry, "num_warps": 4, "shared": 0})
    bound = Bound().buffer("x_ptr", "fp32", [count], {"kind": "normal", "seed": 1})
    bound.buffer("y_ptr", "fp32", [count], y or {"kind": "normal", "seed": 2})
    bound.buffer("output_ptr", "fp32", [count], output=True).scalar("n", count, "i32")
    return LauncherOrder(b"cubin", abi, (1, 1, 1), bound.allocations, bound.arguments, **asked)


def timed(**changes):
    from worker.gpu.launcher.launcher_order import TimingOrder

    return TimingOrder(**{"min_repeats": 20, "max_ms": 60_000, **changes})


def expected(count=COUNT):
    x = np.random.Generator(np.random.Philox(1)).normal(0, 1, count).astype(np.float32)
    y = np.random.Generator(np.random.Philox(2)).normal(0, 1, count).astype(np.float32)
    return (x + y).tobytes()


@pytest.mark.parametrize("count", [COUNT, LARGE])
def test_a_good_kernel_is_right_and_nothing_is_found(launcher, count):
    found = launcher(job(count=count, timing=timed(), determinism=True))

    assert found.outputs == {"output": expected(count)}
    assert (found.findings, found.modified_inputs, found.differing) == ([], [], [])
    assert (found.checked_repeats, found.differing_repeats, found.repeats) == (20, 0, [])
    assert found.timing["repeats"] == 20


def uploads_of_inputs(gpu):
    return [call for call in gpu.calls if call[0] == "upload" and call[2] >= BYTES]


def test_inputs_are_made_and_sent_to_the_gpu_once(launcher, gpu):
    launcher(job())
    gpu.calls.clear()

    found = launcher(job(timing=timed()))

    assert found.outputs["output"] == expected()
    assert not uploads_of_inputs(gpu)


def test_only_answers_and_outputs_are_read_back(launcher, gpu):
    launcher(job())
    gpu.calls.clear()

    launcher(job(timing=timed()))

    assert [size for kind, _, size in gpu.calls if kind == "read" and size >= BYTES] == [BYTES]


def test_kept_inputs_cannot_be_written(launcher, gpu):
    launcher(job())
    kept = [one.address for _, one in launcher.context.inputs._on_gpu.values()]

    assert len(kept) == 2
    assert all(address not in gpu.writable for address in kept)


def test_the_longest_unused_is_given_up_for_what_is_new(launcher, gpu):
    made = [job(y={"kind": "normal", "seed": seed}) for seed in range(20)]
    launcher(*made)
    gpu.calls.clear()

    launcher(made[0])

    assert len(launcher.context.inputs._on_gpu) == 8  # a page each
    assert len(uploads_of_inputs(gpu)) == 1


def test_the_inputs_of_one_job_take_no_more_than_the_budget(launcher):
    page = fake_cuda.PAGE
    launcher.context.inputs._budget = type(launcher.context.inputs._budget)(page * 3 // 2, page)

    found = launcher(job(timing=timed()), job("zero_x", timing=timed()))

    assert len(launcher.context.inputs._on_gpu) == 1  # a page
    assert found.outputs["output"] == expected()
    assert found.modified_inputs == ["x_ptr"]


def test_what_was_prepared_for_a_job_is_used_once(launcher, monkeypatch):
    from worker.gpu.launcher.contents import Contents

    launcher.context.inputs.prepare(Contents(job()))
    monkeypatch.setattr(Contents, "initial", lambda *_: pytest.fail("made again"))

    assert launcher(job()).outputs["output"] == expected()
    assert launcher.context.inputs._prepared == {}


def test_what_was_prepared_and_came_to_be_kept_is_let_go(launcher):
    from worker.gpu.launcher.contents import Contents

    inputs = launcher.context.inputs
    inputs.prepare(Contents(job()))
    prepared, inputs._prepared = inputs._prepared, {}
    launcher(job())
    inputs._prepared = prepared

    launcher(job())

    assert inputs._prepared == {}


def test_what_was_prepared_for_a_job_that_cannot_be_made_is_let_go(launcher):
    from worker.gpu.launcher.contents import Contents
    from worker.gpu.launcher.fault import JobFailed

    inputs, wrong = launcher.context.inputs, job(y={"kind": "of no such kind"})
    with pytest.raises(JobFailed):
        inputs.prepare(Contents(wrong))
    prepared, inputs._prepared = inputs._prepared, {}
    launcher(job())
    inputs._prepared = prepared

    with pytest.raises(JobFailed):
        launcher(wrong)

    assert prepared == {}


def test_an_input_that_is_too_large_to_keep_is_written_each_time(launcher, gpu):
    launcher.context.inputs._budget = type(launcher.context.inputs._budget)(1000, 1 << 20)
    launcher(job())
    gpu.calls.clear()

    found = launcher(job("zero_x", timing=timed()))

    assert found.outputs["output"] == expected()
    assert found.modified_inputs == ["x_ptr"]
    assert found.differing_repeats == 0


def test_a_changed_input_is_reported_and_restored(launcher):
    found = launcher(job("zero_x", timing=timed(), determinism=True))

    assert found.modified_inputs == ["x_ptr"]
    assert found.differing == []
    assert launcher(job()).outputs["output"] == expected()


def test_an_input_that_only_later_runs_change_is_reported(launcher):
    assert launcher(job("zero_x_when_timed", timing=timed())).modified_inputs == ["x_ptr"]


def test_a_write_before_an_argument_is_out_of_bounds(launcher):
    (finding,) = launcher(job("before_output", timing=timed())).findings

    assert (finding["kind"], finding["argument"], finding["index"]) == (
        "out_of_bounds", "output_ptr", [-2],
    )  # fmt: skip


def test_what_is_not_written_is_reported(launcher):
    found = launcher(job("add_half"))

    bits = np.unpackbits(np.frombuffer(found.outputs["unwritten"], np.uint8))
    assert bits[:500].sum() == 0
    assert bits[500:COUNT].sum() == 500


def test_a_timed_output_that_differs_is_sent(launcher):
    found = launcher(job("other_when_timed", timing=timed()))

    assert found.differing_repeats > 0
    assert found.repeats[0]["differing_bytes"] > 0
    assert found.outputs["repeat-0"] != found.outputs["output"]


def test_fresh_inputs_have_sets_of_their_own(launcher):
    found = launcher(job(timing=timed(fresh_inputs=True, min_repeats=5)))

    assert found.timing["input_sets"] == 5
    assert found.differing_repeats == 0


def test_memory_is_found_by_giving_up_what_is_kept(launcher, gpu):
    launcher(*[job(y={"kind": "normal", "seed": seed}) for seed in range(4)])
    gpu.free_bytes = 2 * fake_cuda.PAGE
    count = fake_cuda.PAGE // 2  # four bytes: two pages

    found = launcher(job(count=count))

    assert found.outputs["output"] == expected(count)
