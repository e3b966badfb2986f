"""Experiments: replays of a tape with noise, with copies for kernels, or with measured times."""

from typing import Any

import torch

from programs.replay.replay_order import Experiment
from tests.programs.unit.tape_maker import TapeMaker, t
from tests.programs.with_torch.replaying import Replayed, replayed, same_bits

COPY = """
module {
  tt.func public @copy_kernel(%a: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
    %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %from = tt.splat %a : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %first = tt.addptr %from, %range : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %value = tt.load %first : tensor<64x!tt.ptr<f32>>
    %to = tt.splat %out : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %second = tt.addptr %to, %range : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    tt.store %second, %value : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""


def _program(*, is_used: bool = True) -> tuple[dict[str, Any], int]:
    """Return a tape that squares its input in torch and launches a copy, and the square's op."""
    made = TapeMaker()
    made.phase = "inputs"
    given = [made.op("randn.default", {"list": [64]}) for _ in range(2)]
    results, squares = [], []
    for phase, one in zip(("run", "run2"), given, strict=True):
        made.phase = phase
        squares.append(len(made.ops))
        square = made.op("mul.Tensor", t(one), t(one))
        out = made.empty()
        made.launch(square if is_used else one, out)
        results.append(out)
    return made.json(given[:1], results[:1], given[1:], results[1:]), squares[0]


def _ran(tape: dict[str, Any], experiment: Experiment | None) -> Replayed:
    kernels = {"0": (COPY, ["a", "out"])}
    return replayed(tape, kernels, ["0", "0"], experiment=experiment)


def test_noise_in_what_an_output_needs_changes_it() -> None:
    tape, square = _program()
    plain = _ran(tape, None)
    noisy = _ran(tape, Experiment(noise=[square], seed=5))
    assert not same_bits(noisy.outputs(0), plain.outputs(0))
    assert bool(noisy.outputs(0)[0].isfinite().all())


def test_noise_in_what_no_output_needs_changes_nothing() -> None:
    tape, square = _program(is_used=False)
    plain = _ran(tape, None)
    noisy = _ran(tape, Experiment(noise=[square], seed=5))
    assert same_bits(noisy.outputs(0), plain.outputs(0))


def test_little_noise_leaves_most_elements() -> None:
    tape, square = _program()
    plain = _ran(tape, None).outputs(0)[0]
    noisy = _ran(tape, Experiment(noise=[square], seed=5, noise_share=1e-4)).outputs(0)[0]
    assert 1 <= int((noisy != plain).sum()) < 4


def test_an_experiment_runs_only_the_first_call() -> None:
    tape, square = _program()
    assert "output:1:0" not in _ran(tape, Experiment(noise=[square])).sent


def test_a_copy_takes_the_place_of_a_launch() -> None:
    tape, _ = _program()
    plain = _ran(tape, None)
    launch = next(n for n, op in enumerate(tape["ops"]) if op["op"] == "launch")
    arguments = tape["ops"][launch]["args"]
    copy = (launch, arguments["out"]["t"], arguments["a"]["t"])
    copied = _ran(tape, Experiment(launches="replaced", copies=[copy]))
    assert same_bits(copied.outputs(0), plain.outputs(0))


def test_an_output_is_unwritten_without_its_launch() -> None:
    tape, _ = _program()
    assert "unwritten:0:0" in _ran(tape, Experiment(launches="replaced")).sent


def test_times_are_those_of_aten_ops() -> None:
    tape, _ = _program()
    times = _ran(tape, Experiment(launches="replaced", timed=3)).report.op_times_us
    assert len(times) == len(tape["ops"])
    assert all(time == 0 for time, op in zip(times, tape["ops"], strict=True) if "kernel" in op)


def test_noise_reaches_the_elements_of_overlapping_views() -> None:
    made = TapeMaker()
    made.phase = "inputs"
    given = [made.op("randn.default", {"list": [64]}) for _ in range(2)]
    results, ops = [], []
    for phase, one in zip(("run", "run2"), given, strict=True):
        made.phase = phase
        both = made.op("mul.Tensor", t(one), t(one))
        view = made.tensor(64, both)
        made.tensors[view] = ["fp32", "cuda", [2, 33], [1, 1], 0, made.tensors[both][5]]
        made.op("as_strided.default", t(both), {"list": [2, 33]}, {"list": [1, 1]}, into=view)
        ops.append(len(made.ops))
        made.op("uniform_.default", t(view), into=view)
        results.append(both)
    tape = made.json(given[:1], results[:1], given[1:], results[1:])
    plain = replayed(tape).outputs(0)[0]
    noisy = replayed(tape, experiment=Experiment(noise=ops[:1], seed=3)).outputs(0)[0]
    changed = noisy != plain
    assert int(changed[:34].sum()) == 34
    assert torch.equal(noisy[34:], plain[34:])


def test_measuring_leaves_what_one_call_leaves() -> None:
    made = TapeMaker()
    made.phase = "inputs"
    given = [made.op("randn.default", {"list": [64]}) for _ in range(2)]
    results = []
    for phase, one in zip(("run", "run2"), given, strict=True):
        made.phase = phase
        total = made.op("mul.Tensor", t(one), t(one))
        results.append(made.op("add_.Tensor", t(total), t(one), into=total))
    tape = made.json(given[:1], results[:1], given[1:], results[1:])
    timed = replayed(tape, experiment=Experiment(timed=3))
    assert same_bits(timed.outputs(0), replayed(tape).outputs(0))
