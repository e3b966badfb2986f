"""One process parses untrusted sources in turn: none can break, slow or affect the next."""

import sys
from pathlib import Path

import pytest
import pytest_asyncio

from tests.cases import slow_except
from worker.pool import pool as pools
from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parents[2]
KERNEL = """import triton
import triton.language as tl

SIZE = tl.constexpr({size})

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr + tl.arange(0, SIZE), 1.0)
"""
PLAIN = KERNEL.format(size=64)
MIB = 1 << 20
BOMBS = {
    "open brackets": "(" * 100_000,
    "closed brackets": f"x = {'(' * 190}1{')' * 190}",
    "signs": f"x = {'-' * 100_000}1",
    "a long sum": f"x = a{'+a' * 300_000}",
    "a long chain": f"x = a{'.b' * 300_000}",
    "lambdas": f"x = {'lambda: ' * 50_000}1",
    "branches": "if 1:\n    pass\n" + "elif 1:\n    pass\n" * 20_000,
    "indents": "".join(f"{' ' * i}if 1:\n" for i in range(120)),
    "digits": f"x = {'9' * MIB}",
    "hexadecimal digits": f"x = 0x{'f' * 3 * MIB}",
    "a line of 4 MB": f"x = '{'y' * (4 * MIB - 1000)}'",
    "half of a string": f"x = '{'y' * MIB}",
    "NUL": "x = 1\0",
    "wrong escapes": "x = '\\d'\n" * 1000,
    "names": "\n".join(f"name_{i} = {i}" for i in range(2000)),
}
ORDINARY = {
    "plain": PLAIN,
    "another constant": KERNEL.format(size=128),
    "a name of Python's": PLAIN.replace("SIZE", "print"),
    "no kernel": "x = 1\n",
    "a syntax error": "def f(:\n",
    "an escape": PLAIN + "X = '\\d'\n",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool():
    pool = Pool(ZygoteToolchain(Path(sys.executable), ROOT), spares={"parse": 1})
    await pool.start()
    yield pool
    await pool.close()


async def read(pool, source, **more):
    header = {"task": "read", "kernel": None, "files": {}, **more}
    return await pool.run("parse", header, source.encode(), deadline_s=60)


def reported(outcome):
    """Return everything that the worker receives, except measurements."""
    result = {k: v for k, v in (outcome.result or {}).items() if k not in ("ms", "usage")}
    return outcome.ending, result, outcome.failure, outcome.stdout, outcome.stderr


@pytest.fixture
def single_use(monkeypatch):
    """Return a function that makes every further source be read in a new process."""
    return lambda: monkeypatch.setattr(pools, "KEPT_TASKS", frozenset())


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("bomb", slow_except(("open brackets", "signs", "digits"), BOMBS))
async def test_what_follows_a_bomb_is_as_if_it_had_not_been(pool, bomb):
    before = await read(pool, PLAIN)
    exploded = await read(pool, f"{PLAIN}\n{BOMBS[bomb]}\n")
    after = await read(pool, PLAIN)

    assert exploded.ending in (Ending.OK, Ending.FAILURE)
    assert before.ending is Ending.OK
    assert reported(after) == reported(before)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_reading_is_the_same_in_a_used_process_and_in_a_new_one(pool, single_use):
    sources = [*ORDINARY.values(), *reversed(ORDINARY.values())]
    in_one_process = [reported(await read(pool, source)) for source in sources]

    single_use()
    each_alone = [reported(await read(pool, source)) for source in sources]

    assert in_one_process == each_alone


@pytest.mark.asyncio(loop_scope="module")
async def test_files_of_one_caller_are_not_those_of_the_next(pool):
    source = "from helpers import double\n" + PLAIN.replace("1.0", "double(1.0)")
    jitted = "import triton\n\n@triton.jit\ndef double(x):\n    return x + x\n"
    files = [{"helpers.py": jitted}, {"helpers.py": jitted.replace("@triton.jit\n", "")}, {}]

    calls = []
    for each in files:
        read_alike = await read(pool, source, files=each, inspect=True)
        calls.append(read_alike.result["facts"]["kernels"][0]["calls"])

    assert calls == [["double"], [], []]


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_a_process_that_was_given_much_holds_little_afterwards(pool):
    """A process that holds much memory frees it or is replaced: 50 large sources do not add up."""
    large = "\n".join(f"very_long_name_{i}_{'x' * 200} = {i}" for i in range(1500))
    peaks = [(await read(pool, f"{PLAIN}{large}# {i}")).usage.max_rss_bytes for i in range(50)]

    assert peaks[-1] < peaks[0] + 64 * MIB
