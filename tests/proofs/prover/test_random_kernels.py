"""Random kernels, each proved and then run at sizes that keep its contract."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from compiler.proof.binding import SizeLimits
from launch.contract.text import read_contract
from tests.proofs.random_kernels import RandomKernel, proof_of_random, random_kernel, tried
from tests.proofs.random_launches import contradiction

INSIDE = RandomKernel(
    body="""def kernel(x_ptr, i_ptr, n, m, s, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x_ptr + at, 1.0, mask=at < n)
""",
    signature={"x_ptr": "*fp32", "i_ptr": "*i32", "n": "i32", "m": "i32", "s": "i32"},
    constants={"B": 4},
    contract="x_ptr: n\ni_ptr: n\ngrid: cdiv(n, B)\n",
    limits=SizeLimits(),
)


def test_launches_contradict_a_proof_for_a_larger_buffer() -> None:
    proved, drawn = proof_of_random(INSIDE), random.Random("1")
    smaller = replace(
        proved, contract=read_contract(INSIDE.contract.replace("x_ptr: n", "x_ptr: n - 1"))
    )
    assert not any(contradiction(proved, drawn) for _ in range(5))
    assert any(contradiction(smaller, drawn) for _ in range(5))


@pytest.mark.parametrize(
    "number", [*range(3), *[pytest.param(one, marks=pytest.mark.slow) for one in range(3, 40)]]
)
def test_no_launch_contradicts_a_proof(number: int) -> None:
    drawn = random.Random(f"0 {number}")
    assert tried(random_kernel(drawn), 10, drawn, Counter()) is None
