"""A load whose pointer or mask is narrower than its tile has the tile's extent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cases import slow_except
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Kernel
from tests.integration.launch.cpu.forms import compiled

HEAD = """\
import triton
import triton.language as tl

@triton.jit
def k(x, y, M, N, B: tl.constexpr):
"""
ROWS = """\
    rm = tl.arange(0, B)
    rn = tl.arange(0, B)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tile = tl.load(x + rn[None, :], mask=mask, other=0.0)
"""
ONE = """\
    pid = tl.program_id(0)
    lanes = tl.arange(0, B)
    row = tl.load(tl.broadcast_to(x + pid, [B]), mask=lanes < N, other=0.0)
"""
USES = {
    "sum": ROWS + "    tl.store(y + rn, tl.sum(tile, axis=0))\n",
    "scan": ROWS + "    tl.store(y + rm[:, None] * B + rn[None, :], tl.cumsum(tile, axis=0))\n",
    "max": ROWS + "    tl.store(y + rm, tl.max(tile, axis=1))\n",
    "argmax": ROWS + "    tl.store(y + rm, tl.argmax(tile, axis=0).to(tl.float32))\n",
    "product": ROWS + "    tl.store(y + rm[:, None] * B + rn[None, :], tl.dot(tile, tile))\n",
    "reshape": ROWS + "    tl.store(y + tl.arange(0, B * B), tl.reshape(tile, [B * B]))\n",
    "sort": ROWS + "    tl.store(y + rm[:, None] * B + rn[None, :], tl.sort(tile))\n",
    "flip": ROWS + "    tl.store(y + rm[:, None] * B + rn[None, :], tl.flip(tile, 1))\n",
    "transpose": ROWS + "    tl.store(y + rm[:, None] * B + rn[None, :], tl.trans(tile))\n",
    "sum_of_one": ONE + "    tl.store(y + pid, tl.sum(row))\n",
    "scan_of_one": ONE + "    tl.store(y + pid * B + lanes, tl.cumsum(row))\n",
    "cat": ONE + "    tl.store(y + tl.arange(0, 2 * B), tl.cat(row, row, can_reorder=True))\n",
    "topk": ONE + "    tl.store(y + tl.arange(0, 4), tl.topk(row, 4))\n",
    "histogram": ONE
    + "    tl.store(y + lanes, tl.histogram(row.to(tl.int32), B).to(tl.float32))\n",
    "loop": ONE
    + "    total = 0.0\n    for _ in range(tl.sum(row).to(tl.int32)):\n        total += 1.0\n"
    + "    tl.store(y + pid, total)\n",
    "outer": ONE + "    tl.store(y + lanes[:, None] * B + lanes[None, :], row[:, None] * row)\n",
}
SIGNATURE = {"x": "*fp32", "y": "*fp32", "M": "i32", "N": "i32"}
LANES = 16
MASKS = {"all": (LANES, LANES), "but one row": (LANES - 1, LANES), "none": (0, 0)}


@pytest.mark.parametrize("use", slow_except(["sum", "argmax", "scan_of_one", "cat", "loop"], USES))
def test_both_forms_agree_on_what_is_made_of(children: Children, use: str) -> None:
    request = {"kernel": "k", "signature": SIGNATURE, "constexprs": {"B": LANES}}
    for forms in compiled(children, Kernel(Path("user.py"), HEAD + USES[use], request)):
        for rows, columns in MASKS.values():
            numbers = np.arange(1, 65, dtype=np.float32)
            wanted, found = np.zeros(1024, np.float32), np.zeros(1024, np.float32)

            forms.one_by_one((3, 1, 1), [numbers, wanted, rows, columns])
            forms.gather_limited((3, 1, 1), [numbers, found, rows, columns])
            forms.at_once_checked((3, 1, 1), [numbers, found.copy(), rows, columns])

            np.testing.assert_array_equal(found, wanted)
