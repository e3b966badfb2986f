"""Programs that draw from their own `torch.Generator` get eager torch's numbers."""

from __future__ import annotations

import httpx
import pytest
import torch

from tests.programs.with_torch.evaluating import evaluate

MAKE = "torch.Generator(device='cuda').manual_seed(7)"
INPUTS = """
def get_inputs():
    return [torch.ones(4, device="cuda")]
"""


def model(name: str, forward: str, head: str = "") -> str:
    return f"""import torch
{head}
class {name}(torch.nn.Module):
    def forward(self, x):
        {forward}
"""


def expected(values: torch.Tensor) -> str:
    """Return the text of a reference that returns these values for any input."""
    return model("Model", f"return x * torch.tensor({values.tolist()}, device='cuda')") + INPUTS


def eager() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def test_a_draw_has_the_values_of_its_seed(programs: httpx.Client) -> None:
    forward = f"return x * torch.rand(4, generator={MAKE}, device='cuda')"
    found = evaluate(
        programs, model("ModelNew", forward), expected(torch.rand(4, generator=eager()))
    )
    assert found["verdict"] == "passed", found["problem"] or found


@pytest.mark.parametrize(
    ("draws", "drawn"),
    [
        ("torch.randn(4, generator=g, device='cuda')", lambda g: torch.randn(4, generator=g)),
        (
            "torch.empty(4, device='cuda').uniform_(1, 2, generator=g)",
            lambda g: torch.empty(4).uniform_(1, 2, generator=g),
        ),
        (
            "torch.randint(1, 9, (4,), generator=g, device='cuda').float()",
            lambda g: torch.randint(1, 9, (4,), generator=g).float(),
        ),
        (
            "torch.randperm(4, generator=g, device='cuda').float()",
            lambda g: torch.randperm(4, generator=g).float(),
        ),
    ],
    ids=["randn", "uniform_", "randint", "randperm"],
)
def test_draws_of_each_kind(programs: httpx.Client, draws: str, drawn: object) -> None:
    assert callable(drawn)
    text = model("ModelNew", f"g = {MAKE}\n        return x * {draws}")
    found = evaluate(programs, text, expected(drawn(eager())))
    assert found["verdict"] == "passed", found["problem"] or found


def test_other_draws_leave_a_generator_where_it_is(programs: httpx.Client) -> None:
    forward = (
        f"g = {MAKE}\n        torch.rand(8, device='cuda')\n"
        "        return x * torch.rand(4, generator=g, device='cuda')"
    )
    found = evaluate(
        programs, model("ModelNew", forward), expected(torch.rand(4, generator=eager()))
    )
    assert found["verdict"] == "passed", found["problem"] or found


def test_another_seed_draws_other_values(programs: httpx.Client) -> None:
    forward = f"return x * torch.rand(4, generator={MAKE.replace('7', '8')}, device='cuda')"
    found = evaluate(
        programs, model("ModelNew", forward), expected(torch.rand(4, generator=eager()))
    )
    assert found["verdict"] == "mismatch", found


def test_inputs_come_from_a_generator_that_the_reference_s_module_made(
    programs: httpx.Client,
) -> None:
    makes = "\ndef get_inputs():\n    return [torch.rand(4, generator=g, device='cuda')]\n"
    reference = model("Model", "return x", f"g = {MAKE}") + makes
    constant = expected(torch.rand(4, generator=eager())).replace("class Model(", "class ModelNew(")
    found = evaluate(programs, model("ModelNew", "return x"), reference)
    assert found["verdict"] == "passed", found["problem"] or found
    only_first = constant.replace("return x *", "return 0 * x +")
    found = evaluate(programs, only_first.partition("\ndef get_inputs")[0], reference)
    note = found["outputs"]["0"]["comparison"]["note"]
    assert (found["verdict"], "the first call matches" in note) == ("mismatch", True), found


def test_a_tape_says_which_generator_is_seeded_and_drawn_from(programs: httpx.Client) -> None:
    forward = f"return x * torch.rand(4, generator={MAKE}, device='cuda')"
    found = evaluate(programs, model("ModelNew", forward), model("Model", "return x") + INPUTS)
    text = programs.get(found["tape"]["url"], headers={"Accept": "text/plain"}).text
    assert "seed 7 of generator 0" in text
    assert "generator=generator 0" in text
