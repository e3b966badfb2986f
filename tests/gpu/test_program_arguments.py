"""Program launchers pass numbers, tuple items, descriptors and scratch to kernels."""

from __future__ import annotations

import numpy as np
import pytest

from programs.gpu.program_order import ProgramTimingOrder
from tests.gpu.program_launching import floats
from tests.gpu.program_tapes import program, t
from worker.gpu.supervisor.launcher_protocol import LaunchEnding

pytest.importorskip("torch")


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
