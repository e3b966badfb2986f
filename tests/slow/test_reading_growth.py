"""Reading a source of twice as many statements takes twice the time."""

from __future__ import annotations

import gc
import time

import pytest

from compiler.messages.orders import ReadOrder
from compiler.reading.read_source import read_source

HEAD = (
    "import triton\nimport triton.language as tl\nx0 = 1\nD0 = {}\ndef g0(): return 1\n"
    "def c(v): return []\n"
)
KERNEL = "\n@triton.jit\ndef k(p):\n    tl.store(p, D0['a'])\n"
LINES = {
    "names made of names": "x{i} = x{j} + 1\n",
    "calls of calls": "def g{i}(): return g{j}()\ny{i} = g{i}()\n",
    "aliases of aliases": "D{i} = D{j}\n",
    "globals of functions": "def s{i}():\n    global x{i}\n    x{i} = x{j}\ns{i}()\n",
    "one name again and again": "x0 = x0 + 1\n",
    "one line": "y{i} = x0; ",
    "raises": "if x{j}: raise ValueError(x{i})\nx{i} = x{j}\n",
    "stars": "from m{i} import *\n",
}
FIRST, DOUBLINGS = 400, 2
MAX_GROWTH = 3.2
"""Growth per doubling: 2 is linear, 4 quadratic."""


def seconds(line: str, count: int, times: int) -> float:
    body = "".join(line.format(i=i, j=i - 1) for i in range(1, count))
    text = (HEAD + body + KERNEL).encode()

    def once() -> float:
        gc.collect()
        gc.disable()  # other objects of this process are not the reader's
        started = time.process_time()
        read_source(ReadOrder(kernel="k"), text)
        spent_s = time.process_time() - started
        gc.enable()
        return spent_s

    return min(once() for _ in range(times))


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_twice_the_statements_take_twice_the_time(line: str) -> None:
    def has_grown(times: int) -> bool:
        first_s, last_s = (seconds(line, count, times) for count in (FIRST, FIRST << DOUBLINGS))
        return last_s > first_s * MAX_GROWTH**DOUBLINGS

    assert not (has_grown(1) and has_grown(5))  # repeat: something else took time
