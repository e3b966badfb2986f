"""A replay gives torch's results bit by bit: whole networks, and random chains of ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.nn import functional

from tests.programs.with_torch.eager_recording import recorded
from tests.programs.with_torch.replaying import replayed, same_bits

Tensors = Sequence[torch.Tensor]


def check(
    make: Callable[[], Tensors],
    program: Callable[..., object],
    init: Callable[[], object] | None = None,
) -> None:
    """Replay what was recorded, and compare both calls."""
    eager = recorded(make, program, init)

    found = replayed(eager.tape)

    assert found.report.findings == []
    assert same_bits(found.outputs(0), eager.outputs[0])
    assert same_bits(found.outputs(1), eager.outputs[1])


def rows() -> Tensors:
    return [torch.randn(6, 8)]


NETWORKS: dict[str, tuple[Callable[[], Tensors], Callable[[], torch.nn.Module]]] = {
    "linear": (rows, lambda: torch.nn.Linear(8, 3)),
    "mlp": (
        rows,
        lambda: torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 2)
        ),
    ),
    "conv": (
        lambda: [torch.randn(2, 3, 9, 9)],
        lambda: torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3),
            torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
        ),
    ),
    "channels last": (
        lambda: [torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last)],
        lambda: torch.nn.Sequential(torch.nn.Conv2d(4, 8, 1), torch.nn.GroupNorm(2, 8)),
    ),
    "attention": (
        lambda: [torch.randn(2, 5, 8)],
        lambda: torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
    ),
    "dropout": (rows, lambda: torch.nn.Dropout(0.5)),
    "half": (
        lambda: [torch.randn(6, 8, dtype=torch.bfloat16)],
        lambda: torch.nn.Linear(8, 8, dtype=torch.bfloat16),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_gives_the_same_bits(name: str) -> None:
    make, build = NETWORKS[name]

    check(make, lambda network, *inputs: network(*inputs), build)


def test_random_numbers_of_a_call_are_those_of_the_program() -> None:
    check(rows, lambda x: x + torch.rand_like(x))


def test_an_input_that_is_changed_in_place_is_changed() -> None:
    def program(x: torch.Tensor) -> Tensors:
        x[:, 1:3].mul_(2.0)
        x.t()[0].add_(1)
        return [x, x.sum(0)]

    check(rows, program)


def test_what_a_later_call_changes_was_taken_before() -> None:
    def program(kept: torch.Tensor, x: torch.Tensor) -> Tensors:
        kept.add_(x)
        return [kept]

    check(rows, program, lambda: torch.zeros(6, 8))


def test_views_of_other_types_and_of_no_elements() -> None:
    def program(x: torch.Tensor) -> Tensors:
        bits = x.view(torch.int32)
        return [bits >> 3, x[:0], x.expand(3, 6, 8), bits[:, ::2].to(torch.uint8), x > 0]

    check(rows, program)


def test_a_single_element_of_a_column_is_an_output_and_an_input_that_is_changed() -> None:
    def make() -> Tensors:
        return [torch.randn(4, 3)[:1, 1]]

    check(make, lambda x: [x.add_(1), x.unsqueeze(0), x.half().expand(2)[::2]])


def test_complex_numbers() -> None:
    check(rows, lambda x: [torch.fft.fft(x) * 2, torch.fft.rfft(x).abs()])


def test_metadata_that_is_changed_in_place() -> None:
    def program(x: torch.Tensor) -> Tensors:
        y = x * 2
        z = y.unsqueeze_(0).transpose_(1, 2)
        return [z + 1, z.squeeze_(0)]

    check(rows, program)


def test_a_tuple_of_several_outputs() -> None:
    def program(x: torch.Tensor) -> Tensors:
        values, indices = x.topk(3)
        first, *_, last = x.split(2, dim=1)
        return [values, indices, first, last, *x.unbind(0)[:2]]

    check(rows, program)


def _zeroed(x: torch.Tensor) -> torch.Tensor:
    x[0] = 0
    return x


UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "add_": lambda x: x.add_(1),
    "as_strided": lambda x: x.contiguous().as_strided((2, 2), (1, 2)),
    "bfloat16": torch.Tensor.bfloat16,
    "clone": torch.clone,
    "contiguous": torch.Tensor.contiguous,
    "cumsum": lambda x: x.cumsum(0),
    "double": torch.Tensor.double,
    "exp": lambda x: torch.exp(x.clamp(max=4)),
    "flip": lambda x: x.flip(0),
    "float": torch.Tensor.float,
    "half": torch.Tensor.half,
    "mean": lambda x: x.float().mean(0, keepdim=True),
    "neg": torch.neg,
    "pad": lambda x: functional.pad(x, (1, 0)),
    "relu": torch.relu,
    "relu_": torch.relu_,
    "repeat": lambda x: x.repeat(2, 1),
    "roll": lambda x: x.roll(1, 0),
    "sign": torch.sign,
    "slice": lambda x: x[1:, :3],
    "softmax": lambda x: functional.softmax(x.float(), -1),
    "sort": lambda x: x.sort(0)[0],
    "sum": lambda x: x.sum(-1, keepdim=True),
    "t": torch.t,
    "tril": torch.tril,
    "where": lambda x: torch.where(x > 0, x, 0.5),
    "zero_": _zeroed,
}


BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": lambda x, y: x[:2, :2] + y[:2, :2],
    "mul": lambda x, y: x[:1, :2] * y[:2, :1],
    "mm": lambda x, y: x.float()[:, :2] @ y.float()[:2],
    "cat": lambda x, y: torch.cat([x[:2, :2], y[:2, :2]]),
    "stack": lambda x, y: torch.stack([x[0, :2], y[0, :2]]),
    "copy_": lambda x, y: x[:2, :2].copy_(y[:2, :2]),
    "maximum": lambda x, y: torch.maximum(x[:2, :2], y[:2, :2]),
}


@st.composite
def chains(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """Draw ops by name, each with the indices of its arguments."""
    steps = []
    for number in range(draw(st.integers(1, 8))):
        earlier = st.integers(0, number + 1)
        name = draw(st.sampled_from([*UNARY, *BINARY]))
        steps.append((name, draw(earlier), draw(earlier)))
    return steps


def run_chain(steps: Sequence[tuple[str, int, int]], x: torch.Tensor, y: torch.Tensor) -> Tensors:
    """Run a chain; pass a value on unchanged if it is too small for an op."""
    values = [x, y]
    for name, first, second in steps:
        a, b = values[first], values[second]
        if name in UNARY:
            fits = min(a.shape) >= 2 and (name != "as_strided" or a.numel() >= 6)
            values.append(UNARY[name](a) if fits else a)
        else:
            fits = min(*a.shape, *b.shape) >= 2
            values.append(BINARY[name](a, b) if fits else a)
    return values


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chains(), st.sampled_from(["float32", "float16", "bfloat16", "float64"]))
def test_a_chain_of_ops_gives_the_same_bits(steps: list[tuple[str, int, int]], dtype: str) -> None:
    kind = getattr(torch, dtype)

    def make() -> Tensors:
        return [torch.randn(4, 6).to(kind), torch.randn(4, 6).to(kind).t()]

    check(make, lambda x, y: run_chain(steps, x, y))
