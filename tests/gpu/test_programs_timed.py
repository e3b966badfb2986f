"""Times of programs on a real GPU: of the call, of each entry, of each config."""

import pytest

from benchmarks.gpu.program_evaluations import KERNELBENCH_TOLERANCE, samples
from programs.gpu.turns import ALWAYS_COMPARED
from tests.gpu.programs_on_gpu import program, reference, reported
from tests.programs.with_torch.evaluating import evaluate

X = "torch.rand(2048, 2048, device='cuda')"
DOUBLED = reference("return x * 2.0", X)
TWICE = "return scaled(scaled(x, 2.0), 1.0)"
TUNED = """
@triton.autotune([triton.Config({"BLOCK": size}, num_warps=4) for size in (32, 1024)], key=["n"])
@triton.jit
def tuned_kernel(x_ptr, output_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(output_ptr + offsets, 2.0 * tl.load(x_ptr + offsets))
"""


@pytest.fixture
def run(programs, figure):
    """Return a function that evaluates a program, which must pass."""

    def post(source, beside=DOUBLED, **more):
        answer = evaluate(programs, source, beside, **more)
        figure(reported(answer))
        assert answer["verdict"] == "passed", answer
        return answer

    return post


def test_a_program_is_timed_beside_its_reference(run):
    answer = run(program("return scaled(x, 2.0)"))
    own, beside = answer["timing"], answer["reference"]["timing"]
    low, high = answer["speedup_interval"]

    assert own["repeats"] >= 20
    assert own["method"] == "graph"
    assert own["interval_us"][0] <= own["median_us"] <= own["interval_us"][1]
    # 2 * 16 MiB at less than 5 TB/s, and with no more than ten times that
    assert 6 < own["median_us"] < 70
    assert answer["speedup"] == pytest.approx(beside["median_us"] / own["median_us"], rel=0.01)
    assert low <= answer["speedup"] <= high
    assert answer["reward"]["speedup"] == answer["speedup"]


def test_many_repeats_are_compared_with_the_reference(run):
    timing = run(program("return scaled(x, 2.0)"))["timing"]

    # on a busy machine comparisons take their share of the time, and then a few are drawn
    assert min(ALWAYS_COMPARED, timing["repeats"]) <= timing["checked_repeats"]
    assert timing["checked_repeats"] <= timing["repeats"]
    assert timing["differing_repeats"] == 0


def test_more_work_takes_longer(run):
    once = run(program("return scaled(x, 2.0)"))
    twice = run(program(TWICE))

    assert twice["timing"]["median_us"] > 1.2 * once["timing"]["median_us"]
    assert twice["speedup"] < once["speedup"]


def test_a_program_that_only_launches_is_its_kernels_alone(run):
    answer = run(program("return scaled(x, 2.0)"))

    assert answer["coverage"] > 0.95
    assert answer["entries"][0]["is_kernel"]
    assert answer["entries"][0]["name"] == "scale_kernel"


def test_a_product_that_torch_makes_is_most_of_the_time(run):
    beside = reference("return (x @ x) * 2.0", X)
    answer = run(program("return scaled(x @ x, 2.0)"), beside, tolerance=KERNELBENCH_TOLERANCE)
    first = answer["entries"][0]

    assert answer["coverage"] < 0.5
    assert "mm" in first["name"]
    assert not first["is_kernel"]
    assert answer["reward"]["coverage"] == answer["coverage"]
    assert "torch_did_the_work" in answer["reward"]["flags"]


@pytest.mark.parametrize("name", ["layer_norm_mlp", "matmul", "softmax"])
def test_the_entries_add_up_to_the_whole(run, figure, name):
    [sample] = [one for one in samples() if one.name == name]
    answer = run(sample.source, sample.reference, tolerance=KERNELBENCH_TOLERANCE)
    total_us = sum(entry["us"] for entry in answer["entries"])
    figure(f"{total_us} of {answer['timing']['median_us']} us")

    assert sum(entry["share"] for entry in answer["entries"]) == pytest.approx(1, abs=0.01)
    own = sum(entry["share"] for entry in answer["entries"] if entry["is_kernel"])
    assert answer["coverage"] == pytest.approx(own, abs=0.02)
    assert total_us == pytest.approx(answer["timing"]["median_us"], rel=0.15)


def test_the_fastest_configuration_is_found_and_runs(run):
    launching = (
        "output = torch.empty_like(x)\n"
        "grid = lambda meta: (x.numel() // meta['BLOCK'],)\n"
        "tuned_kernel[grid](x, output, x.numel())\nreturn output"
    )
    answer = run(program(launching, kernels=TUNED))
    fastest = [
        kernel["configuration"]["constexprs"]["BLOCK"]
        for kernel in answer["kernels"]
        if kernel["configuration"]["is_fastest"]
    ]

    assert len(answer["kernels"]) == 2
    assert fastest == [1024]
    assert [one["configuration"] for one in answer["entries"] if one["is_kernel"]] == [1]


def test_timing_follows_what_was_asked(run):
    timing = {"min_repeats": 7, "max_repeats": 7, "samples": True, "flush_l2": False}
    found = run(program("return scaled(x, 2.0)"), timing=timing)["timing"]

    assert found["repeats"] == 7
    assert len(found["samples_us"]) == 7


def test_what_does_not_pass_has_no_reward_for_its_speed(programs, figure):
    answer = evaluate(programs, program("return torch.empty_like(x)"), DOUBLED)
    figure(reported(answer))

    assert answer["verdict"] == "mismatch"
    assert answer["reward"]["speedup"] is None
