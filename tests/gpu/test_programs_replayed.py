"""Programs on a real GPU: right, wrong and faulty ones, with their references."""

import pytest

from benchmarks.gpu.program_evaluations import KERNELBENCH_TOLERANCE, samples
from tests.gpu.programs_on_gpu import inputs, line_of, program, reference, reported
from tests.programs.with_torch.evaluating import evaluate

X = "torch.randn(300, 70)"
DOUBLED = reference("return x * 2.0", X)
RIGHT = program("return scaled(x, 2.0)")
FAR = """
@triton.jit
def far_kernel(x_ptr, output_ptr):
    offsets = tl.arange(0, 64)
    far = tl.full((64,), 1 << 40, tl.int64)
    tl.store(output_ptr + offsets, tl.load(x_ptr + far + offsets))
"""
ENDLESS = """
@triton.jit
def endless_kernel(x_ptr, output_ptr):
    while tl.load(x_ptr, volatile=True) == tl.load(x_ptr, volatile=True):
        tl.store(output_ptr, tl.load(output_ptr, volatile=True) + 1)
"""


@pytest.fixture
def run(programs, figure):
    """Return a function that evaluates a program on the GPU and records the answer."""

    def post(source, beside=None, **more):
        answer = evaluate(programs, source, beside, **more)
        figure(reported(answer))
        return answer

    return post


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_a_right_program_has_passed_at_its_full_size(run, sample):
    answer = run(sample.source, sample.reference, tolerance=KERNELBENCH_TOLERANCE)

    assert answer["verdict"] == "passed", answer
    assert answer["device"]["target"] == "cuda:90"
    assert set(answer["reward"]["serious"]) <= {"torch_did_the_work"}  # some leave much to it
    assert answer["peak_bytes"] > 1 << 20


def test_a_wrong_program_is_a_mismatch(run):
    answer = run(program("return scaled(x, 2.001)"), DOUBLED)

    assert answer["verdict"] == "mismatch", answer
    assert answer["outputs"]["0"]["comparison"]["mismatched"] > 10_000
    assert not answer["reward"]["correct"]


def test_tensors_that_are_made_on_the_cpu_and_moved_have_one_value(run):
    moved = DOUBLED.replace(X, f"{X}.cuda()").replace("return x *", "return x.cuda() *")

    assert run(program("return scaled(x.cuda(), 2.0)"), moved)["verdict"] == "passed"


def test_both_programs_draw_the_same_numbers(run):
    dropped = "torch.nn.functional.dropout(x, 0.5)"
    answer = run(program(f"return scaled({dropped}, 2.0)"), reference(f"return {dropped} * 2.0", X))

    assert answer["verdict"] == "passed", answer


def test_gradients_are_replayed(run):
    grad = "with torch.enable_grad():\n    x.requires_grad_()\n    {}.sum().backward()\nreturn {}"
    beside = reference(grad.format("torch.tanh(x)", "x.grad * 2.0"), X)

    answer = run(program(grad.format("torch.tanh(x)", "scaled(x.grad, 2.0)")), beside)
    assert answer["verdict"] == "passed", answer


def test_an_input_that_only_the_program_changes_is_a_separate_verdict(run):
    in_place = "scale_kernel[(21,)](x, x, x.numel(), 2.0, BLOCK=1024)\nreturn scaled(x, 1.0)"

    assert run(program(in_place), DOUBLED)["verdict"] == "input_modified"


def test_another_shape_is_a_mismatch(run):
    answer = run(program("return scaled(x, 2.0)[:2]"), DOUBLED)

    assert answer["verdict"] == "mismatch"
    assert "wrong_shape" in [one["kind"] for one in answer["findings"]]


def test_unwritten_elements_do_not_match(run):
    half = "output = torch.empty_like(x)\nscale_kernel[(1,)](x, output, 512, 2.0, BLOCK=1024)\n"
    answer = run(program(half + "return output"), DOUBLED)

    assert answer["verdict"] == "mismatch"
    assert answer["outputs"]["0"]["comparison"]["mismatched"] == 300 * 70 - 512


def test_an_illegal_access_is_reported_at_its_launch_and_the_next_program_passes(run):
    launching = "output = torch.empty_like(x)\nfar_kernel[(1,)](x, output)\nreturn output"
    source = program(launching, kernels=FAR)
    answer = run(source, DOUBLED)

    assert answer["verdict"] == "illegal_access", answer
    assert line_of(source, "far_kernel[(1,)]") in [one["line"] for one in answer["findings"]]
    assert run(RIGHT, DOUBLED)["verdict"] == "passed"


def test_a_kernel_without_an_end_is_a_timeout_and_the_next_program_passes(run):
    launching = "output = torch.zeros_like(x)\nendless_kernel[(1,)](x, output)\nreturn output"
    answer = run(program(launching, kernels=ENDLESS), DOUBLED, timeout_s=5)

    assert answer["verdict"] == "timeout", answer
    assert run(RIGHT, DOUBLED)["verdict"] == "passed"


def test_an_index_out_of_range_in_torch_is_reported_and_the_next_program_passes(run):
    at = "torch.full((4,), 300 * 70, device=x.device)"
    answer = run(program(f"return scaled(x.flatten()[{at}], 2.0)"), DOUBLED)

    assert answer["verdict"] in {"out_of_bounds", "crashed", "illegal_access"}, answer
    assert run(RIGHT, DOUBLED)["verdict"] == "passed"


def test_more_memory_than_the_gpu_has_is_reported_at_its_line(run):
    source = program("return scaled(x, 2.0) + torch.zeros(1 << 38, device='cuda').sum()")
    answer = run(source, DOUBLED)

    assert answer["verdict"] == "out_of_memory", answer
    assert line_of(source, "1 << 38") in [one["line"] for one in answer["findings"]]


def test_large_outputs_are_compared(run):
    large = reference("return x * 2.0", "torch.rand(1 << 27, device='cuda')")

    assert run(RIGHT, large)["verdict"] == "passed"
    wrong = "output = scaled(x, 2.0)\noutput[-1] += 0.5\nreturn output"
    assert run(program(wrong), large)["verdict"] == "mismatch"


@pytest.mark.parametrize(
    ("launching", "kernels", "kind"),
    [
        ("output = torch.empty_like(x)\nfar_kernel[(1,)](x, output)", FAR, "accessed memory"),
        ("output = torch.zeros_like(x)\nendless_kernel[(1,)](x, output)", ENDLESS, "timeout_s = 8"),
    ],
    ids=["fault", "no end"],
)
def test_what_ends_a_reference_beside_its_program_is_its_own(run, launching, kernels, kind):
    large = "torch.rand(1 << 27, device='cuda')"
    beside = reference(f"{launching}\nreturn output", large, kernels=kernels)
    answer = run(RIGHT, beside, timeout_s=8)

    assert answer["verdict"] == "invalid_reference", answer
    assert kind in answer["findings"][0]["message"]
    assert run(RIGHT, DOUBLED)["verdict"] == "passed"


def test_a_program_is_not_judged_by_a_reference_that_fails_alone(run):
    launching = "output = torch.empty_like(x)\nfar_kernel[(1,)](x, output)\nreturn output"
    answer = run(RIGHT, reference(launching, X, kernels=FAR))

    assert (answer["verdict"], answer["reward"]) == ("invalid_reference", None), answer


def test_each_case_has_its_own_verdict(run):
    short = (
        "output = torch.zeros_like(x)\nscale_kernel[(1,)](x, output, x.numel(), 2.0, BLOCK=1024)"
    )
    cases = [{"inputs": inputs(f"torch.randn({size})")} for size in (1000, 2000)]
    answer = run(program(f"{short}\nreturn output"), DOUBLED, cases=cases)

    assert [case["verdict"] for case in answer["cases"]] == ["passed", "mismatch"], answer


def test_a_script_and_a_function_run_too(run):
    script = RIGHT + "\ny = scaled(torch.arange(100.0, device='cuda'), 2.0)\n"
    answer = run(script, entry={"kind": "script", "outputs": ["y"]})

    assert answer["verdict"] == "not_checked", answer
    assert answer["outputs"]["y"]["summary"]["max"] == 198.0
    function = RIGHT + "\ndef doubled(x):\n    return scaled(x, 2.0)\n"
    answer = run(function, DOUBLED, entry={"kind": "function", "name": "doubled"})
    assert answer["verdict"] == "passed", answer
