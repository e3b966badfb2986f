"""Programs whose kernel only copies while torch does the work, under any op name.

Each program computes what its reference computes, so each passes. The flag and the coverage show
which ones did so with their own kernels.
"""

from __future__ import annotations

import textwrap

import httpx
import pytest

from tests.programs.with_torch.evaluating import Answer, evaluate

HEAD = """import torch
import torch.nn.functional as F
import triton
import triton.language as tl
"""
KERNELS = """
@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)

@triton.jit
def padded_kernel(x, out, n, rounds, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x + at, mask=at < n)
    z = y
    for i in range(rounds):
        z = z * 0.5 + 1.0
    tl.store(out + at, y + z * 0.0, mask=at < n)

@triton.jit
def halved_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) / 2, mask=at < n)

@triton.jit
def unary_kernel(x, out, n, WHAT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x + at, mask=at < n)
    if WHAT == "relu":
        y = tl.maximum(y, 0.0)
    else:
        y = y * y
    tl.store(out + at, y, mask=at < n)

@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    place = tl.program_id(0) * columns + at
    row = tl.load(x + place, mask=at < columns, other=-float("inf"))
    exp = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + place, exp / tl.sum(exp, axis=0), mask=at < columns)

@triton.jit
def matmul_kernel(a, b, c, M, N, K, A_ROW, B_ROW, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK)):
        inner = k * BLOCK + tl.arange(0, BLOCK)
        left = tl.load(a + rows[:, None] * A_ROW + inner[None, :],
                       mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        right = tl.load(b + inner[:, None] * B_ROW + columns[None, :],
                        mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + rows[:, None] * N + columns[None, :], total,
             mask=(rows[:, None] < M) & (columns[None, :] < N))

@triton.jit
def gather_kernel(table, index, out, COLUMNS: tl.constexpr):
    at = tl.arange(0, COLUMNS)
    row = tl.load(index + tl.program_id(0))
    tl.store(out + tl.program_id(0) * COLUMNS + at, tl.load(table + row * COLUMNS + at))

def copy(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out

def padded(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    padded_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), 64, BLOCK=256)
    return out

def halved(x):
    out = torch.empty_like(x)
    halved_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out

def unary(x, what):
    out = torch.empty_like(x)
    unary_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), WHAT=what, BLOCK=256)
    return out

def softmax(x):
    out = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out

def matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, device=a.device)
    matmul_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, K, N, BLOCK=32)
    return c

def gather(table, index):
    out = torch.empty(index.shape[0], table.shape[1], device=table.device)
    gather_kernel[(index.shape[0],)](table, index.to(torch.int32), out, COLUMNS=table.shape[1])
    return out
"""
MATRICES = "[torch.randn(48, 64), torch.randn(64, 40)]"
LARGE = "[torch.randn(256, 512), torch.randn(512, 128)]"
BATCHES = "[torch.randn(3, 32, 64), torch.randn(3, 64, 32)]"
ROWS = "[torch.randn(64, 128)]"
IMAGES = "[torch.randn(2, 4, 16, 16), torch.randn(8, 4, 3, 3)]"
PRODUCT = "return a @ b"


def model(name: str, forward: str, takes: int, head: str = "") -> str:
    names = ", ".join("abcd"[:takes])
    body = textwrap.indent(textwrap.dedent(forward).strip(), " " * 8)
    return (
        f"{HEAD}{head}\nclass {name}(torch.nn.Module):\n    def forward(self, {names}):\n{body}\n"
    )


def evaluated(
    programs: httpx.Client, inputs: str, reference: str, forward: str, **more: object
) -> Answer:
    takes = inputs.count("torch.") - inputs.count("dtype=torch.")
    makes = f"\ndef get_inputs():\n    return {inputs}\n\ndef get_init_inputs():\n    return []\n"
    return evaluate(
        programs,
        model("ModelNew", forward, takes, KERNELS),
        model("Model", reference, takes) + makes,
        device="cpu",
        tolerance={"rtol": 1e-3, "atol": 1e-3},
        **more,
    )


@pytest.mark.parametrize(
    ("inputs", "reference", "by_torch"),
    [
        (MATRICES, PRODUCT, "(a[:, :, None] * b).sum(1)"),
        (MATRICES, PRODUCT, "torch.einsum('ij,jk->ik', a, b)"),
        (
            MATRICES,
            PRODUCT,
            "((a * a).sum(1)[:, None] + (b * b).sum(0) - torch.cdist(a, b.t().contiguous(), "
            "compute_mode='donot_use_mm_for_euclid_dist') ** 2) / 2",
        ),
        (MATRICES, PRODUCT, "torch.baddbmm(a.new_zeros(1, 48, 40), a[None], b[None])[0]"),
        (MATRICES, PRODUCT, "sum(a[:, k, None] * b[k] for k in range(64))"),
        (MATRICES, PRODUCT, "(lambda s: [s := torch.addcmul(s, a[:, k, None], b[k]) "
         "for k in range(64)][-1])(a.new_zeros(48, 40))"),
        (BATCHES, "return torch.bmm(a, b)", "torch.baddbmm(a.new_zeros(3, 32, 32), a, b)"),
        (ROWS, "return torch.softmax(a, 1)", "torch.softmax(a, 1)"),
        (ROWS, "return torch.softmax(a, 1)",
         "(a - a.amax(1, True)).exp() / (a - a.amax(1, True)).exp().sum(1, True)"),
        (ROWS, "return F.log_softmax(a, 1)", "F.log_softmax(a, 1)"),
        (ROWS, "return F.layer_norm(a, (128,))", "F.layer_norm(a, (128,))"),
        (ROWS, "return F.rms_norm(a, (128,))", "F.rms_norm(a, (128,))"),
        (ROWS, "return F.gelu(a)", "F.gelu(a)"),
        (ROWS, "return a * torch.sigmoid(a) + 1", "a / (1 + (-a).exp()) + 1"),
        (ROWS, "return torch.fft.fft(a).abs()", "torch.fft.fft(a).abs()"),
        (ROWS, "return a.sort(1).values", "a.sort(1).values"),
        (ROWS, "return a.topk(8, 1).values", "a.topk(8, 1).values"),
        (ROWS, "return a.cumsum(1)", "a.cumsum(1)"),
        (ROWS, "return a.mean(1)", "a.mean(1)"),
        ("[torch.randn(32, 32)]", "return torch.linalg.inv(a @ a.t() + 32 * a.new_ones(32).diag())",
         "torch.linalg.inv(a @ a.t() + 32 * a.new_ones(32).diag())"),
        ("[torch.randn(32, 32)]", "return torch.linalg.qr(a).R.abs()",
         "torch.linalg.qr(a).R.abs()"),
        ("[torch.randn(2, 4, 16, 16)]", "return F.interpolate(a, scale_factor=2, mode='bilinear')",
         "F.interpolate(a, scale_factor=2, mode='bilinear')"),
        ("[torch.randn(2, 4, 16, 16)]", "return F.max_pool2d(a, 3, 1)", "F.max_pool2d(a, 3, 1)"),
        ("[torch.randn(50, 32), torch.randint(0, 50, (40,))]", "return F.embedding(b, a)",
         "F.embedding(b, a)"),
        ("[torch.randn(50, 32), torch.randint(0, 50, (40,))]", "return a[b]",
         "a.index_select(0, b)"),
        (IMAGES, "return F.conv2d(a, b)",
         "(a.unfold(2, 3, 1).unfold(3, 3, 1)[:, None] * b[None, :, :, None, None])"
         ".sum((2, 5, 6))"),
        (IMAGES, "return F.conv2d(a, b)",
         "(b.reshape(8, -1) @ F.unfold(a, 3)).reshape(2, 8, 14, 14)"),
        ("[torch.randn(2, 2, 32, 16)]", "return F.scaled_dot_product_attention(a, a, a)",
         "F.scaled_dot_product_attention(a, a, a)"),
    ],
)  # fmt: skip
def test_torch_behind_a_kernel_that_copies_is_flagged(
    programs: httpx.Client, inputs: str, reference: str, by_torch: str
) -> None:
    program = evaluated(programs, inputs, reference, f"return copy({by_torch})")

    assert program["verdict"] == "passed", program
    found = [flag for flag in program["flags"] if flag["kind"] == "torch_did_the_work"]
    assert found, program["flags"]
    assert program["coverage_measure"] == "work"
    assert program["reward"]["coverage"] == program["coverage"] < 0.2


@pytest.mark.parametrize(
    ("inputs", "reference", "forward"),
    [
        (MATRICES, PRODUCT, "return padded(torch.einsum('ij,jk->ik', a, b))"),
        (MATRICES, PRODUCT, "c = a @ b\nfor _ in range(8):\n    c = padded(c)\nreturn c"),
        (MATRICES, PRODUCT, "copy(padded(padded(a)))\nreturn copy(a @ b)"),
        (ROWS, "return torch.softmax(a, 1)", "return padded(torch.softmax(padded(a), 1))"),
    ],
)
def test_idle_loops_in_a_kernel_that_copies_earn_nothing(
    programs: httpx.Client, inputs: str, reference: str, forward: str
) -> None:
    program = evaluated(programs, inputs, reference, forward)

    assert program["verdict"] == "passed", program
    assert "torch_did_the_work" in program["reward"]["flags"]
    assert program["coverage"] == 0


@pytest.mark.parametrize(
    ("inputs", "reference", "forward"),
    [
        (MATRICES, PRODUCT, "return matmul(a, b)"),
        (MATRICES, "return (a @ b + 1) * 2", "return (matmul(a, b) + 1) * 2"),
        (MATRICES, PRODUCT, "return matmul(a.clone(), b.double().float()).clone()"),
        (MATRICES, "return torch.relu(a @ b).sum(1)",
         "return unary(matmul(a, b), 'relu').sum(1)"),
        (ROWS, "return torch.softmax(a, 1)", "return softmax(a)"),
        (ROWS, "return torch.softmax(a, 1) * 2", "return softmax(a.contiguous()) * 2"),
        (ROWS, "return torch.relu(a)", "return unary(a, 'relu')"),
        ("[torch.randn(50, 32), torch.randint(0, 50, (40,))]", "return a[b]",
         "return gather(a, b)"),
    ],
)  # fmt: skip
def test_what_torch_does_beside_a_kernel_s_work_is_not_flagged(
    programs: httpx.Client, inputs: str, reference: str, forward: str
) -> None:
    program = evaluated(programs, inputs, reference, forward)
    if program["flags"]:  # some of these products take microseconds: measure once more
        program = evaluated(programs, inputs, reference, forward)

    assert (program["verdict"], program["flags"]) == ("passed", []), program
    assert 0.75 <= program["coverage"] <= 1


@pytest.mark.parametrize(
    "forward",
    [
        "return halved(a @ b * 2)",
        "y = torch.empty(513, 128, device=a.device)\ny[257:] = a @ b * 2\n"
        "y.as_strided((2, 257 * 128 - 64), (1, 1)).zero_()\nreturn halved(y[257:])",
    ],
    ids=["in the open", "in memory that seems to be wiped"],
)
def test_a_kernel_that_finishes_torch_s_work_did_not_do_it(
    programs: httpx.Client, forward: str
) -> None:
    program = evaluated(programs, LARGE, PRODUCT, forward)

    assert program["verdict"] == "passed", program
    assert "torch_did_the_work" in program["reward"]["flags"]
    assert program["reward"]["coverage"] < 0.75


def test_the_work_of_a_reference_with_kernels_is_that_of_its_torch_ops(
    programs: httpx.Client,
) -> None:
    makes = "\ndef get_inputs():\n    return [torch.randn(64, 128)]\n\ndef get_init_inputs():\n"
    makes += "    return []\n"
    reference = model("Model", "return softmax(a) * 2", 1, KERNELS) + makes
    program = evaluate(
        programs,
        model("ModelNew", "return softmax(a) * 2", 1, KERNELS),
        reference,
        device="cpu",
    )
    assert (program["verdict"], program["flags"]) == ("passed", []), program
    assert program["coverage"] > 0.75
