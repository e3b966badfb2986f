"""One child serves a reference for all cases of a launch, and its results serve the same caller."""

import asyncio
import json
from hashlib import sha256

import numpy as np
import pytest
import pytest_asyncio

from compiler.specialization import Specialization
from jobs.deadline import Deadline, DeadlinePassed
from launch.request.bound_arguments import BoundArguments
from launch.request.reference_request import Reference
from store import keys
from store.connection import connect
from store.errors import StoreUnavailable
from store.expected_outputs import ExpectedOutputs
from tests.integration.launch.child_runs import Bound, out, uniform
from worker.launch.launch_children import Children
from worker.launch.reference import References
from worker.launch.run import PreparedRun
from worker.launch.stored_references import ReferenceAnswer, StoredReferences, _read, _written

pytestmark = pytest.mark.asyncio(loop_scope="session")

ADD = "def reference(x, y, **_):\n    return x + y\n"
COUNTING = """import numpy as np, sys
calls = getattr(sys, "calls", 0)
sys.calls = calls + 1
def reference(x, y, **_):
    return np.full(x.shape, calls)
"""
"""Reports what a child did before: a reference can leave state behind in it."""


@pytest_asyncio.fixture(loop_scope="session")
async def redis(valkey):
    client = connect(valkey.url)
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture
def store(redis):
    return ExpectedOutputs(redis, None, 1 << 20)


def run_of(seed=1, size=5, **constexprs):
    bound = Bound({"x": uniform(size, seed=seed), "y": uniform(size, seed=2), "z": out(size)})
    arguments = BoundArguments.model_validate(
        {"allocations": bound.allocations, "arguments": bound.arguments}
    )
    values = {name: {"int": str(value)} for name, value in constexprs.items()}
    return PreparedRun("k", arguments, [1, 1, 1], values, Specialization())


class Launch:
    """The references of one launch of a caller."""

    def __init__(self, pool, store=None, caller="alice"):
        self._kept = StoredReferences(store, caller) if store is not None else None
        self.references = References(Children(pool), None, self._kept)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.references.close()

    async def expect(self, text, run, timeout_s=20, deadline_s=100):
        reference = Reference(source=text)
        found = await self.references.expect(reference, run, timeout_s, Deadline(deadline_s))
        if self._kept is not None:
            await self._kept.write()
        return found

    async def first(self, text, run):
        """The first expected element."""
        found = await self.expect(text, run)
        assert found.failure is None, found.failure
        return np.frombuffer(found.outputs["z"], found.dtypes["z"])[0]


async def test_one_child_serves_the_cases_of_a_launch(pool):
    with Launch(pool) as launch:
        calls = [await launch.first(COUNTING, run_of(seed)) for seed in range(4)]

    assert calls == [0, 1, 2, 3]


async def test_nothing_user_written_outlives_its_launch(pool):
    calls = []
    for _ in range(3):
        with Launch(pool) as launch:
            calls.append(await launch.first(COUNTING, run_of()))

    assert calls == [0, 0, 0]


async def test_another_source_gets_another_child(pool):
    with Launch(pool) as launch:
        texts = [COUNTING, COUNTING + "\n", COUNTING]
        calls = [await launch.first(text, run_of()) for text in texts]

    assert calls == [0, 0, 0]


async def test_random_numbers_without_a_seed_are_those_of_a_new_process(pool):
    text = """import numpy as np
def reference(x, **_):
    return np.random.rand(*x.shape)
"""
    with Launch(pool) as launch, Launch(pool) as other:
        mine = [await launch.first(text, run_of(seed)) for seed in range(3)]
        new = await other.first(text, run_of())

    assert mine == [new] * 3


async def test_a_case_that_kills_the_child_costs_itself_alone(pool):
    text = """import os
def reference(x, SEED, **_):
    return x if SEED != 2 else os.abort()
"""
    with Launch(pool) as launch:
        found = [await launch.expect(text, run_of(seed, SEED=seed)) for seed in range(4)]

    assert [one.failure is None for one in found] == [True, True, False, True]
    assert "did not return" in found[2].failure.message


async def test_what_an_earlier_case_broke_is_done_again_in_a_fresh_child(pool):
    text = """import numpy as np
def reference(x, **_):
    total = np.add(x, 0)
    del np.add
    return total
"""
    with Launch(pool) as launch:
        found = [await launch.expect(text, run_of(seed)) for seed in range(3)]

    assert [one.failure for one in found] == [None] * 3


async def test_the_time_of_a_case_is_its_own(pool):
    text = """def reference(x, SEED, **_):
    while SEED == 1:
        pass
    return x
"""
    with Launch(pool) as launch:
        await launch.expect(text, run_of(0, SEED=0))
        late = await launch.expect(text, run_of(1, SEED=1), timeout_s=0.3)
        after = await launch.expect(text, run_of(2, SEED=2))
        with pytest.raises(DeadlinePassed):
            await launch.expect(text, run_of(1, SEED=1), deadline_s=0.3)

    assert "still running after" in late.failure.message
    assert after.failure is None


async def test_an_answer_is_kept_for_the_caller_s_next_launch(pool, store):
    calls = []
    for seed in (1, 1, 2, 1):
        with Launch(pool, store) as launch:
            calls += [await launch.expect(ADD, run_of(seed))]
    with Launch(pool) as launch:
        computed = await launch.expect(ADD, run_of(1))

    assert calls[0] == calls[1] == calls[3] == computed
    assert calls[2] != calls[0]


async def test_a_kept_answer_calls_nothing(pool, store):
    with Launch(pool, store) as launch:
        answers = [await launch.first(COUNTING, run_of(seed)) for seed in (1, 2, 1, 2, 3)]

    assert answers == [0, 1, 0, 1, 2]


async def test_no_caller_is_given_another_s_answer(pool, store):
    with Launch(pool, store, "alice") as launch:
        await launch.first(COUNTING, run_of(0))
        hers = await launch.first(COUNTING, run_of(1))
    with Launch(pool, store, "bob") as launch:
        his = await launch.first(COUNTING, run_of(1))

    assert (hers, his) == (1, 0)


async def test_what_the_reference_sees_makes_another_answer_and_nothing_else_does(pool, store):
    text = "def reference(x, N, **_):\n    return x * 0 + N\n"
    with Launch(pool, store) as launch:
        answers = [await launch.first(text, run_of(N=n)) for n in (1, 2, 1)]

    assert answers == [1, 2, 1]


async def test_a_failure_is_never_kept(pool, store, redis):
    with Launch(pool, store) as launch:
        found = await launch.expect("def reference(**_):\n    return 1 / 0\n", run_of())

    assert found.failure.line == 2
    assert not await redis.keys("tritond:expected*")


async def test_what_is_too_large_for_the_budget_is_computed_each_time(pool, redis):
    store = ExpectedOutputs(redis, None, 1000)
    for _ in range(2):
        with Launch(pool, store) as launch:
            assert await launch.first(COUNTING, run_of(size=400)) == 0

    assert not await redis.keys("tritond:expected*")


async def test_a_store_that_refuses_is_as_if_nothing_were_kept(pool, store, monkeypatch, caplog):
    async def refuse(*_, **__):
        raise StoreUnavailable("no")

    monkeypatch.setattr(store, "get", refuse)
    monkeypatch.setattr(store, "put", refuse)
    with Launch(pool, store) as launch:
        found = await launch.expect(ADD, run_of())

    assert found.failure is None
    assert "cannot read reference outputs" in caplog.text
    assert "cannot write reference outputs" in caplog.text


@pytest.mark.parametrize("how", ["flipped", "cut", "longer", "empty", "another shape"])
async def test_what_was_damaged_is_computed_again(pool, store, redis, how):
    with Launch(pool, store) as launch:
        whole = await launch.expect(ADD, run_of())
    [name] = await redis.keys(f"{keys.EXPECTED}alice:*")
    data = await redis.hget(name, "value")
    damaged = {
        "flipped": data[:-1] + bytes([data[-1] ^ 1]),
        "cut": data[:-4],
        "longer": data + b"1234",
        "empty": b"",
        "another shape": _with_shape(data, [4]),
    }
    await redis.hset(name, "value", damaged[how])
    with Launch(pool, store) as launch:
        again = await launch.expect(ADD, run_of())

    assert again == whole


def _with_shape(data, shape):
    """Return the result with another shape and a valid digest, so only its content is wrong."""
    answer = _read(data)
    described = json.loads(json.dumps({"shape": shape, "dtype": "float32", "unchanged": False}))
    kind = type(answer.report.outputs["z"])
    report = type(answer.report)(outputs={"z": kind(**described)})
    written = _written(ReferenceAnswer(report, {"z": answer.outputs["z"][:16]}))
    assert sha256(written[32:]).digest() == written[:32]
    return written


async def test_equal_cases_at_once_are_answered_alike(pool, store):
    async def one():
        with Launch(pool, store) as launch:
            return await launch.expect(ADD, run_of(7))

    found = await asyncio.gather(*(one() for _ in range(4)))

    assert all(each == found[0] and each.failure is None for each in found)
