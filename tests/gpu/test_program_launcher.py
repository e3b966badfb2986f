"""Program launchers on a GPU: programs replayed by cubins and ATen, and what they do wrong."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

import numpy as np
import pytest

from launch.messages import Tolerance
from tests.gpu.program_tapes import program, t
from worker.gpu.program.program_launcher import BOOTSTRAP
from worker.gpu.program.program_order import ProgramTimingOrder
from worker.gpu.supervisor.launcher_process import LauncherCommand, LauncherProcess
from worker.gpu.supervisor.launcher_protocol import LaunchEnding

pytest.importorskip("torch")
COUNT = 98_432


class Launcher:
    """One program launcher, started again where it has ended."""

    def __init__(self) -> None:
        path = os.environ.get("PYTHONPATH")
        environment = {"PYTHONPATH": path} if path else {}
        self.command = LauncherCommand(bootstrap=BOOTSTRAP, environment=environment)
        self.loop = asyncio.new_event_loop()
        self.process: LauncherProcess | None = None
        self.starts = 0

    def run(self, order, deadline_s=30.0):
        return self.loop.run_until_complete(self._run(order, deadline_s))

    async def _run(self, order, deadline_s):
        if self.process is None:
            self.process = LauncherProcess(self.command, 0)
            await self.process.start()
            self.starts += 1
        outcome = await self.process.run(order, deadline_s)
        if not outcome.clean:
            await self.process.close()
            self.process = None
        return outcome

    def close(self):
        if self.process is not None:
            self.loop.run_until_complete(self.process.close())
        self.loop.close()


@pytest.fixture(scope="module")
def launcher():
    launcher = Launcher()
    yield launcher
    launcher.close()


def floats(outcome, name):
    return np.frombuffer(bytes(outcome.outputs[name]), np.float32)


def adding(tape, inputs):
    x, y = inputs
    out = tape.empty([COUNT])
    args = {"x_ptr": t(x), "y_ptr": t(y), "output_ptr": t(out), "n_elements": COUNT}
    tape.launch("add", args, -(-COUNT // 1024), n_elements="i32")
    return [out, x, y]


def test_a_kernel_runs_in_both_calls(launcher):
    outcome = launcher.run(program(adding, [[COUNT], [COUNT]], determinism=True))

    assert outcome.ending is LaunchEnding.OK, outcome
    assert outcome.result["ending"] == "finished"
    assert outcome.result["findings"] == []
    assert outcome.result["deterministic"] is True
    assert outcome.clean
    for call in "01":
        total, x, y = (floats(outcome, f"{call}:{position}") for position in range(3))
        assert np.array_equal(total, x + y)
    assert outcome.unwritten == {}
    assert not np.array_equal(floats(outcome, "0:1"), floats(outcome, "1:1"))


def test_a_program_is_timed_and_its_repeats_give_the_same(launcher):
    order = program(adding, [[COUNT], [COUNT]], timing=ProgramTimingOrder(max_ms=200.0))

    outcome = launcher.run(order)

    assert outcome.ending is LaunchEnding.OK, outcome
    assert outcome.clean
    assert outcome.result["method"] == "graph", outcome.result
    assert outcome.result["timing"]["differing_repeats"] == 0
    assert 0 < outcome.result["timing"]["median_us"] < 1000
    assert [entry["op"] for entry in outcome.result["entries"]]


def test_ops_of_torch_run_on_the_gpu(launcher):
    def call(tape, inputs):
        made = tape.made("mm.default", [64, 64], t(inputs[0]), t(inputs[1]))
        return [tape.made("relu.default", [64, 64], t(made)), *inputs]

    outcome = launcher.run(program(call, [[64, 64], [64, 64]]))

    assert outcome.ending is LaunchEnding.OK, outcome
    out, x, y = (floats(outcome, f"1:{position}").reshape(64, 64) for position in range(3))
    assert np.allclose(out, np.maximum(x @ y, 0), rtol=1e-4, atol=1e-4)


def test_an_input_that_a_kernel_changes_is_sent(launcher):
    def call(tape, inputs):
        before = tape.made("clone.default", [1024], t(inputs[0]))
        args = {"x_ptr": t(inputs[0]), "n_elements": 1024}
        tape.launch("increment", args, n_elements="i32")
        return [before]

    outcome = launcher.run(program(call, [[1024]]))

    assert outcome.ending is LaunchEnding.OK, outcome
    assert np.array_equal(floats(outcome, "input:0:0"), floats(outcome, "0:0") + 1)


def test_what_nobody_wrote_is_told(launcher):
    outcome = launcher.run(program(lambda tape, _: [tape.empty([100])], [[4]]))

    assert outcome.ending is LaunchEnding.OK, outcome
    missing = np.unpackbits(np.frombuffer(bytes(outcome.unwritten["1:0"]), np.uint8), count=100)
    assert missing.all()


def test_gigabytes_are_compared_on_the_gpu(launcher):
    shape = [1 << 28]

    def doubled(tape, inputs):
        return [tape.made("mul.Scalar", shape, t(inputs[0]), 2.0)]

    def added(tape, inputs):
        return [tape.made("add.Tensor", shape, t(inputs[0]), t(inputs[0]))]

    known = {"memory_bytes": 40 << 30, "timing": ProgramTimingOrder(max_ms=100.0)}
    order = replace(
        program(added, [shape], **known),
        beside=program(doubled, [shape], **known),
        tolerances={0: Tolerance(rtol=1e-6)},
    )

    outcome = launcher.run(order)

    assert outcome.ending is LaunchEnding.OK, outcome
    assert outcome.clean
    found = outcome.result["compared"]["outputs"]
    assert sorted(found) == ["0:0", "1:0"]
    assert all(one["comparison"]["matches"] for one in found.values())
    assert outcome.result["timing"]["median_us"] > 100
    assert outcome.result["compared"]["reference"]["timing"]["median_us"] > 100
    assert not outcome.outputs


def test_programs_draw_the_same_numbers_in_each_order(launcher):
    def drawing(tape, inputs):
        return [tape.made("bernoulli.p", [4096], t(inputs[0]), 0.5), tape.randn([4096])]

    order = program(drawing, [[4096]], determinism=True, timing=ProgramTimingOrder(max_ms=50.0))
    first, second = launcher.run(order), launcher.run(order)

    for outcome in (first, second):
        assert outcome.ending is LaunchEnding.OK, outcome
        assert outcome.result["deterministic"] is True
        assert outcome.result["timing"]["differing_repeats"] == 0, outcome.result
    assert floats(first, "1:1").tobytes() == floats(second, "1:1").tobytes()


def test_items_of_tuples_are_passed_to_kernels(launcher):
    def call(tape, inputs):
        out = tape.empty([4])
        pair = {"tuple": [t(inputs[0]), 2]}
        args = {"pair": pair, "output_ptr": t(out)}
        tape.launch("tuples", args, **{"pair.1": "i32"})
        return [out, inputs[0]]

    outcome = launcher.run(program(call, [[4]]))

    assert outcome.ending is LaunchEnding.OK, outcome
    assert floats(outcome, "0:0")[0] == floats(outcome, "0:1")[0] + 2


def test_numbers_of_every_type_are_passed(launcher):
    whole = {"a": -3, "b": -300, "c": -70_000, "d": -(1 << 40), "e": 200, "f": 60_000,
             "g": 1 << 31, "h": 1 << 62}  # fmt: skip
    real = {"half": 0.5, "brain": -2.5, "single": 0.1, "double": 0.1}
    types = {"yes": "i1", "a": "i8", "b": "i16", "c": "i32", "d": "i64", "e": "u8", "f": "u16",
             "g": "u32", "h": "u64", "half": "fp16", "brain": "bf16", "single": "fp32",
             "double": "fp64"}  # fmt: skip

    def call(tape, _):
        integers, floating = tape.empty([9], "i64"), tape.empty([4], "fp64")
        pointers = {"o_ptr": t(integers), "f_ptr": t(floating)}
        tape.launch("scalars", pointers | {"yes": True} | whole | real, **types)
        return [integers, floating]

    outcome = launcher.run(program(call, [[4]]))

    assert outcome.ending is LaunchEnding.OK, outcome
    integers = np.frombuffer(bytes(outcome.outputs["0:0"]), np.int64)
    assert integers.tolist() == [1, *whole.values()]
    floating = np.frombuffer(bytes(outcome.outputs["0:1"]), np.float64)
    assert floating.tolist() == [0.5, -2.5, float(np.float32(0.1)), 0.1]


def test_a_descriptor_made_on_the_host_is_a_tensor_map(launcher):
    def call(tape, inputs):
        out = tape.empty([64, 32])
        source = {"t": inputs[0], "shape": [96, 64], "strides": [64, 1], "block_shape": [64, 32]}
        args = {"source": {"descriptor": source}, "output_ptr": t(out), "row": 16, "column": 32}
        tape.launch("copy_tile_fp32", args, row="i32", column="i32")
        return [out, inputs[0]]

    outcome = launcher.run(program(call, [[96, 64]]))

    assert outcome.ending is LaunchEnding.OK, outcome
    whole = floats(outcome, "1:1").reshape(96, 64)
    assert np.array_equal(floats(outcome, "1:0").reshape(64, 32), whole[16:80, 32:64])


def test_a_kernel_that_makes_a_descriptor_has_scratch(launcher):
    def call(tape, inputs):
        half = {"dtype": {"dtype": "fp16"}}
        x = tape.made("_to_copy.default", [128, 64], t(inputs[0]), of="fp16", **half)
        out = tape.empty([128, 32], "fp16")
        args = {"x_ptr": t(x), "output_ptr": t(out), "rows": 128, "columns": 64}
        tape.launch("device_descriptor", args, 2, rows="i32", columns="i32")
        return [x, out]

    outcome = launcher.run(program(call, [[128, 64]], timing=ProgramTimingOrder(max_ms=50.0)))

    assert outcome.ending is LaunchEnding.OK, outcome
    x, out = (np.frombuffer(bytes(outcome.outputs[f"0:{n}"]), np.float16) for n in (0, 1))
    assert np.array_equal(out.reshape(128, 32), x.reshape(128, 64)[:, :32])
    assert outcome.result["timing"]["differing_repeats"] == 0


def test_nothing_of_a_program_is_left_for_the_next(launcher):
    def full(tape, inputs):
        return [tape.made("add.Scalar", [4], t(one), 1.0) for one in inputs[:1]]

    def reading(tape, inputs):
        found = []
        for index in (0, 1000, 5000, 100_000):
            out = tape.empty([1])
            args = {"x_ptr": t(inputs[0]), "output_ptr": t(out), "index": index}
            tape.launch("load_at", args, index="i32")
            found.append(out)
        return [*found, inputs[0]]

    first = launcher.run(program(full, [[4]] + [[1024]] * 300))
    starts = launcher.starts
    outcome = launcher.run(program(reading, [[256]]))

    assert first.clean
    assert launcher.starts == starts
    assert outcome.ending is LaunchEnding.OK, outcome
    assert floats(outcome, "0:0")[0] == floats(outcome, "0:4")[0]
    assert floats(outcome, "0:3")[0] == 0.0


@pytest.mark.parametrize(
    ("build", "args", "scalars", "kind"),
    [
        ("store_far", {"distance": 1 << 40}, {"distance": "i64"}, "illegal_access"),
        ("misaligned", {}, {}, "misaligned_access"),
        ("matmul_too_much_shared", {"K": 64}, {"K": "i32"}, "does_not_fit"),
    ],
)
def test_a_fault_is_told_with_its_op(launcher, build, args, scalars, kind):
    names = ("a_ptr", "b_ptr", "c_ptr") if build.startswith("matmul") else ("output_ptr",)

    def call(tape, inputs):
        made = tape.made("add.Scalar", [4096], t(inputs[0]), 1.0)
        pointers = {name: t(made) for name in names}
        tape.launch(build, pointers | args, **scalars)
        return [made]

    outcome = launcher.run(program(call, [[4096]]))

    assert outcome.ending is LaunchEnding.FAULT, outcome
    assert outcome.fault["kind"] == kind
    assert outcome.fault["op"] == 3
    assert outcome.clean is (kind == "does_not_fit")


def test_an_index_out_of_range_of_an_op_is_told(launcher):
    def call(tape, inputs):
        index = tape.full([2], 99, "i64")
        return [tape.made("index_select.default", [2], t(inputs[0]), 0, t(index))]

    outcome = launcher.run(program(call, [[4]]))

    assert outcome.ending is LaunchEnding.FAULT, outcome
    assert outcome.fault["kind"] == "out_of_bounds"
    assert outcome.fault["op"] == 3


def test_too_much_memory_is_refused_before_it_is_taken(launcher):
    outcome = launcher.run(program(adding, [[COUNT], [COUNT]], memory_bytes=1000))

    assert outcome.ending is LaunchEnding.OK, outcome
    assert outcome.result["ending"] == "out_of_memory"
    assert "and a replay on the GPU has 1,000" in outcome.result["findings"][0]["message"]


def test_an_endless_kernel_is_ended(launcher):
    def call(tape, inputs):
        flags = [tape.full([1], 0, "i32") for _ in range(2)]
        tape.launch("endless", {"x_ptr": t(flags[0]), "output_ptr": t(flags[1])})
        return [flags[1]]

    outcome = launcher.run(program(call, [[4]]), deadline_s=2.0)

    assert outcome.ending is LaunchEnding.DEADLINE
    assert outcome.stages[-1] == "run"
    after = launcher.run(program(adding, [[COUNT], [COUNT]]))
    assert after.ending is LaunchEnding.OK, after
