"""Recorded and replayed torch calls give the values, types and strides of eager torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from programs.replay.program_run import seed_of
from tests.programs.with_torch.eager_recording import SEED
from tests.programs.with_torch.recording_process import RecordingProcess
from tests.programs.with_torch.replaying import replayed

MODEL = """
import torch
from torch import linalg, nn
from torch.nn import functional as F, utils

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = {made}

    def forward(self, *inputs):
        return [{called}]

def get_inputs():
    return [{inputs}]
"""
RECURRENT = "torch.randn(2, 3), torch.randn(2, 4), torch.randn(2, 4)"
ROWS = "torch.randn(5, 6)"
TWO = "torch.randn(5, 6), torch.randn(4, 6)"
WHOLE = ", enable_nested_tensor=False"
ENCODER = "nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, {}), 2{}).eval()"
SEQUENCE = "torch.randn(3, 5, 8), torch.arange(5) > torch.tensor([[2], [3], [4]])"
PLACES = "torch.tensor([[0, 1, 1, 0, 2, 1]]).to(inputs[0].device)"
CASES: dict[str, tuple[str, str, str]] = {
    "weight_norm": ("utils.weight_norm(nn.Linear(6, 3))", "self.m(inputs[0])", ROWS),
    "weight_norm of columns": (
        "utils.weight_norm(nn.Linear(6, 3), dim=1)", "self.m(inputs[0])", ROWS
    ),
    "weight_norm of all": (
        "utils.parametrizations.weight_norm(nn.Linear(6, 3), dim=None)", "self.m(inputs[0])", ROWS
    ),
    "weight_norm as a parametrization": (
        "utils.parametrizations.weight_norm(nn.Conv2d(2, 3, 3))", "self.m(inputs[0])",
        "torch.randn(2, 2, 6, 6)",
    ),
    "spectral_norm": ("utils.spectral_norm(nn.Linear(6, 3))", "self.m(inputs[0])", ROWS),
    "spectral_norm as a parametrization": (
        "utils.parametrizations.spectral_norm(nn.Linear(6, 3))", "self.m(inputs[0])", ROWS
    ),
    "spectral_norm, evaluated": (
        "utils.parametrizations.spectral_norm(nn.Conv2d(2, 3, 3)).eval()", "self.m(inputs[0])",
        "torch.randn(2, 2, 6, 6)",
    ),
    "TransformerEncoder": (ENCODER.format("batch_first=True", ""), "self.m(inputs[0])", SEQUENCE),
    "TransformerEncoder, norm first": (
        ENCODER.format("batch_first=True, norm_first=True, activation='gelu'", WHOLE),
        "self.m(inputs[0])", SEQUENCE,
    ),
    "TransformerEncoder, sequence first": (
        ENCODER.format("", WHOLE), "self.m(inputs[0])", SEQUENCE
    ),
    "TransformerEncoder, causal": (
        ENCODER.format("batch_first=True", ""),
        "self.m(inputs[0], nn.Transformer.generate_square_subsequent_mask(5, inputs[0].device), "
        "is_causal=True)",
        SEQUENCE,
    ),
    "TransformerEncoder, padded": (
        ENCODER.format("batch_first=True", WHOLE),
        "self.m(inputs[0], src_key_padding_mask=inputs[1])", SEQUENCE,
    ),
    "TransformerDecoder": (
        "nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()",
        "self.m(inputs[0], inputs[0])", SEQUENCE,
    ),
    "Transformer": (
        "nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()", "self.m(inputs[0], inputs[0])",
        SEQUENCE,
    ),
    "MultiheadAttention": (
        "nn.MultiheadAttention(8, 2, batch_first=True).eval()",
        "*self.m(inputs[0], inputs[0], inputs[0])", SEQUENCE,
    ),
    "MultiheadAttention with masks": (
        "nn.MultiheadAttention(8, 2, batch_first=True).eval()",
        "*self.m(inputs[0], inputs[0], inputs[0], key_padding_mask=inputs[1], "
        "attn_mask=inputs[1][:1].expand(5, 5), average_attn_weights=False)", SEQUENCE,
    ),
    "MultiheadAttention without weights": (
        "nn.MultiheadAttention(8, 2, batch_first=True).eval()",
        "self.m(inputs[0], inputs[0], inputs[0], need_weights=False, "
        "key_padding_mask=inputs[1])[0]", SEQUENCE,
    ),
    "cdist": ("None", "torch.cdist(*inputs), torch.cdist(*inputs, p=1)", TWO),
    "cdist of many": (
        "None", "torch.cdist(*inputs)", "torch.randn(2, 40, 6), torch.randn(2, 30, 6)"
    ),
    "isin": (
        "None",
        "torch.isin(inputs[0].int(), inputs[1].int()), torch.isin(inputs[0].int(), 1), "
        "torch.isin(1, inputs[0].int()), torch.isin(inputs[0].int(), inputs[1].int(), invert=True)",
        TWO,
    ),
    "frexp": ("None", "*torch.frexp(inputs[0])", ROWS),
    "pdist": ("None", "F.pdist(inputs[0]), torch.pdist(inputs[0], p=1)", ROWS),
    "pinv": (
        "None",
        "linalg.pinv(inputs[0]), torch.pinverse(inputs[0]), "
        "linalg.pinv(inputs[0] @ inputs[0].T, hermitian=True, rtol=1e-2)", ROWS
    ),
    "matrix_exp": (
        "None", "torch.matrix_exp(inputs[0]), linalg.matrix_exp(inputs[0] / 9)",
        "torch.randn(3, 5, 5)",
    ),
    "scatter with a reduction": (
        "None",
        f"inputs[0].scatter(0, {PLACES}, inputs[1], reduce='add'), "
        f"inputs[0].scatter(0, {PLACES}, 2.0, reduce='multiply'), "
        f"inputs[0].clone().scatter_(0, {PLACES}, inputs[1], reduce='multiply'), "
        f"inputs[0].clone().scatter_(0, {PLACES}, 3.0, reduce='add')",
        TWO,
    ),
    "scatter_reduce": (
        "None",
        ", ".join(
            f"inputs[0].scatter_reduce(0, {PLACES}, inputs[1], '{reduce}', include_self=False)"
            for reduce in ("sum", "prod", "mean", "amax", "amin")
        ),
        TWO,
    ),
    "Bilinear": ("nn.Bilinear(6, 6, 3)", "self.m(inputs[0], inputs[0])", ROWS),
    "windows": (
        "None",
        "torch.hann_window(8, device=inputs[0].device), torch.hamming_window(8, periodic=False), "
        "torch.kaiser_window(8), torch.blackman_window(8), torch.bartlett_window(8)", ROWS,
    ),
    "stft and istft": (
        "None",
        "(lambda x, w: torch.istft(torch.stft(x, 8, window=w, return_complex=True), 8, window=w))"
        "(inputs[0], torch.hann_window(8, device=inputs[0].device))", "torch.randn(3, 100)",
    ),
    "ifft and its like": (
        "None",
        "torch.fft.ifft(inputs[0]), torch.fft.ihfft(inputs[0]), torch.fft.hfft(inputs[0]), "
        "torch.fft.fft(inputs[0]).conj() * 2j, torch.fft.fft(inputs[0]).conj().imag", ROWS,
    ),
    "covariance": ("None", "torch.cov(inputs[0]), torch.corrcoef(inputs[0])", ROWS),
    "parts that are views": (
        "None", "*torch.unsafe_chunk(inputs[0], 2, 1), *torch.unsafe_split(inputs[0], 3)", ROWS
    ),
    "windows of a scalar": (
        "None",
        "inputs[0].sum().unfold(0, 1, 1), inputs[0].sum().unfold(-1, 1, 2), "
        "inputs[0].sum().unfold(0, 0, 1)", ROWS,
    ),
    "parts of no rows": ("None", "*inputs[0][:0].split(0)", ROWS),
    "GroupNorm of fp16": ("nn.GroupNorm(2, 6)", "self.m(inputs[0].half())", ROWS),
    "GroupNorm of bf16": ("nn.GroupNorm(2, 6)", "self.m(inputs[0].bfloat16())", ROWS),
    "BatchNorm of transposed images": (
        "nn.BatchNorm2d(3)", "self.m(inputs[0].mT)", "torch.randn(2, 3, 5, 4)"
    ),
    "one element with strides": (
        "None", "inputs[0][:1, :1].expand(1, 1), torch.diagonal(inputs[0][:1, :1])", ROWS
    ),
    "special functions": (
        "None",
        "torch.special.bessel_y0(inputs[0].abs()), torch.special.modified_bessel_i0(inputs[0]), "
        "torch.special.zeta(inputs[0].abs() + 2, 2), torch.special.xlog1py(2, inputs[0].abs()), "
        "torch.igamma(inputs[0].abs(), inputs[0].abs())", ROWS,
    ),
    "rrelu": (
        "nn.RReLU().eval()", "self.m(inputs[0]), F.rrelu(inputs[0]), torch.rrelu(inputs[0], 0.1)",
        ROWS,
    ),
    "LSTMCell": ("nn.LSTMCell(3, 4)", "*self.m(inputs[0], inputs[1:])", RECURRENT),
    "LSTMCell without bias": ("nn.LSTMCell(3, 4, bias=False)", "*self.m(inputs[0])", RECURRENT),
    "GRUCell": ("nn.GRUCell(3, 4)", "self.m(inputs[0], inputs[1])", RECURRENT),
    "GRUCell without bias": ("nn.GRUCell(3, 4, bias=False)", "self.m(inputs[0])", RECURRENT),
    "RNNCell": ("nn.RNNCell(3, 4)", "self.m(inputs[0], inputs[1])", RECURRENT),
    "LSTM": ("nn.LSTM(3, 4)", "self.m(inputs[0])[0]", "torch.randn(5, 2, 3)"),
    "LSTM unbatched": ("nn.LSTM(3, 4)", "self.m(inputs[0])[0]", "torch.randn(5, 3)"),
    "LSTM with projections": (
        "nn.LSTM(3, 4, proj_size=2)", "self.m(inputs[0])[0]", "torch.randn(5, 2, 3)"
    ),
    "GRU": ("nn.GRU(3, 4, 2)", "self.m(inputs[0])[0]", "torch.randn(5, 2, 3)"),
    "logsigmoid": ("None", "F.logsigmoid(inputs[0])", "torch.randn(5, 3)"),
    "logsigmoid on the CPU": ("None", "F.logsigmoid(inputs[0].cpu())", "torch.randn(5, 3)"),
    "shifts of booleans": (
        "None", "(inputs[0] > 0) << 2, (inputs[0] > 0) >> 1, 1 << (inputs[0] > 0), "
        "torch.bitwise_left_shift(inputs[0] > 0, torch.arange(6, device=inputs[0].device))", ROWS,
    ),
    "repeat_interleave with its size": (
        "None", "inputs[0].repeat_interleave(torch.tensor([1, 0, 2, 1, 1]).to(inputs[0].device), "
        "dim=0, output_size=5)", ROWS,
    ),
    "resize_": (
        "None", "inputs[0].clone().resize_(4, 2), inputs[0].t().clone()[1:].resize_(3), "
        "inputs[0].t().resize_(6, 5)", ROWS,
    ),
    "as_subclass": (
        "None", "(inputs[0].as_subclass(type('S', (torch.Tensor,), {'two': lambda x: x + x})) * 3)"
        ".two().as_subclass(torch.Tensor)", ROWS,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


def eager(source: str) -> list[torch.Tensor]:
    """Return what a program's first call returns without a recorder."""
    module: dict[str, Any] = {"__name__": "user"}
    torch.manual_seed(SEED)
    exec(source, module)
    model = module["Model"]()
    torch.manual_seed(seed_of("inputs", SEED))
    inputs = module["get_inputs"]()
    torch.manual_seed(SEED)
    with torch.no_grad():
        return list(model(*inputs))


def assert_like_eager(recorder: RecordingProcess, source: str, rtol: float = 1e-5) -> None:
    """Record and replay a program, and compare its first call with torch's."""
    tape = recorder.record(source, {"kind": "model", "class": "Model"})
    assert "ops" in tape, tape
    returned = {call: {"tuple": tape[call]["list"]} for call in ("outputs", "outputs2")}

    found = replayed(tape | returned)

    assert found.report.findings == []
    outputs = zip(found.outputs(0), eager(source), returned["outputs"]["tuple"], strict=True)
    for output, expected, item in outputs:
        torch.testing.assert_close(output, expected, rtol=rtol, atol=rtol / 10)
        _, _, shape, strides, *_ = tape["tensors"][item["t"]]
        assert steps(shape, strides) == steps(expected.shape, expected.stride())


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
@pytest.mark.parametrize("name", CASES)
def test_a_program_gives_what_eager_torch_gives(recorder: RecordingProcess, name: str) -> None:
    made, called, inputs = CASES[name]
    assert_like_eager(recorder, MODEL.format(made=made, called=called, inputs=inputs))


def steps(shape: Any, strides: Any) -> list[int]:
    """Return the strides that matter."""
    return [step for size, step in zip(shape, strides, strict=True) if size > 1]


TRAINED = {
    "LSTM": ("nn.LSTM(3, 4)", "self.m(x)[0]", "torch.randn(5, 2, 3)"),
    "LSTMCell": ("nn.LSTMCell(3, 4)", "self.m(x)[0]", "torch.randn(2, 3)"),
    "GRU": ("nn.GRU(3, 4)", "self.m(x)[0]", "torch.randn(5, 2, 3)"),
    "GRUCell": ("nn.GRUCell(3, 4)", "self.m(x)", "torch.randn(2, 3)"),
    "BatchNorm in evaluation": ("nn.BatchNorm1d(6).eval()", "self.m(x)", ROWS),
    "BatchNorm of bf16 in evaluation": (
        "nn.BatchNorm1d(6).eval()",
        "self.m(x.bfloat16()).float()",
        ROWS,
    ),
    "logsigmoid": ("nn.Linear(3, 3)", "F.logsigmoid(self.m(x))", "torch.randn(2, 3)"),
    "weight_norm": ("utils.weight_norm(nn.Linear(6, 3))", "self.m(x)", ROWS),
    "cdist": ("nn.Linear(6, 6)", "torch.cdist(self.m(x), x[:3] + 1, p=1)", ROWS),
    "cdist of many": (
        "nn.Linear(6, 6)",
        "torch.cdist(self.m(x), x[:, :3] + 1)",
        "torch.randn(2, 40, 6)",
    ),
    "TransformerEncoder": (
        ENCODER.format("batch_first=True", ""),
        "self.m(x)",
        "torch.randn(3, 5, 8)",
    ),
}
GRADIENTS = """
    def gradients(self, x):
        with torch.enable_grad():
            y = {called}
            return y, *torch.autograd.grad(y.sin().sum(), list(self.m.parameters()))
"""


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
@pytest.mark.parametrize("name", TRAINED)
def test_what_is_trained_gives_what_eager_torch_gives(
    recorder: RecordingProcess, name: str
) -> None:
    made, called, inputs = TRAINED[name]
    source = MODEL.format(made=made, called="*self.gradients(*inputs)", inputs=inputs)
    method = GRADIENTS.format(called=called)
    assert_like_eager(recorder, source.replace("\ndef get_inputs", f"{method}\ndef get_inputs"))


def test_the_gradient_of_a_group_norm_is_computed_from_fp16_statistics(
    recorder: RecordingProcess,
) -> None:
    source = MODEL.format(made="nn.GroupNorm(2, 6)", called="*self.gradients(*inputs)", inputs=ROWS)
    method = GRADIENTS.format(called="self.m(x.half())")
    source = source.replace("\ndef get_inputs", f"{method}\ndef get_inputs")
    assert_like_eager(recorder, source, rtol=1e-2)


def test_rrelu_draws_slopes_in_training(recorder: RecordingProcess) -> None:
    called = "F.rrelu(inputs[0], 0.25, 0.5, training=True), inputs[0]"
    source = MODEL.format(made="None", called=called, inputs="torch.randn(64)")
    tape = recorder.record(source, {"kind": "model", "class": "Model"})
    returned = {call: {"tuple": tape[call]["list"]} for call in ("outputs", "outputs2")}

    made, given = replayed(tape | returned).outputs(0)

    slopes = (made / given)[given < 0]
    assert torch.equal(made[given > 0], given[given > 0])
    assert 0.25 <= slopes.min() < slopes.max() <= 0.5


@pytest.mark.parametrize(
    ("called", "op", "instead"),
    [
        ("linalg.lstsq(inputs[0], inputs[0]).solution", "aten.linalg_lstsq", "torch.linalg.pinv"),
        ("linalg.lu_solve(*linalg.lu_factor(inputs[0][:, :5]), inputs[0])",
         "aten.linalg_lu_solve", "torch.linalg.solve"),
        ("torch.bincount(inputs[0].long().flatten())", "aten.bincount", "scatter_add_"),
        ("F.embedding_bag(inputs[0].long(), inputs[0])", "aten._embedding_bag", "embedding"),
    ],
)  # fmt: skip
def test_what_is_refused_says_what_to_write_instead(
    recorder: RecordingProcess, called: str, op: str, instead: str
) -> None:
    source = MODEL.format(made="None", called=called, inputs=ROWS)
    refused = recorder.refusal(source, {"kind": "model", "class": "Model"})

    assert (refused["file"], refused["line"]) == ("user.py", 12)
    assert op in refused["detail"]
    assert instead in refused["detail"].rpartition(": ")[2]


def test_a_padded_encoder_is_advised_against_nested_tensors(recorder: RecordingProcess) -> None:
    source = MODEL.format(
        made=ENCODER.format("batch_first=True", ""),
        called="self.m(inputs[0], src_key_padding_mask=inputs[1])",
        inputs=SEQUENCE,
    )
    refused = recorder.refusal(source, {"kind": "model", "class": "Model"})

    assert "enable_nested_tensor=False" in refused["detail"]


@pytest.mark.parametrize("written", ["x", "y"])
def test_what_has_a_conjugated_view_is_not_written(
    recorder: RecordingProcess, written: str
) -> None:
    called = f"(lambda x: (lambda y: {written}.add_(1))(x.conj()))(inputs[0] * 1j)"
    source = MODEL.format(made="None", called=called, inputs=ROWS)

    assert (
        "conj_physical" in recorder.refusal(source, {"kind": "model", "class": "Model"})["detail"]
    )
