"""Timing: plausible for the hardware, of real work, and within its budget."""

import time

import numpy as np

from tests.gpu.bound import Bound, vector_add, vector_add_expected
from worker.gpu.launcher.launcher_order import TimingOrder
from worker.gpu.supervisor.launcher_protocol import LaunchEnding

H200_BYTES_PER_S = 4.8e12


def timed(outcome):
    assert outcome.ending is LaunchEnding.OK, outcome
    return outcome.result["timing"]


def test_a_small_kernel_takes_microseconds(launch, figure):
    timing = timed(launch(vector_add(timing=TimingOrder()), after=False))
    figure(f"{timing}")

    assert 1 < timing["median_us"] < 100
    assert timing["min_us"] <= timing["p20_us"] <= timing["median_us"] <= timing["p80_us"]
    assert timing["repeats"] >= 20
    assert timing["samples_us"] is None


def test_a_large_kernel_is_not_faster_than_the_memory(launch, figure):
    elements = 1 << 26
    bound = Bound().buffer("x_ptr", "fp32", [elements], {"kind": "ones"})
    bound.buffer("y_ptr", "fp32", [elements], {"kind": "ones"})
    bound.buffer("output_ptr", "fp32", [elements], output=True)
    bound.scalar("n_elements", elements, "i32")

    job = bound.job("add", (elements // 1024, 1, 1), timing=TimingOrder(samples=True))
    timing = timed(launch(job, after=False))

    reached = 3 * 4 * elements / (timing["median_us"] / 1e6)
    figure(f"{reached / 1e12:.2f} TB/s, {timing['median_us']} us, noisy {timing['noisy']}")
    assert 0.4 * H200_BYTES_PER_S < reached < 1.05 * H200_BYTES_PER_S
    assert len(timing["samples_us"]) == timing["repeats"]


def test_without_a_flush_the_cache_makes_it_faster(launch, figure):
    elements = 1 << 21
    cold = timed(launch(vector_add(elements=elements, timing=TimingOrder()), after=False))
    warm = timed(launch(vector_add(elements=elements, timing=TimingOrder(flush_l2=False)),
                        after=False))  # fmt: skip
    figure(f"cold {cold['median_us']} us, warm {warm['median_us']} us")

    assert warm["median_us"] < cold["median_us"]


def test_outputs_of_the_last_timed_run_are_those_of_the_first(launch):
    outcome = launch(vector_add(timing=TimingOrder()), after=False)

    assert outcome.result["differing_repeats"] == 0
    assert outcome.repeats == {}
    assert np.array_equal(
        np.frombuffer(bytes(outcome.outputs["output_ptr"]), np.float32), vector_add_expected()
    )


def test_what_is_updated_in_place_is_restored_before_every_run(launch):
    bound = Bound().buffer("x_ptr", "fp32", [1000], {"kind": "ones"}, output=True)
    bound.scalar("n_elements", 1000, "i32")

    outcome = launch(bound.job("increment", timing=TimingOrder()), after=False)

    assert outcome.result["differing_repeats"] == 0


def test_outputs_are_poisoned_again_before_every_run(launch):
    bound = Bound().buffer("output_ptr", "fp32", [1000], output=True)
    bound.scalar("n_elements", 1000, "i32")

    outcome = launch(bound.job("lazy", timing=TimingOrder()), after=False)

    assert (np.frombuffer(bytes(outcome.outputs["output_ptr"]), np.float32) == 1.0).all()
    assert outcome.result["differing_repeats"] == 0


def test_a_timed_run_that_differs_is_returned_too(launch):
    bound = Bound().buffer("counter_ptr", "i32", [1], {"kind": "zeros"}, output=True)
    bound.buffer("output_ptr", "i32", [20_000], output=True)

    outcome = launch(bound.job("tickets", (20_000, 1, 1), timing=TimingOrder()), after=False)

    assert outcome.result["differing_repeats"] > 0
    assert len(outcome.repeats[0]["output_ptr"]) == 80_000


def test_the_budget_is_kept(launch, figure):
    order = TimingOrder(max_ms=100, min_repeats=1_000_000)
    outcome = launch(vector_add(timing=order), after=False)

    spent_ms = outcome.result["timings_ms"]["timing"]
    figure(f"{spent_ms} ms, {outcome.result['timing']['repeats']} repeats")
    assert 0 < outcome.result["timing"]["repeats"] < 1_000_000


def test_the_clock_is_reported_where_nvml_is(launch, figure):
    timing = timed(launch(vector_add(timing=TimingOrder()), after=False))

    figure(f"{timing['clock_mhz']} MHz, throttled {timing['throttled']}")
    assert timing["clock_mhz"] is None or 100 < timing["clock_mhz"] < 5000


def test_one_launcher_answers_twenty_launches(launch, figure):
    started = time.monotonic()
    launch(*[vector_add() for _ in range(20)], after=False)

    figure(f"{time.monotonic() - started:.2f} s for a start and 20 launches")


def test_the_median_has_an_interval_that_the_next_run_keeps_to(launch, figure):
    job = vector_add(elements=1 << 24, timing=TimingOrder(min_repeats=50, max_ms=50))
    first, second = timed(launch(job, after=False)), timed(launch(job, job, after=False))
    figure(f"{first['median_us']} us in {first['interval_us']}, then {second['median_us']} us")

    low, high = first["interval_us"]
    assert low < first["median_us"] < high
    assert low < second["median_us"] < high


def test_many_batches_tell_the_same_as_one(launch, figure):
    elements = 1 << 22
    few, many = [
        timed(launch(vector_add(elements=elements, timing=TimingOrder(min_repeats=count)),
                     after=False))
        for count in (16, 500)
    ]  # fmt: skip
    figure(
        f"{few['repeats']} repeats: {few['median_us']} us, {many['repeats']}: {many['median_us']}"
    )

    assert abs(few["median_us"] - many["median_us"]) < 0.08 * many["median_us"]


def test_an_input_that_later_runs_find_changed_is_reported(launch):
    bound = Bound().buffer("x_ptr", "fp32", [1000], {"kind": "ones"})
    bound.scalar("n_elements", 1000, "i32")

    outcome = launch(bound.job("increment", timing=TimingOrder()), after=False)

    assert outcome.result["modified_inputs"] == ["x_ptr"]
    assert timed(outcome)["repeats"] >= 20


def test_inputs_that_are_kept_make_the_next_launch_shorter(launch, figure):
    job = vector_add(elements=1 << 22)
    first, second = launch(job, after=False), launch(job, job)
    spent = [outcome.result["timings_ms"]["inputs"] for outcome in (first, second)]
    figure(f"inputs: {spent[0]} ms, then {spent[1]} ms")

    assert spent[1] < spent[0] / 5
    assert bytes(first.outputs["output_ptr"]) == bytes(second.outputs["output_ptr"])


def fresh(elements=1 << 20, **asked):
    order = TimingOrder(fresh_inputs=True, **asked)
    return vector_add(elements=elements, timing=order)


def test_fresh_inputs_come_in_sets_of_their_own(launch, figure):
    outcome = launch(fresh(min_repeats=20), after=False)
    timing = timed(outcome)
    figure(f"{timing['input_sets']} sets, {timing['median_us']} us")

    assert timing["input_sets"] == 20
    assert outcome.result["differing_repeats"] == 0


def test_fresh_inputs_are_cold_where_the_cache_is_not_flushed(launch, figure):
    warm = timed(launch(vector_add(elements=1 << 20, timing=TimingOrder(flush_l2=False)),
                        after=False))  # fmt: skip
    cold = timed(launch(fresh(flush_l2=False, min_repeats=40), after=False))
    figure(f"the same buffers {warm['median_us']} us, fresh ones {cold['median_us']} us")

    assert cold["median_us"] > warm["median_us"]


def test_what_is_updated_in_place_is_restored_in_every_set(launch):
    bound = Bound().buffer("x_ptr", "fp32", [1000], {"kind": "ones"}, output=True)
    bound.scalar("n_elements", 1000, "i32")

    order = TimingOrder(fresh_inputs=True)
    outcome = launch(bound.job("increment", timing=order), after=False)

    assert timed(outcome)["input_sets"] > 1
    assert outcome.result["differing_repeats"] == 0


def test_fresh_inputs_that_do_not_fit_twice_are_out_of_memory(launch, gpus):
    elements = gpus[0]["memory_bytes"] * 6 // 10 // 4  # it is not an output, so nothing returns
    bound = Bound().buffer("output_ptr", "fp32", [elements]).scalar("index", 0, "i32")

    outcome = launch(bound.job("store_at", timing=TimingOrder(fresh_inputs=True)), after=False)

    assert outcome.ending is LaunchEnding.FAULT
    assert outcome.fault["kind"] == "out_of_memory"
    assert "fresh_inputs" in outcome.fault["message"]
