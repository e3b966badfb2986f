"""Cached GPU runs of references, keyed by everything that a run depends on."""

import sys
from dataclasses import replace

import pytest

from launch.messages import Finding
from launch.request.verdict import RunEnding
from programs.gpu.program_order import DeviceKernel, ProgramOrder, ProgramTimingOrder
from programs.tape.schema import TensorMeta
from programs.worker.gpu import program_replays
from programs.worker.gpu.program_replays import LIFE_S, ReferenceReplayCache, key_of
from programs.worker.replayed import Replayed, ReplayedTensor

pytestmark = pytest.mark.unit

META = TensorMeta("fp32", "cuda", (256,), (1,), 0, 0)
KERNEL = DeviceKernel(b"cubin", "an ABI", {"n": "i32"})  # no test calls it
ORDER = ProgramOrder(
    tape=b"{}", inputs_tape=None, kernels={"0": KERNEL}, launches=[], seed=1, memory_bytes=1,
    timing=ProgramTimingOrder(),
)  # fmt: skip


def returned(**more):
    call = {"0": ReplayedTensor(META, bytes(1024))}
    return Replayed(calls=[call, call], **more)


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that a test advances: a list with the time in it."""
    now = [1000.0]
    monkeypatch.setattr(program_replays.time, "monotonic", lambda: now[0])
    return now


def test_a_reference_is_known_until_it_is_too_old(clock):
    known, reference = ReferenceReplayCache(1 << 20), returned()
    known.keep("a", reference)

    clock[0] += LIFE_S - 1
    assert known.find("a") is reference
    assert known.find("b") is None
    clock[0] += 2
    assert known.find("a") is None


def test_what_is_too_old_takes_no_memory(clock):
    known = ReferenceReplayCache(1 << 20)
    known.keep("a", returned())
    clock[0] += LIFE_S / 2
    known.keep("b", returned())
    assert known.size_bytes > 2 << 16

    clock[0] += LIFE_S / 2 + 1
    known.forget_old()
    assert 1 << 16 < known.size_bytes < 2 << 16
    assert known.find("b") is not None


def test_a_reference_that_is_asked_for_again_and_again_grows_old_all_the_same(clock):
    known = ReferenceReplayCache(1 << 20)
    known.keep("a", returned())

    for _ in range(4):
        clock[0] += LIFE_S / 4
        known.find("a")
    assert known.find("a") is None


def test_a_reference_larger_than_all_may_be_is_not_remembered():
    known = ReferenceReplayCache(1 << 16)
    known.keep("a", returned())

    assert known.find("a") is None


@pytest.mark.parametrize(
    "unsound",
    [
        Replayed(calls=returned().calls[:1]),
        returned(ending=RunEnding.TIMEOUT),
        returned(findings=[Finding(kind="out_of_bounds", message="m")]),
    ],
)
def test_what_is_not_to_be_believed_is_not_remembered(unsound):
    known = ReferenceReplayCache(1 << 20)
    known.keep("a", unsound)

    assert known.find("a") is None


def test_no_more_is_remembered_than_there_is_room_for():
    known = ReferenceReplayCache(140 << 10)
    for name in "abcd":
        known.keep(name, returned())

    assert [known.find(name) is not None for name in "abcd"] == [False, False, True, True]


@pytest.mark.parametrize(
    "reported",
    [
        {"variants": dict.fromkeys(range(20_000), 0)},
        {"parameters": [f"{number:064}" for number in range(2_000)]},
        {"module_states": [{"variables": [{"name": f"{n:040}"} for n in range(2_000)]}]},
        {"calls": [{f"{n:0200}": ReplayedTensor(META, b"") for n in range(2_000)}] * 2},
    ],
    ids=lambda reported: next(iter(reported)),
)
def test_a_reference_s_report_counts_against_the_cache_size(reported):
    known = ReferenceReplayCache(1 << 30)
    known.keep("a", replace(returned(), **reported))

    assert known.size_bytes > taken_bytes(next(iter(reported.values())))


def taken_bytes(reported):
    """Return the bytes of lists, dicts and all that they contain, each counted once."""
    if isinstance(reported, dict):
        return sys.getsizeof(reported) + sum(
            map(taken_bytes, (*reported.keys(), *reported.values()))
        )
    if isinstance(reported, list):
        each = {id(one): one for one in reported}.values()
        return sys.getsizeof(reported) + sum(map(taken_bytes, each))
    return sys.getsizeof(reported)


@pytest.mark.parametrize(
    "other",
    [
        {"caller": "bob"},
        {"gpu": "GPU-1"},
        {"order": replace(ORDER, tape=b"{ }")},
        {"order": replace(ORDER, inputs_tape=b"")},
        {"order": replace(ORDER, inputs_tape=b"{}")},
        {"order": replace(ORDER, seed=2)},
        {"order": replace(ORDER, timing=None)},
        {"order": replace(ORDER, timing=ProgramTimingOrder(max_ms=1.0))},
        {"order": replace(ORDER, launches=[["0"]])},
        {"order": replace(ORDER, kernels={"0": replace(KERNEL, cubin=b"other")})},
        {"order": replace(ORDER, kernels={"0": replace(KERNEL, abi="another ABI")})},
        {"order": replace(ORDER, kernels={"0": replace(KERNEL, scalars={"n": "fp32"})})},
    ],
)
def test_each_input_of_a_run_changes_the_reference_s_key(other):
    same = {"caller": "ada", "gpu": "GPU-0", "order": ORDER}

    assert key_of(**same) == key_of(**same)
    assert key_of(**same) != key_of(**{**same, **other})
