"""Runs common ops once on both devices, before a replaying process forks.

torch imports many modules only at the first call of an op, and a child may not open files.
"""

from collections.abc import Callable, Sequence

import torch
from torch.nn import functional

META, CPU = torch.device("meta"), torch.device("cpu")


def run_all(devices: Sequence[torch.device] = (META, CPU)) -> None:
    """Run every one of them on each device."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        for device in devices:
            for network in _NETWORKS:
                network(device)


def _elementwise(device: torch.device) -> None:
    x = torch.randn(4, 6, device=device)
    y = torch.rand_like(x) + torch.zeros(6, device=device)
    for function in (
        torch.exp, torch.relu, torch.sigmoid, torch.tanh, torch.abs, torch.sqrt, torch.erf,
        torch.log1p, torch.sign, functional.gelu, functional.silu, functional.mish,
        functional.softplus, functional.hardtanh, functional.hardswish, functional.hardsigmoid,
        functional.elu, functional.selu, functional.leaky_relu, functional.logsigmoid,
        functional.softsign,
    ):  # fmt: skip
        function(x)
    functional.gelu(x, approximate="tanh")
    torch.where(x > y, x.half().float(), y.bfloat16().float()).clamp(0, 1).pow(2).add_(y).mul_(2)
    (x / y).round().to(torch.int64).fmod(3).bitwise_and(1)


def _reductions(device: torch.device) -> None:
    x = torch.randn(4, 6, device=device)
    for function in (torch.sum, torch.mean, torch.amax, torch.std, torch.var, torch.prod):
        function(x)
    functional.softmax(x, -1).sum(0, keepdim=True)
    functional.log_softmax(x, 0).logsumexp(1)
    torch.max(x, 1)
    torch.argmin(x, 0)
    torch.linalg.vector_norm(x, dim=1)
    x.cumsum(0).cumprod(1).flip(0)
    x.sort(0)
    x.topk(2)


def _views(device: torch.device) -> None:
    x = torch.arange(24, device=device, dtype=torch.float32).reshape(4, 6)
    x.t().contiguous().view(2, -1).permute(1, 0)[1:, :1].expand(-1, 3).clone()
    torch.cat([x, x.roll(1, 0)]).unflatten(0, (2, 4)).unbind()
    torch.stack(x.split(2, 1)).tril().repeat(1, 2, 1)
    functional.pad(x, (1, 2))
    functional.pad(x[None], (1, 1), mode="reflect")
    index = torch.zeros(3, dtype=torch.int64, device=device)
    x.index_select(0, index).index_add_(0, index, x[:3])
    x.gather(1, index.reshape(3, 1)).masked_fill_(x[:3, :1] > 0, 0)
    x[index] = x[index] * 2
    torch.einsum("ij,kj->ik", x, x)


def _products(device: torch.device) -> None:
    x = torch.randn(2, 4, 6, device=device)
    torch.bmm(x, x.transpose(1, 2)).matmul(x)
    torch.addmm(x[0, :, 0], x[0], x[1].t())
    functional.linear(x, torch.randn(3, 6, device=device), torch.zeros(3, device=device))
    functional.scaled_dot_product_attention(x[None], x[None], x[None])
    functional.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True)
    functional.embedding(torch.zeros(3, dtype=torch.int64, device=device), x[0])


def _norms(device: torch.device) -> None:
    x = torch.randn(2, 4, 6, 6, device=device)
    torch.nn.BatchNorm2d(4, device=device)(x)
    torch.nn.BatchNorm2d(4, device=device).eval()(x)
    functional.group_norm(x, 2)
    functional.instance_norm(x)
    functional.layer_norm(x, (6,))
    functional.rms_norm(x, (6,))
    functional.dropout(x, 0.5)


def _convolutions(device: torch.device) -> None:
    x = torch.randn(1, 4, 8, 8, device=device)
    functional.conv1d(x[:, :, 0], torch.randn(2, 4, 3, device=device))
    functional.conv2d(x, torch.randn(2, 4, 3, 3, device=device))
    functional.conv_transpose2d(x, torch.randn(4, 2, 3, 3, device=device))
    functional.conv3d(x[None], torch.randn(2, 1, 1, 3, 3, device=device))
    functional.max_pool2d(x, 2)
    functional.avg_pool2d(x, 2)
    functional.adaptive_avg_pool2d(x, 2)
    functional.adaptive_max_pool2d(x, 2)
    functional.max_pool1d(x[0], 2)
    functional.avg_pool3d(x[None], (1, 2, 2))
    functional.interpolate(x, scale_factor=2.0, mode="bilinear")
    functional.interpolate(x, scale_factor=2)


def _losses(device: torch.device) -> None:
    x = torch.rand(4, 6, device=device)
    labels = torch.zeros(4, dtype=torch.int64, device=device)
    functional.cross_entropy(x, labels)
    functional.mse_loss(x, x)
    functional.smooth_l1_loss(x, x)
    functional.kl_div(x, x)
    functional.binary_cross_entropy(x, x)
    functional.cosine_similarity(x, x)
    functional.triplet_margin_loss(x, x, x)


def _recurrent(device: torch.device) -> None:
    x = torch.randn(2, 3, 4, device=device)
    for network in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        network(4, 5, batch_first=True, device=device)(x)


def _numbers(device: torch.device) -> None:
    torch.manual_seed(0)
    made = torch.empty(4, 4, device=device)
    for fill in (made.normal_, made.uniform_, made.zero_, made.exponential_):
        fill()
    torch.randint(0, 4, (3,), device=device)
    torch.randperm(4, device=device)
    torch.eye(4, device=device).tril().diagonal()
    torch.linspace(0, 1, 4, device=device)
    torch.full((2,), 1.0, device=device)
    torch.ones(2, 2, dtype=torch.bool, device=device).logical_not().any()
    torch.fft.ifft(torch.fft.fft(made)).real.abs()
    if device.type == "cpu":
        torch.linalg.inv(torch.eye(3))
        torch.linalg.qr(torch.eye(3))


_NETWORKS: tuple[Callable[[torch.device], None], ...] = (
    _elementwise, _reductions, _views, _products, _norms, _convolutions, _losses, _recurrent,
    _numbers,
)  # fmt: skip
