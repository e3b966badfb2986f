"""Rooflines: shares of a device's peak, lower bounds, and impossible times."""

from launch.checks.roofline import Ceilings, Work, roofline_of

MIB = 1 << 20
H200 = Ceilings(4.2e12, 8e12, 2.0, 50 * MIB, {"fp16": 1e15, "tf32": 5e14, "fp32": 6.7e13})


def under(median_us: float, min_us: float | None = None, **work: object):
    usual = {"written_bytes": 0}
    return roofline_of(H200, Work(**(usual | work)), median_us, min_us or median_us)  # type: ignore[arg-type]


def test_an_honest_time_is_no_finding():
    seen = under(53.0, 51.0, written_bytes=64 * MIB, stated_bytes=192 * MIB)

    assert seen.finding is None
    assert 0.85 < (seen.bytes_share or 0) < 0.95


def test_cached_bytes_do_not_count_at_the_memory_s_speed():
    assert under(7.0, written_bytes=50 * MIB).finding is None
    assert under(7.0, written_bytes=100 * MIB).finding is not None


def test_a_time_below_that_of_the_stated_bytes_is_impossible_and_shown_with_its_arithmetic():
    finding = under(3.5, stated_bytes=192 * MIB).finding

    assert finding is not None
    assert finding.kind == "impossible_time"
    assert "The median of 3.50 us is impossible" in finding.message
    assert "2.01327e+08 bytes, which take 35.45 us at the 4.2e+12 bytes/s" in finding.message
    assert finding.measure == {"median_us": 3.5, "min_us": 3.5, "floor_us": 35.452}


def test_a_few_runs_that_did_nothing_show_in_the_least_time():
    finding = under(53.0, 3.5, stated_bytes=192 * MIB).finding

    assert finding is not None
    assert "The least time of 3.50 us" in finding.message


def test_no_kernel_is_faster_than_one_that_does_nothing():
    assert under(1.2).finding is not None
    assert under(1.9).finding is None


def test_flops_count_at_the_fastest_of_the_device_and_are_a_share_of_the_arguments_own():
    seen = under(30.0, stated_flops=1e10, dtypes=frozenset({"fp32", "i32"}))
    too_fast = under(30.0, stated_flops=1e11, dtypes=frozenset({"fp32"}))

    assert seen.finding is None
    assert seen.flops_share == round(1e10 / 30e-6 / 5e14, 4)
    assert too_fast.finding is not None
    assert "with fp16" in too_fast.finding.message


def test_nothing_is_a_share_where_nothing_was_stated():
    seen = under(10.0)

    assert (seen.bytes_share, seen.flops_share, seen.floor_us) == (None, None, 1.5)


def test_ceilings_are_read_back_from_json():
    assert Ceilings.from_json(H200.to_json()) == H200


def test_a_device_without_a_table_of_flops_has_no_floor_of_them():
    unknown = Ceilings(4.2e12, 8e12, 2.0, 50 * MIB, {})
    seen = roofline_of(unknown, Work(0, stated_flops=1e18, dtypes=frozenset({"fp16"})), 10.0, 10.0)

    assert (seen.flops_share, seen.finding) == (None, None)
