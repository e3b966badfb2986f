"""The fastest variant that is right at every size wins, by times taken side by side."""

import pytest

from launch.request.verdict import Verdict
from sweeps.search.search_request import SearchRequest
from sweeps.search.variant_search import VariantSearch
from tests.sweeps.search.made_up import FakeGpu, built, drive, searched, variants


def only(search):
    [winner] = search.winners()
    return winner


@pytest.mark.parametrize("kind", ["halving", "exhaustive"])
@pytest.mark.parametrize("seed", range(5))
def test_the_known_best_wins_among_noise(kind, seed):
    times = {index: 30.0 + (index * 37) % 64 for index in range(64)} | {41: 27.0}
    gpu = FakeGpu(times, noise=0.01, seed=seed)

    winner = only(searched(variants(64), gpu, kind=kind))

    assert winner.variant == 41
    assert winner.verified
    assert winner.lead.clear
    low, high = winner.lead.interval_percent
    assert low <= 100 * (30 / 27 - 1) <= high
    assert winner.note is None


def test_the_winner_carries_the_numbers_of_the_launch_that_it_names():
    gpu = FakeGpu({0: 10.0, 1: 20.0}, noise=0.01)
    search = searched(variants(2), gpu)
    winner = only(search)

    status = search.status(0)
    assert winner.launch_id == status.launch.launch_id
    assert winner.launch_url == f"/v1/launches/{winner.launch_id}"
    assert winner.median_us == status.launch.time.median_us
    assert winner.launch_id.startswith("0/final")
    assert winner.compilation_key == "key-0"
    assert winner.values == {"constexprs.BLOCK": 0}


def test_a_lead_within_the_intervals_says_that_it_is_none():
    gpu = FakeGpu({0: 10.0, 1: 10.01}, noise=0.03)
    winner = only(searched(variants(2), gpu))

    assert not winner.lead.clear
    assert "no clear lead: variant" in winner.note


def test_a_steadily_falling_clock_favours_no_variant():
    def throttling(launches):
        return 1 + 0.02 * launches  # each launch takes 2 % of the first's time longer

    gpu = FakeGpu({0: 10.1, 1: 10.0, 2: 10.2}, clock=throttling)
    winner = only(searched(variants(3), gpu, passes=6))

    assert gpu.ran[0].index == 0  # the first variant ran at the fastest clock
    assert winner.variant == 1


def test_finalists_are_timed_in_turn_and_every_other_pass_backwards():
    gpu = FakeGpu({0: 10.0, 1: 11.0, 2: 12.0})
    searched(variants(3), gpu, passes=2)
    finals = [run.index for run in gpu.ran if run.stage.startswith("final")]

    assert finals == [0, 1, 2, 2, 1, 0]


def test_a_wrong_kernel_that_is_faster_does_not_win_and_is_not_timed_again():
    gpu = FakeGpu({0: 1.0, 1: 2.0, 2: 10.0, 3: 20.0})
    gpu.verdicts = {0: Verdict.MISMATCH, 1: Verdict.ILLEGAL_ACCESS}
    search = searched(variants(4), gpu)

    assert only(search).variant == 2
    assert gpu.stages(0) == gpu.stages(1) == ["round 1"]
    assert search.status(0).pruned.reason == "verdict"
    assert search.status(0).launch.verdict is Verdict.MISMATCH
    assert search.status(1).pruned.detail == ("the verdict is illegal_access; see launch 1/round 1")


def test_a_kernel_that_turns_out_wrong_in_the_finals_does_not_win():
    class LateFault(FakeGpu):
        def run(self, run):
            if run.index == 0 and run.stage == "final 3":
                self.verdicts[0] = Verdict.MISMATCH
            return super().run(run)

    gpu = LateFault({0: 10.0, 1: 20.0})
    search = searched(variants(2), gpu)

    assert only(search).variant == 1
    assert search.status(0).launch.verdict is Verdict.MISMATCH
    assert gpu.stages(0)[-1] == "final 3"


def test_a_kernel_that_is_wrong_at_another_size_wins_at_none():
    small_and_large = variants(2, sizes=("small", "large"))
    gpu = FakeGpu({0: 10.0, 1: 1000.0, 2: 20.0, 3: 2000.0})
    gpu.verdicts = {1: Verdict.MISMATCH}
    small, large = searched(small_and_large, gpu).winners()

    assert (small.problem_size, small.variant) == ("small", 2)
    assert (large.problem_size, large.variant) == ("large", 3)
    assert small.note == (
        "variant 0 was faster, and may not win: its verdict is mismatch with large on cuda:90 "
        "(variant 1)"
    )


def test_variants_wrong_at_another_size_displace_no_finalist():
    even_and_odd = variants(20, sizes=("even", "odd"))
    times = {one.index: 10.0 + one.index for one in even_and_odd}
    gpu = FakeGpu(times)
    gpu.verdicts = {one.index: Verdict.MISMATCH for one in even_and_odd[1:36:2]}  # of 18, with odd
    search = searched(even_and_odd, gpu, finalists=2)
    even, odd = search.winners()

    assert (even.variant, odd.variant) == (36, 37)
    assert gpu.stages(0) == ["round 1"]
    assert search.status(0).launch.verdict is Verdict.PASSED
    assert search.status(0).pruned.detail == (
        "its verdict is mismatch with odd on cuda:90 (variant 1)"
    )
    assert "variant 0 was faster, and may not win: its verdict is mismatch with odd" in even.note


def test_no_second_round_begins_before_all_sizes_had_their_first():
    gpu = FakeGpu({one.index: 10.0 + one.index for one in variants(9, ("small", "large"))})
    searched(variants(9, ("small", "large")), gpu, finalists=2)
    stages = [run.stage for run in gpu.ran]

    assert stages.index("round 2") == stages.count("round 1") == 18


def test_each_size_has_its_own_winner():
    gpu = FakeGpu({0: 10.0, 1: 2000.0, 2: 20.0, 3: 1000.0})
    small, large = searched(variants(2, sizes=("small", "large")), gpu).winners()

    assert (small.variant, large.variant) == (0, 3)


@pytest.mark.parametrize("doubt", ["impossible_time", "state_kept"])
def test_a_time_that_cannot_be_does_not_win(doubt):
    gpu = FakeGpu({0: 0.1, 1: 10.0}, doubts={0: doubt})
    search = searched(variants(2), gpu)

    assert only(search).variant == 1
    assert search.status(0).pruned.reason == "unreliable_time"
    assert doubt in search.status(0).pruned.detail


def test_a_noisy_time_does_not_win_and_the_answer_says_so():
    gpu = FakeGpu({0: 9.0, 1: 10.0}, noisy={0})
    winner = only(searched(variants(2), gpu))

    assert winner.variant == 1
    assert winner.note == "variant 0 was faster, and may not win: its times are noisy"


def test_where_all_are_noisy_no_variant_wins():
    gpu = FakeGpu({0: 9.0, 1: 10.0}, noisy={0, 1})
    winner = only(searched(variants(2), gpu))

    assert winner.variant is None
    assert winner.note == (
        "none of the 2 variants that were timed may win; variant 0 was the fastest: its times are "
        "noisy"
    )


def test_without_a_reference_the_fastest_wins_unverified():
    gpu = FakeGpu({0: 9.0, 1: 10.0})
    gpu.verdicts = dict.fromkeys(range(2), Verdict.NOT_CHECKED)
    winner = only(searched(variants(2), gpu, has_reference=False))

    assert (winner.variant, winner.verified) == (0, False)
    assert winner.note == "without a reference nothing shows that it is right"


def test_with_a_reference_what_was_not_checked_does_not_win():
    gpu = FakeGpu({0: 9.0, 1: 10.0}, verdicts={0: Verdict.NOT_CHECKED})
    winner = only(searched(variants(2), gpu))

    assert winner.variant == 1


def test_alone_a_variant_wins_without_a_lead():
    winner = only(searched(variants(1), FakeGpu({0: 9.0})))

    assert (winner.variant, winner.lead, winner.note) == (0, None, None)


def test_where_nothing_could_be_run_the_winner_says_why():
    builds = dict.fromkeys(range(3), "failed")
    winner = only(searched(variants(3), FakeGpu({}), builds=builds))

    assert winner.variant is None
    assert winner.note == "no variant was timed to the end (failed: 3)"


def test_a_budget_that_ends_in_the_first_round_names_the_best_of_those_that_were_checked():
    gpu = FakeGpu({index: 100.0 - index for index in range(50)})
    search = searched(variants(50), gpu, most_runs=10)
    winner = only(search)

    assert winner.variant == 9
    assert winner.lead.passes == 0
    assert search.status(10).pruned.reason == "budget"
    assert search.status(10).pruned.detail == "budget_s = 1.5 had ended before it was run"
    assert search.status(9).pruned is None


def test_what_cannot_be_run_is_not_said_to_have_lacked_time():
    gpu = FakeGpu({0: 10.0, 1: 11.0})
    search = searched(variants(3), gpu, most_runs=1, builds={2: "failed"})

    assert search.status(1).pruned.reason == "budget"
    assert search.status(2).pruned is None


def test_a_budget_that_ends_before_all_sizes_were_checked_names_no_winner():
    gpu = FakeGpu({0: 10.0, 1: 1000.0})
    small, large = searched(variants(1, ("small", "large")), gpu, most_runs=1).winners()

    assert small.variant is None
    assert "it was not checked with large on cuda:90" in small.note
    assert large.variant is None


def test_a_size_that_was_not_even_compiled_in_time_stands_against_a_winner():
    search = VariantSearch(variants(1, ("small", "large")), SearchRequest(), has_reference=True)
    search.built(0, built(0))
    [run] = search.upcoming()
    search.add_measurement(run, FakeGpu({0: 10.0}).run(run))
    search.end(1.0)
    small, _ = search.winners()

    assert small.variant is None
    assert "it was not checked with large on cuda:90" in small.note


def test_a_budget_that_ends_in_the_finals_compares_the_passes_that_were_whole():
    gpu = FakeGpu({0: 10.0, 1: 11.0})
    winner = only(searched(variants(2), gpu, most_runs=2 + 5))

    assert winner.variant == 0
    assert winner.lead.passes == 2


def test_a_driver_that_takes_over_comes_to_the_same_end():
    gpu = FakeGpu({k: 30.0 + k % 11 for k in range(30)}, noise=0.02)
    whole = searched(variants(30), gpu)

    class Kept(FakeGpu):
        """Answers with earlier measurements, and nothing else."""

        def run(self, run):
            self.ran.append(run)
            return self.kept[run]

    kept = Kept({})
    repeated = FakeGpu({k: 30.0 + k % 11 for k in range(30)}, noise=0.02)
    kept.kept = {run: repeated.run(run) for run in gpu.ran}
    again = VariantSearch(variants(30), SearchRequest(), has_reference=True)
    for one in reversed(variants(30)):  # existing compilations return in another order
        again.built(one.index, built(one.index))
    drive(again, kept)

    assert again.winners() == whole.winners()
