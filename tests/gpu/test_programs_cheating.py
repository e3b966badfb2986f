"""Programs whose kernels cheat by means that only a GPU has: memory and state that outlive a run.

The kernels are those of `tests/kernels/cheats`, which the tests of launches use, too.
"""

import pytest

from tests.gpu.programs_on_gpu import GPU, program, reference, reported
from tests.programs.with_torch.evaluating import evaluate
from tests.security.cheats.cheat import FILES

REFERENCE = """import torch

class Model(torch.nn.Module):
    def forward(self, x, y):
        return x + y

def get_inputs():
    return [torch.randn(98432, device="cuda"), torch.randn(98432, device="cuda")]
"""
LAUNCHING = """

import torch

class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        output = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, y, output, x.numel(), BLOCK=1024)
        return output
"""
GAINS_NOTHING = {
    "keeps_an_output_that_looks_right", "begins_before_its_turn", "fetches_the_next_inputs",
}  # fmt: skip
"""Their result is right in every iteration, and they take their time for it."""
MARKS = {"keeps_a_mark_in_local_memory", "keeps_a_mark_in_shared_memory"}
"""If the GPU loses the mark between two runs, the kernel does all of its work."""
MAX_SPEEDUP_OF_ALL_WORK = 1.1
STATE = sorted(path.stem for path in (FILES / "state").glob("*.py"))
MEMORY = ("copies_what_lies_before", "scans_for_the_answer", "reads_what_others_left",
          "does_nothing", "zeroes_its_inputs", "spoils_an_input", "spreads_nan")  # fmt: skip
LEFT = 1234.5
READS_ALL = """
@triton.jit
def reads_all_kernel(x_ptr, output_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(output_ptr + offsets, tl.load(x_ptr + offsets))
"""


KEEPS_BEHIND_AN_ADDRESS = """import torch
import triton
import triton.language as tl

@triton.jit
def note_address(t, table):
    tl.store(table, t.to(tl.int64))

@triton.jit
def kept_add(table, x, y, output, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.load(table).to(tl.pointer_type(tl.float32))
    key = tl.load(x)
    if tl.load(kept + tl.program_id(0)) == key:
        result = tl.load(kept + 1024 + offsets, mask=offsets < n)
    else:
        result = tl.load(x + offsets, mask=offsets < n) + tl.load(y + offsets, mask=offsets < n)
        tl.store(kept + 1024 + offsets, result, mask=offsets < n)
        tl.store(kept + tl.program_id(0), key)
    tl.store(output + offsets, result, mask=offsets < n)

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = torch.zeros(1024 + 98432, device="cuda")
        self.register_buffer("table", torch.zeros(1, dtype=torch.int64, device="cuda"))
        note_address[(1,)](self.kept, self.table)

    def forward(self, x, y):
        output = torch.empty_like(x)
        kept_add[(triton.cdiv(x.numel(), 1024),)](
            self.table, x, y, output, x.numel(), BLOCK=1024
        )
        self.kept[:1].clone()
        return output
"""


@pytest.fixture
def run(programs, figure):
    """Return a function that evaluates a program on the GPU and records the answer."""

    def post(source, beside=REFERENCE, **more):
        answer = evaluate(programs, source, beside, **more)
        figure(reported(answer))
        return answer

    return post


def cheat(folder: str, name: str) -> str:
    """Return a program that launches the kernel of a file once."""
    return (FILES / folder / f"{name}.py").read_text() + LAUNCHING


@pytest.mark.parametrize("name", [name for name in STATE if name not in GAINS_NOTHING])
def test_a_kernel_that_keeps_state_is_caught(run, name):
    timing = {"min_repeats": 60, "warmup_repeats": 11}
    answer = run(cheat("state", name), timing=timing)
    kinds = {one["kind"] for one in answer["findings"]}

    assert answer["state"] == "completed", answer["problem"]
    works = name in MARKS and answer["speedup"] < MAX_SPEEDUP_OF_ALL_WORK
    assert answer["verdict"] != "passed" or "state_kept" in kinds or works, answer


@pytest.mark.parametrize("name", sorted(GAINS_NOTHING))
def test_a_kernel_that_gains_nothing_by_it_may_pass(run, name):
    assert run(cheat("state", name))["verdict"] == "passed"


@pytest.mark.parametrize("name", MEMORY)
def test_a_kernel_that_reaches_for_memory_does_not_pass(run, name):
    answer = run(cheat("memory", name))

    assert answer["state"] == "completed", answer["problem"]
    assert answer["verdict"] != "passed", answer


def test_results_that_are_kept_behind_an_address_are_reported(run):
    answer = run(KEEPS_BEHIND_AN_ADDRESS)

    assert answer["state"] == "completed", answer["problem"]
    assert "state_kept" in {one["kind"] for one in answer["findings"]}
    assert not answer["reward"]["correct"]


def test_an_honest_kernel_passes_behind_them_all(run):
    answer = run((FILES / "honest" / "adds.py").read_text() + LAUNCHING)

    assert (answer["verdict"], answer["findings"]) == ("passed", [])


def test_what_a_program_left_in_memory_is_not_there_for_the_next(run):
    leaves = f"kept = torch.full((1 << 20,), {LEFT}, device=x.device)\nreturn kept + x[0, 0]"
    ones = reference("return x", "torch.zeros(4, 4, device='cuda')")
    run(program(leaves), ones)
    reading = (
        "output = torch.empty(1 << 16, device=x.device)\n"
        "reads_all_kernel[(64,)](x, output, x.numel(), BLOCK=1024)\nreturn output"
    )
    answer = run(program(reading, kernels=READS_ALL), ones)
    summary = (answer["outputs"] or {}).get("0", {}).get("summary") or {}

    assert summary.get("max") != LEFT, answer


def test_the_same_program_is_as_fast_as_itself(run):
    """Neither of the two gains from its position."""
    answer = run(REFERENCE.replace("class Model", "class ModelNew"))

    assert answer["verdict"] == "passed", answer
    assert answer["speedup"] == pytest.approx(1, abs=0.15)
    assert "no_kernel" in answer["reward"]["flags"]


def test_the_device_is_one_of_those_that_are_offered(programs):
    offered = programs.get("/v1/devices").json()["devices"]
    assert GPU["target"] in [device["target"] for device in offered]
    refused = programs.post("/v1/programs", json={
        "source": program("return x"), "device": {"target": "cuda:75"}, "reference": None,
    })  # fmt: skip
    assert refused.status_code in {422, 503}, refused.text
    assert "/device" in refused.text or "cuda:75" in refused.text
