"""torch has a generator for the CPU and one for CUDA; neither advances the other.

Tests compare a replay's CPU draws with eager torch without the CUDA draws, bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from programs.tape.allowed_overloads import ALLOWED
from programs.tape.overload_effects import draws
from programs.tape.schema import AtenOp
from tests.programs.with_torch.eager_recording import SEED
from tests.programs.with_torch.evaluating import evaluate
from tests.programs.with_torch.recording_process import RecordingProcess
from tests.programs.with_torch.replaying import replayed

CUDA = "device='cuda'"


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


def replayed_values(recorder: RecordingProcess, *lines: str) -> dict[str, bytes]:
    """Return the elements of a script's variables after a replay."""
    answer = recorder.record("\n".join(["import torch", *lines, ""]))
    assert "ops" in answer, answer
    names = list(answer["outputs"]["dict"])
    found = replayed(answer | {"outputs": {"tuple": list(answer["outputs"]["dict"].values())}})
    assert found.report.findings == []
    return {name: found.sent[f"output:0:{at}"] for at, name in enumerate(names)}


def eager_values(*lines: str) -> dict[str, bytes]:
    """Return the elements of a script's variables after eager torch on the CPU."""
    made: dict[str, Any] = {"torch": torch}
    torch.manual_seed(SEED)
    exec("\n".join(lines), made)
    kept = {name: one for name, one in made.items() if isinstance(one, torch.Tensor)}
    return {name: one.detach().contiguous().numpy().tobytes() for name, one in kept.items()}


LINEAR = "w = torch.nn.Linear(4, 4).weight.detach()"


def test_a_draw_on_cuda_leaves_weights_of_the_cpu_as_they_are(recorder: RecordingProcess) -> None:
    found = replayed_values(recorder, f"x = torch.randn(7, {CUDA})", LINEAR)
    assert found["w"] == eager_values(LINEAR)["w"]


def test_a_draw_on_the_cpu_leaves_those_on_cuda_as_they_are(recorder: RecordingProcess) -> None:
    alone = replayed_values(recorder, f"x = torch.randn(7, {CUDA})")
    found = replayed_values(recorder, LINEAR, f"x = torch.randn(7, {CUDA})")
    assert found["x"] == alone["x"]


@pytest.mark.parametrize("seeds", ["torch.cuda.manual_seed(3)", "torch.cuda.manual_seed_all(3)"])
def test_a_seed_of_cuda_leaves_the_cpu_where_it_is(recorder: RecordingProcess, seeds: str) -> None:
    found = replayed_values(recorder, seeds, "a = torch.rand(4)", f"b = torch.rand(4, {CUDA})")
    assert found["a"] == eager_values("a = torch.rand(4)")["a"]
    assert found["b"] == eager_values("torch.manual_seed(3)", "b = torch.rand(4)")["b"]


def test_a_seed_of_torchs_seeds_both(recorder: RecordingProcess) -> None:
    draws_both = "torch.manual_seed(3)", "a = torch.rand(4)", f"b = torch.rand(4, {CUDA})"
    found = replayed_values(recorder, *draws_both)
    assert (
        found["a"] == found["b"] == eager_values("torch.manual_seed(3)", "a = torch.rand(4)")["a"]
    )


def test_a_seed_of_the_default_generator_is_the_cpus(recorder: RecordingProcess) -> None:
    draws_both = "a = torch.rand(4)", f"b = torch.rand(4, {CUDA})"
    found = replayed_values(recorder, "torch.default_generator.manual_seed(3)", *draws_both)
    assert found["a"] == eager_values("torch.manual_seed(3)", "a = torch.rand(4)")["a"]
    assert found["b"] == replayed_values(recorder, *draws_both)["b"]


@pytest.mark.parametrize(
    ("own", "device"), [("torch.Generator()", "cuda"), (f"torch.Generator({CUDA})", "cpu")]
)
def test_a_generator_of_another_device_is_torchs_own_error(
    recorder: RecordingProcess, own: str, device: str
) -> None:
    source = f"import torch\ntorch.rand(4, generator={own}, device='{device}')\n"
    found = recorder.refusal(source)
    assert (found["reason"], found["line"]) == ("program_error", 2)
    assert f"Expected a '{device}' device type for generator" in found["detail"]


@pytest.mark.parametrize(
    "asks", ["torch.initial_seed()", "torch.cuda.initial_seed()", "torch.cuda.seed()",
             "torch.default_generator.initial_seed()", "torch.default_generator.get_state()",
             "torch.cuda.default_generators[0].manual_seed(1)"],
)  # fmt: skip
def test_what_asks_how_far_a_generator_has_come_is_refused(
    recorder: RecordingProcess, asks: str
) -> None:
    assert recorder.refusal(f"import torch\n{asks}\n")["reason"] == "random_state"


def test_a_fork_of_the_generators_that_draws_is_refused(recorder: RecordingProcess) -> None:
    fork = "import torch\nwith torch.random.fork_rng():\n    x = torch.rand(4, device='{}')\n"
    for device in ("cpu", "cuda"):
        assert recorder.refusal(fork.format(device))["reason"] == "random_state"
    assert "ops" in recorder.record(fork.replace("rand(", "ones(").format("cuda"))


DRAWS = (
    "{name} = torch.randn(5, {device})",
    "{name} = torch.nn.functional.dropout(torch.ones(9, {device}), 0.5)",
    "{name} = torch.empty(5, {device}).uniform_(1, 2)",
    "{name} = torch.randperm(9, {device})",
    "{name} = torch.nn.functional.scaled_dot_product_attention("
    "*torch.ones(3, 1, 2, 3, {device}), dropout_p=0.5)",
    "{name} = torch.bernoulli(torch.full((9,), 0.5, {device}))",
    "{name} = torch.multinomial(torch.ones(9, {device}), 3)",
    "{name} = torch.rand(5, generator=torch.Generator({device}).manual_seed(5), {device})",
)
SEEDS = ("torch.manual_seed(3)", "torch.{module}manual_seed(4)")
STATEMENTS = st.lists(
    st.tuples(st.sampled_from((*DRAWS, *SEEDS)), st.sampled_from(("cpu", "cuda"))),
    min_size=2, max_size=8,
)  # fmt: skip


@settings(
    max_examples=40, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(statements=STATEMENTS)
def test_each_device_draws_what_it_would_draw_alone(
    recorder: RecordingProcess, statements: list[tuple[str, str]]
) -> None:
    """`torch.default_generator` is seeded if the statement belongs to the CPU alone."""
    lines: list[str] = []
    alone: dict[str, list[str]] = {"cpu": [], "cuda": []}
    for number, (text, device) in enumerate(statements):
        module = "cuda." if device == "cuda" else "default_generator."
        filled = {"name": f"v{number}", "device": f"device='{device}'", "module": module}
        lines.append(text.format(**filled))
        eager = text.format(**filled | {"device": "device='cpu'", "module": ""})
        for kind in ("cpu", "cuda") if "torch.manual_seed" in text else (device,):
            alone[kind].append(eager)
    found = replayed_values(recorder, "z = torch.zeros(1)", *lines)
    del found["z"]
    expected = eager_values(*alone["cpu"]) | eager_values(*alone["cuda"])
    assert found == expected, lines


def test_the_ops_that_draw_are_those_that_torch_says() -> None:
    for name in ALLOWED:
        _, packet, overload = name.split(".")
        op = getattr(getattr(torch.ops.aten, packet), overload)
        says = torch.Tag.nondeterministic_seeded in op.tags
        half = tuple([0.5] * 8)  # whichever argument gives the probability
        assert draws(AtenOp(name, half, {}, (), "run", None)) is says, name


MODEL = """import torch
class {name}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.randn(8, device="{device}").cuda()
    def forward(self, x):
        return x * self.scale
"""
INPUTS = "def get_inputs():\n    return [torch.randn(8, device='cuda')]\n"


@pytest.mark.parametrize(("device", "warned"), [("cuda", 1), ("cpu", 0)])
def test_an_output_that_depends_on_a_draw_on_cuda_is_warned_of(
    programs: httpx.Client, device: str, warned: int
) -> None:
    text, reference = (MODEL.format(name=name, device=device) for name in ("ModelNew", "Model"))
    program = evaluate(programs, text, reference + INPUTS)
    assert program["verdict"] == "passed", program
    assert sum("draws on CUDA at user.py:5" in one for one in program["warnings"]) == warned
