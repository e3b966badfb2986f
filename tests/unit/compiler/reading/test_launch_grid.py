"""The grid of a kernel is guessed from what its masks bound."""

import ast

import pytest

from compiler.reading.jit_decorator import Aliases
from compiler.reading.proposals.launch_grid import launch_grid
from compiler.reading.proposals.parsed_function import ParsedFunction

TUTORIAL = """
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BM)
    num_pid_n = tl.cdiv(N, BN)
    group = pid // (G * num_pid_n)
    first = group * G
    size = min(num_pid_m - first, G)
    pid_m = first + ((pid % (G * num_pid_n)) % size)
    pid_n = (pid % (G * num_pid_n)) // size
    rows = (pid_m * BM + tl.arange(0, BM)) % M
    columns = (pid_n * BN + tl.arange(0, BN)) % N
    inside = (rows[:, None] < M) & (columns[None, :] < N)
"""


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ("i = tl.program_id(0) * BM + tl.arange(0, BM)\n    m = i < n", ["cdiv(n, BM)"]),
        ("pid = tl.program_id(0)\n    i = pid * BM\n    m = n > i + tl.arange(0, BM)",
         ["cdiv(n, BM)"]),
        ("row = tl.program_id(0).to(tl.int64)\n    if row >= M:\n        return", ["M"]),
        ("row = tl.program_id(1)\n    m = tl.arange(0, BM) < n", ["", ""]),
        ("b = tl.program_id(1)\n    i = tl.program_id(0) * BM + tl.arange(0, BM)\n"
         "    m = i < n * M", ["cdiv(n * M, BM)", ""]),
        ("i = tl.program_id(0) * BM + tl.arange(0, BM)\n    k = n - 1\n    m = i < k", [""]),
        ("n = n.to(tl.int64)\n    i = tl.program_id(0) * BM + tl.arange(0, BM)\n    m = i < n",
         ["cdiv(n, BM)"]),
        ("n = n - 1\n    i = tl.program_id(0) * BM + tl.arange(0, BM)\n    m = i < n", [""]),
        ("i = tl.program_id(0) * x.block + tl.arange(0, BM)\n    m = i < n", [""]),
        (TUTORIAL, ["cdiv(M, BM) * cdiv(N, BN)"]),
        ("pass", []),
    ],
)  # fmt: skip
def test_the_guessed_grid(body: str, grid: list[str]) -> None:
    head = "import triton.language as tl\ndef k(x, n, M, N, BM: tl.constexpr, BN, G):\n    "
    tree = ast.parse(head + body.lstrip())
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    assert launch_grid(ParsedFunction(function, Aliases(tree))) == grid
