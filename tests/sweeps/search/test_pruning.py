"""Variants that a search skips: too many resources, spills, or a duplicate."""

from compiler.compilation import Resources
from launch.request.verdict import Verdict
from sweeps.search.pruned import unfit
from tests.sweeps.search.made_up import FakeGpu, built, searched, variants

NOTHING = dict.fromkeys(Resources.model_fields) | {"backend": "cuda"}


def resources(**taken):
    return Resources(**NOTHING | taken)


def test_spills_are_reported_in_bytes():
    pruned = unfit(
        resources(spill_store_bytes=8, spill_load_bytes=16, fits=True), run_spilling=False
    )

    assert pruned.reason == "spills"
    assert pruned.detail == "it spills 8 bytes stored, 16 bytes loaded"


def test_spills_of_amd_are_reported_in_registers():
    pruned = unfit(resources(backend="hip", vgpr_spills=3, sgpr_spills=0), run_spilling=False)

    assert pruned.detail == "it spills 3 vector registers"


def test_spilling_variants_run_on_request():
    assert unfit(resources(spill_store_bytes=8, fits=True), run_spilling=True) is None


def test_too_much_shared_memory_does_not_fit():
    taken = resources(fits=False, shared_bytes=300_000, shared_limit_bytes=232_448)
    pruned = unfit(taken, run_spilling=True)

    assert pruned.reason == "does_not_fit"
    assert pruned.detail == "a block takes 300000 bytes of shared memory, and may have 232448"


def test_too_many_registers_do_not_fit():
    pruned = unfit(resources(fits=False, registers=255, threads=1024), run_spilling=True)

    assert pruned.detail == (
        "no multiprocessor holds one of its blocks: 255 registers each by its 1024 threads"
    )


def test_a_variant_with_unknown_resources_runs():
    assert unfit(None, run_spilling=False) is None
    assert unfit(resources(), run_spilling=False) is None


def test_of_variants_that_are_the_same_the_first_is_run():
    builds = {index: built(index, launched_as="same") for index in (1, 2, 3)}
    gpu = FakeGpu({0: 20.0, 1: 10.0})
    search = searched(variants(4), gpu, builds=builds)

    assert {run.index for run in gpu.ran} == {0, 1}
    for index in (2, 3):
        pruned = search.status(index).pruned
        assert (pruned.reason, pruned.variant) == ("equal_cubin", 1)
    assert search.winners()[0].variant == 1


def test_the_same_code_at_another_size_is_run():
    both = variants(1, sizes=("small", "large"))
    builds = {index: built(index, launched_as="same") for index in (0, 1)}
    gpu = FakeGpu({0: 20.0, 1: 10.0})
    searched(both, gpu, builds=builds)

    assert {run.index for run in gpu.ran} == {0, 1}


def test_a_duplicate_of_a_wrong_variant_is_wrong():
    small_and_large = variants(2, sizes=("small", "large"))
    builds = {3: built(3, launched_as="same"), 1: built(1, launched_as="same")}
    gpu = FakeGpu({0: 10.0, 1: 100.0, 2: 20.0}, verdicts={1: Verdict.MISMATCH})
    small, large = searched(small_and_large, gpu, builds=builds).winners()

    assert small.variant is None
    assert large.variant is None
    assert large.note == "no variant was timed to the end (mismatch: 1, equal_cubin: 1)"


def test_a_search_in_which_everything_spills_names_no_winner():
    spilled = resources(spill_store_bytes=8, fits=True)
    builds = {index: built(index, resources=spilled) for index in range(2)}
    [winner] = searched(variants(2), FakeGpu({}), builds=builds).winners()

    assert winner.variant is None
    assert winner.note == "no variant was timed to the end (spills: 2)"
