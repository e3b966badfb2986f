"""Random elements made in pieces or on several threads equal those of one generator."""

import os
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launch.buffers import initial_values
from launch.buffers.element_types import STORED, cast
from launch.buffers.initial_values import random_elements

finite = st.floats(-1e6, 1e6)
integers = st.integers(-(2**63), 2**64)
inits = st.one_of(
    st.just({"kind": "uniform"}),
    st.tuples(finite, finite).map(
        lambda ends: {"kind": "uniform", "low": min(ends), "high": max(ends)}
    ),
    st.fixed_dictionaries(
        {"kind": st.just("normal")}, optional={"mean": finite, "std": st.floats(0, 1e6)}
    ),
    st.tuples(st.integers(-(2**63), 2**63), st.integers(1, 2**63)).map(
        lambda ends: {
            "kind": "randint", "low": ends[0], "high": min(ends[0] + ends[1], 2**63)
        } if ends[0] < 2**63 else {"kind": "randint", "low": 0, "high": 2**64}
    ),
)  # fmt: skip


def gather_limited(init, count, dtype):
    """Return elements by the definition: one generator, asked once."""
    generator = np.random.Generator(np.random.Philox(init["seed"]))
    match init["kind"]:
        case "uniform":
            wide = generator.uniform(init.get("low", 0.0), init.get("high", 1.0), count)
        case "normal":
            wide = generator.normal(init.get("mean", 0.0), init.get("std", 1.0), count)
        case "randint":
            kind = np.uint64 if init["high"] > 2**63 else np.int64
            wide = generator.integers(init["low"], init["high"], count, kind)
    return cast(wide, dtype)


def same_bits(one, other):
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(inits, st.integers(0, 2**64 - 1), st.sampled_from(sorted(STORED)), st.integers(0, 100))
def test_pieces_are_of_one_stream(monkeypatch, init, seed, dtype, count):
    monkeypatch.setattr(initial_values, "PIECE", 7)
    described = {**init, "seed": seed}

    assert same_bits(
        random_elements(described, count, dtype), gather_limited(described, count, dtype)
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(inits, st.integers(0, 2**64 - 1), st.sampled_from(sorted(STORED)), st.integers(0, 900),
       st.integers(1, 9))  # fmt: skip
def test_threads_begin_in_the_middle_of_the_stream(monkeypatch, init, seed, dtype, count, threads):
    monkeypatch.setattr(initial_values, "PIECE", 7)
    monkeypatch.setattr(initial_values, "SPAN", 50)
    monkeypatch.setattr(initial_values, "_threads", lambda: threads)
    described = {**init, "seed": seed}

    assert same_bits(
        random_elements(described, count, dtype), gather_limited(described, count, dtype)
    )


@pytest.mark.parametrize("high", [2, 10, 2**31 + 7, 2**32, 2**32 + 1, 2**62 + 2**61, 2**63])
def test_integers_that_throw_draws_away_are_shared_all_the_same(monkeypatch, high):
    monkeypatch.setattr(initial_values, "_threads", lambda: 5)
    init = {"kind": "randint", "seed": 3, "low": 0, "high": high}
    count = 3 * initial_values.SPAN + 17

    assert same_bits(random_elements(init, count, "i64"), gather_limited(init, count, "i64"))


@pytest.mark.parametrize("count", [1, 100])
@pytest.mark.parametrize(
    "init",
    [
        {"kind": "uniform", "low": 2, "high": 1},
        {"kind": "normal", "std": -1},
        {"kind": "randint", "low": 3, "high": 3},
    ],
)
def test_an_unknown_distribution_is_refused(init, count):
    with pytest.raises(ValueError, match=r"high|low|scale"):
        random_elements({**init, "seed": 1}, count, "fp32")


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_large_ones_are_made_on_several_threads(monkeypatch, kind):
    monkeypatch.setattr(initial_values, "_threads", lambda: 3)
    ran = set()
    cast_of = initial_values.cast

    def noted(values, name):
        ran.add(threading.current_thread())
        return cast_of(values, name)

    monkeypatch.setattr(initial_values, "cast", noted)
    monkeypatch.setattr(initial_values, "cast", noted)
    init = {"kind": kind, "seed": 9}
    made = random_elements(init, 3 * initial_values.SPAN + 1, "fp32")

    assert ran - {threading.main_thread()}
    assert same_bits(made, gather_limited(init, made.size, "fp32"))


def test_threads_that_are_out_of_step_leave_it_to_one(monkeypatch):
    monkeypatch.setattr(initial_values, "_threads", lambda: 3)
    monkeypatch.setattr(initial_values, "_firsts", lambda _: None)
    init = {"kind": "normal", "seed": 9}
    made = random_elements(init, 2 * initial_values.SPAN, "fp32")

    assert same_bits(made, gather_limited(init, made.size, "fp32"))


@pytest.mark.parametrize("why", ["no thread", "no word of processors"])
def test_behind_walls_one_thread_makes_the_same(monkeypatch, why):
    def refuse(*_, **__):
        raise RuntimeError("can't start new thread") if why == "no thread" else PermissionError

    if why == "no thread":
        monkeypatch.setattr(initial_values, "_threads", lambda: 2)
        monkeypatch.setattr(threading.Thread, "start", refuse)
    else:
        monkeypatch.setattr(os, "sched_getaffinity", refuse)
    init = {"kind": "uniform", "seed": 9}
    count = 2 * initial_values.SPAN

    assert same_bits(random_elements(init, count, "bf16"), gather_limited(init, count, "bf16"))
