"""Program launchers on a GPU: replays with cubins and ATen, and faults."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from launch.messages import Tolerance
from programs.gpu.program_order import ProgramOrder, ProgramTimingOrder
from tests.gpu.program_launching import COUNT, adding, floats
from tests.gpu.program_tapes import program, t
from worker.gpu.supervisor.launcher_protocol import LaunchEnding

pytest.importorskip("torch")


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


def test_a_call_whose_op_waits_for_the_gpu_is_timed_op_by_op(launcher):
    def call(tape, inputs):
        counts = tape.made("histc.default", [64], t(inputs[0]), 64)
        return [tape.made("mul.Scalar", [64], t(counts), 2.0)]

    order = program(call, [[COUNT]], timing=ProgramTimingOrder(max_ms=200.0))
    outcome = launcher.run(order)

    assert outcome.ending is LaunchEnding.OK, outcome
    assert outcome.clean
    assert outcome.result["method"] == "events", outcome.result
    assert "cannot be captured as a CUDA graph" in outcome.result["timing_note"]
    timing = outcome.result["timing"]
    assert timing["checked_repeats"] == timing["repeats"] >= 3
    assert timing["differing_repeats"] == 0
    assert 0 < timing["median_us"] < 10_000
    assert len(outcome.result["entries"]) == 2


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


def test_unwritten_elements_are_reported(launcher):
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
        reference=program(doubled, [shape], **known),
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


def test_a_reference_has_the_memory_that_its_program_had(launcher):
    shape = [6 << 30]  # 24 GiB each: the inputs of both calls, and a result

    def doubled(tape, inputs):
        large = tape.made("mul.Scalar", shape, t(inputs[0]), 2.0)
        return [tape.made("sum.default", [], t(large))]

    known = {"memory_bytes": 120 << 30, "timing": ProgramTimingOrder(max_ms=100.0)}
    order = replace(
        program(doubled, [shape], **known),
        reference=program(doubled, [shape], **known),
        tolerances={0: Tolerance(rtol=1e-5)},
    )
    result = launcher.run(order).result

    assert result["findings"] == []
    assert result["peak_bytes"] >= 72 << 30
    assert result["compared"]["reference"]["findings"] == []
    assert result["compared"]["reference"]["ending"] == "finished"


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


def test_nothing_of_a_program_is_left_for_the_next(launcher):
    def full(tape, inputs):
        return [tape.made("add.Scalar", [4], t(one), 1.0) for one in inputs[:1]]

    def reading(tape, inputs):
        found = []
        for index in (0, -5000, -50_000, -100_000):  # behind it, no memory is mapped
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
    assert [floats(outcome, f"0:{at}")[0] for at in (1, 2, 3)] == [0.0] * 3


@pytest.mark.parametrize(
    ("build", "args", "scalars", "kind"),
    [
        ("store_far", {"distance": 1 << 40}, {"distance": "i64"}, "illegal_access"),
        ("misaligned", {}, {}, "misaligned_access"),
        ("matmul_too_much_shared", {"K": 64}, {"K": "i32"}, "does_not_fit"),
    ],
)
def test_a_fault_is_reported_with_its_op(launcher, build, args, scalars, kind):
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


def storing(count: int, index: int) -> ProgramOrder:
    """Return an order whose kernel stores at an index of a tensor."""

    def call(tape, inputs):
        out = tape.full([count], 0.0, "fp32")
        tape.launch("store_at", {"output_ptr": t(out), "index": index}, index="i32")
        return [out]

    return program(call, [[4]])


def test_a_store_behind_a_tensor_changes_a_red_zone(launcher):
    result = launcher.run(storing(1000, 1000)).result

    found = [(one["kind"], one["argument"]) for one in result["findings"]]
    assert found == [("out_of_bounds", "output_ptr")] * 2


def test_a_store_before_a_tensor_changes_a_red_zone(launcher):
    result = launcher.run(storing(1000, -3)).result

    assert {one["kind"] for one in result["findings"]} == {"out_of_bounds"}


def test_a_store_behind_the_page_of_a_tensor_is_a_fault(launcher):
    outcome = launcher.run(storing(64, 64))

    assert outcome.ending is LaunchEnding.FAULT, outcome
    assert outcome.fault["kind"] == "illegal_access"


def test_a_program_and_its_reference_are_timed_in_turns(launcher, figure):
    def added(tape, inputs):
        return [tape.made("add.Tensor", [COUNT], t(inputs[0]), t(inputs[1])), *inputs]

    timing = ProgramTimingOrder(max_ms=200.0)
    order = replace(
        program(adding, [[COUNT], [COUNT]], timing=timing),
        turns=program(added, [[COUNT], [COUNT]], timing=timing),
        tolerances={0: Tolerance(rtol=1e-6), 1: Tolerance(), 2: Tolerance()},
    )
    began = time.monotonic()
    outcome = launcher.run(order)
    wall_s = time.monotonic() - began

    assert outcome.ending is LaunchEnding.OK, outcome
    assert outcome.clean
    result = outcome.result
    assert result["timing"] is not None, result["timing_note"]
    ours, theirs = result["timing"], result["turns"]["timing"]
    figure(f"{ours['median_us']} and {theirs['median_us']} us, {ours['repeats']} turns, {wall_s} s")
    assert ours["fresh_values"]
    assert ours["repeats"] == theirs["repeats"] >= ours["checked_repeats"] >= 8
    assert (ours["differing_repeats"], result["wrong_turns"]) == (0, [])
    assert (result["changed_storages"], result["changed_elsewhere"]) == ([], False)
    assert 0.5 < ours["median_us"] / theirs["median_us"] < 2


def test_a_program_that_differs_from_its_reference_differs_in_each_turn(launcher):
    def halved(tape, inputs):
        return [tape.made("mul.Scalar", [COUNT], t(inputs[0]), 0.5)]

    def doubled(tape, inputs):
        return [tape.made("mul.Scalar", [COUNT], t(inputs[0]), 2.0)]

    timing = ProgramTimingOrder(max_ms=100.0)
    order = replace(
        program(halved, [[COUNT]], timing=timing),
        turns=program(doubled, [[COUNT]], timing=timing),
        tolerances={0: Tolerance(rtol=1e-6)},
    )
    timing = launcher.run(order).result["timing"]

    assert timing["differing_repeats"] == timing["checked_repeats"] > 0


def test_an_index_out_of_range_of_an_op_is_reported(launcher):
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
    assert "but a replay on the GPU has only 1,000" in outcome.result["findings"][0]["message"]


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
