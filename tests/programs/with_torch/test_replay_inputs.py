"""A replay computes with the values that the reference's ops make, and no others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from compiler.diagnostic import Failure
from tests.programs.with_torch.eager_recording import recorded
from tests.programs.with_torch.replaying import replayed, same_bits

Tape = dict[str, Any]


def rows() -> Sequence[torch.Tensor]:
    return [torch.randn(6, 8)]


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_inputs_are_made_by_the_ops_of_the_reference() -> None:
    reference = recorded(rows, lambda x: x + x)
    candidate = _without_values(recorded(rows, doubled).tape)

    found = replayed(candidate, inputs_tape=reference.tape)

    assert same_bits(found.outputs(0), reference.outputs[0])
    assert same_bits(found.outputs(1), reference.outputs[1])
    assert not same_bits(found.outputs(0), found.outputs(1))


def test_inputs_that_take_what_init_made_are_the_same() -> None:
    scale: list[torch.Tensor] = []
    reference = recorded(
        lambda: [torch.randn(6, 8) * scale[0]],
        lambda scale, x: x + x,
        lambda: scale.append(torch.rand(1)) or scale[0],
    )
    candidate = _without_values(recorded(rows, doubled).tape)

    found = replayed(candidate, inputs_tape=reference.tape)

    assert same_bits(found.outputs(0), reference.outputs[0])


def test_a_program_without_a_tape_that_makes_its_inputs_is_refused() -> None:
    candidate = _without_values(recorded(rows, doubled).tape)

    with pytest.raises(Failure, match="no tape makes its input tensors"):
        replayed(candidate)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: [torch.randn(6, 9)], r"not fp32 \[6, 9\]"),
        (lambda: [torch.randn(6, 8).half()], r"not fp16 \[6, 8\]"),
        (lambda: [torch.randn(6, 8), torch.randn(1)], "a different structure"),
    ],
)
def test_a_program_recorded_with_other_inputs_is_refused(
    make: Callable[[], Any], said: str
) -> None:
    reference = recorded(make, lambda x, *others: x + x)
    candidate = _without_values(recorded(rows, doubled).tape)

    with pytest.raises(Failure, match=said) as raised:
        replayed(candidate, inputs_tape=reference.tape)
    assert raised.value.slug == "forged_tape"


def test_inputs_in_other_strides_are_copied_into_those_that_were_recorded() -> None:
    reference = recorded(lambda: [torch.randn(8, 6).t()], lambda x: x + x)
    candidate = _without_values(recorded(rows, doubled).tape)

    found = replayed(candidate, inputs_tape=reference.tape)

    assert same_bits(found.outputs(0), [one.contiguous() for one in reference.outputs[0]])


def test_running_statistics_that_a_call_is_given_are_reported_as_it_leaves_them() -> None:
    """torch's schema of `native_batch_norm` does not say that it writes them."""
    mean, variance = torch.zeros(8), torch.ones(8)

    def normalized(x: torch.Tensor, *statistics: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.batch_norm(x, *statistics, training=True)

    eager = recorded(lambda: [*rows(), mean.clone(), variance.clone()], normalized)
    found = replayed(eager.tape)

    assert {name for name in found.sent if name.startswith("input:")} == {
        "input:0:1", "input:0:2", "input:1:1", "input:1:2",
    }  # fmt: skip
    assert found.sent["input:0:1"] != found.sent["input:1:1"]


def _without_values(tape: Tape) -> Tape:
    """Return a tape like that of a program that is given its inputs."""
    return tape | {"ops": [op for op in tape["ops"] if op["phase"] != "inputs"]}
