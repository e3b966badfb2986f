"""Questions whose easy answer "proved" would be false."""

import pytest

from compiler.proof.binding import SizeLimits
from launch.proof.prove_kernel import NO_WRAP
from tests.proofs.compiled_ttir import report_of

LOOP = """def kernel(y_ptr, n, step):
    count = 0
    for i in range(0, n, step):
        count += 1
    tl.store(y_ptr + count - 1, 0.0, mask=count > 0)
"""
LOOP_TYPES = {"y_ptr": "*fp32", "n": "i32", "step": "i32"}


def test_a_step_that_may_be_0_is_not_exact_after_the_loop() -> None:
    [store] = report_of(LOOP, LOOP_TYPES, "y_ptr: n\nany step\n").accesses
    assert store.answers["overflow"].verdict == "possible"


def test_a_counter_that_wraps_is_not_exact_after_the_loop() -> None:
    limits = SizeLimits(2**31 - 1, 2**36)
    body = LOOP.replace("0, n, step", "0, n, 1024")
    [store] = report_of(body, LOOP_TYPES, "y_ptr: n\n", limits=limits).accesses
    assert store.answers["overflow"].verdict == "possible"


@pytest.mark.filterwarnings("ignore:Value 20 exceeds the maximum bitwidth")
def test_a_shift_by_more_bits_than_there_are_is_not_exact() -> None:
    body = """def kernel(y_ptr, m):
    tl.store(y_ptr, 0.0, mask=(m.to(tl.int16) << 20) == 0)
"""
    [store] = report_of(body, {"y_ptr": "*fp32", "m": "i32"}, "y_ptr: 1\nm <= 1\n").accesses
    assert store.answers["overflow"].verdict == "refuted"


def test_races_are_not_proved_for_no_sizes() -> None:
    body = "def kernel(y_ptr, n):\n    tl.store(y_ptr + n - 1, 0.0)\n"
    contract = "y_ptr: n\ngrid: n\nn <= 5\nn >= 10\n"
    report = report_of(body, {"y_ptr": "*fp32", "n": "i32"}, contract, checks=["races"])
    assert report.accesses[0].answers["race"].verdict == "unknown"


def test_coordinates_of_a_descriptor_may_wrap() -> None:
    body = """def kernel(x_ptr, n, k, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x_ptr, shape=[n, n], strides=[n, 1], block_shape=[B, B])
    d.store([tl.program_id(0) * k, 0], tl.zeros([B, B], tl.float32))
"""
    types = {"x_ptr": "*fp32", "n": "i32", "k": "i32"}
    [store] = report_of(body, types, "sizes p\nx_ptr: n * n\ngrid: p\n", {"B": 16}).accesses
    assert store.answers["bounds"].verdict == "proved"
    assert store.answers["overflow"].verdict == "possible"


def loaded(kind: str, extent: str, values: str) -> str:
    """Return the verdict of a store where loaded values say."""
    body = """def kernel(x_ptr, i_ptr):
    tl.store(x_ptr + tl.load(i_ptr).to(tl.int32), 0.0)
"""
    contract = f"x_ptr: {extent}\ni_ptr: 1\nvalues i_ptr: {values}\n"
    report = report_of(body, {"x_ptr": "*fp32", "i_ptr": kind}, contract)
    return report.accesses[1].answers["bounds"].verdict


def test_values_of_an_unsigned_buffer_exceed_those_of_a_signed_one() -> None:
    assert loaded("*u8", "128", "0 .. 256") == "refuted"
    assert loaded("*u8", "256", "0 .. 256") == "proved"


def test_an_empty_range_of_values_proves_nothing() -> None:
    assert loaded("*i32", "1", "5 .. 3") == "unknown"


def test_an_argument_of_any_value_still_has_its_type() -> None:
    body = "def kernel(x_ptr, n):\n    tl.store(x_ptr + n, 0.0, mask=n >= 0)\n"
    report = report_of(body, {"x_ptr": "*fp32", "n": "i32"}, "x_ptr: n\nany n\n")
    witness = report.accesses[0].answers["bounds"].witness
    assert witness is not None
    assert witness.scalars == {"n": 0}


def test_what_a_narrow_argument_may_hold_is_said() -> None:
    body = "def kernel(x_ptr, n):\n    tl.store(x_ptr + n.to(tl.int32), 0.0)\n"
    report = report_of(body, {"x_ptr": "*fp32", "n": "u8"}, "x_ptr: 128\n")
    assert "n is at most 127" in report.accesses[0].answers["bounds"].proved_under


RENAMED = """def kernel(x_ptr, n, m, c):
    k = n
    if c > 5:
        n, m = m, n
    else:
        n = n * 2
        m = m * 2
    tl.store(x_ptr + k - 1, 0.0, mask=n + m > 0)
"""


def test_arguments_that_a_branch_swaps_keep_their_names() -> None:
    types = {"x_ptr": "*fp32", "n": "i32", "m": "i32", "c": "i32"}
    verdicts = [
        report_of(RENAMED, types, f"x_ptr: {extent}\n").accesses[0].answers["bounds"].verdict
        for extent in ("n", "m")
    ]
    assert verdicts == ["proved", "refuted"]


def test_a_descriptor_of_the_host_leaves_other_arguments_provable() -> None:
    body = """def kernel(d, x_ptr, n):
    tl.store(x_ptr + n - 1, tl.sum(tl.sum(d.load([0, 0]), 0), 0))
"""
    types = {"d": "tensordesc<fp32[16, 16]>", "x_ptr": "*fp32", "n": "i32"}
    load, store = report_of(body, types, "x_ptr: n\n").accesses
    assert "cannot read a tensor descriptor that the host made" in load.answers["bounds"].reason
    assert store.answers["bounds"].verdict == "proved"


def test_a_contract_that_divides_by_0_proves_nothing() -> None:
    body = "def kernel(x_ptr, n):\n    tl.store(x_ptr + n - 1, 0.0)\n"
    report = report_of(body, {"x_ptr": "*fp32", "n": "i32"}, "x_ptr: n % (n - n)\n")
    assert report.accesses[0].answers["bounds"].verdict == "unknown"


@pytest.mark.parametrize(
    ("kind", "step"),
    [("int32", "c.to(tl.int8).to(tl.int32) + 1"), ("int64", "c.to(tl.int32).to(tl.int64) + 4096")],
)
def test_a_carried_value_may_wrap_in_a_narrower_type_on_its_way(kind: str, step: str) -> None:
    body = f"""def kernel(x_ptr, n):
    c = tl.program_id(0).to(tl.{kind})
    for _ in range(n):
        tl.store(x_ptr + c, 0.0)
        c = {step}
"""
    [store] = report_of(body, {"x_ptr": "*fp32", "n": "i32"}, "x_ptr: n * 4096\n").accesses
    assert store.answers["bounds"].verdict == "proved"
    assert store.answers["overflow"].verdict in ("refuted", "possible")


def test_a_buffer_of_floats_has_no_range_of_values() -> None:
    body = """def kernel(x_ptr, f_ptr):
    bits = tl.load(f_ptr.to(tl.pointer_type(tl.int32), bitcast=True))
    tl.store(x_ptr + bits, 0.0)
"""
    contract = "x_ptr: 9\nf_ptr: 1\nvalues f_ptr: 0 .. 9\n"
    mistake = report_of(body, {"x_ptr": "*fp32", "f_ptr": "*fp32"}, contract).contract_error
    assert mistake is not None
    assert mistake.message == "f_ptr holds f32; only integers have a range of values"


@pytest.mark.parametrize(("other", "verdict"), [("m", "proved"), ("n", "refuted")])
def test_a_value_differs_by_the_way_around_an_early_return(other: str, verdict: str) -> None:
    body = f"""def kernel(x_ptr, n, m):
    if n > m:
        if m == 3:
            return
        n = {other}
    tl.store(x_ptr + n - 1, 0.0)
"""
    types = {"x_ptr": "*fp32", "n": "i32", "m": "i32"}
    [store] = report_of(body, types, "x_ptr: m\n").accesses
    assert store.answers["bounds"].verdict == verdict


def test_assembly_that_may_write_anywhere_is_refused() -> None:
    body = """def kernel(x_ptr, n):
    text: tl.constexpr = "st.global.u32 [$1], 0; mov.u32 $0, 0;"
    at = (x_ptr + n).to(tl.int64)
    tl.inline_asm_elementwise(text, "=r,l", [at], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(x_ptr, 0.0)
"""
    report = report_of(body, {"x_ptr": "*fp32", "n": "i32"}, "x_ptr: n\n")
    assert "inline_asm that may access memory" in report.refused
    assert report.refused_line == 9


@pytest.mark.parametrize(
    ("statements", "named"),
    [
        ("n <= 5\nn >= 10\n", "contradicts itself: n <= 5, n >= 10"),
        ("grid: 0\n", "an empty grid"),
        ("n <= 5\n", "no sizes that keep the contract were found to reach it"),
    ],
)
def test_statements_that_contradict_each_other_are_named(statements: str, named: str) -> None:
    body = "def kernel(x_ptr, n):\n    tl.store(x_ptr + n - 1, 0.0, mask=n > 7)\n"
    [store] = report_of(body, {"x_ptr": "*fp32", "n": "i32"}, "x_ptr: n\n" + statements).accesses
    assert named in store.answers["bounds"].reason


def test_a_reason_names_the_line_of_the_user_not_of_triton() -> None:
    body = """def kernel(x_ptr):
    sums = tl.cumsum(tl.arange(0, 16), 0)
    tl.store(x_ptr + sums, 0.0)
"""
    [store] = report_of(body, {"x_ptr": "*fp32"}, "x_ptr: 99\n").accesses
    assert store.answers["bounds"].reason == "it depends on a scan at line 7"


def test_bounds_alone_are_proved_under_integers_that_do_not_wrap() -> None:
    body = "def kernel(x_ptr, n):\n    tl.store(x_ptr + tl.program_id(0) * n, 0.0)\n"
    types, contract = {"x_ptr": "*fp32", "n": "i32"}, "x_ptr: n * n\ngrid: n\n"
    [store] = report_of(body, types, contract, checks=["bounds"]).accesses
    assert NO_WRAP in store.answers["bounds"].proved_under
    [store] = report_of(body, types, contract).accesses
    assert NO_WRAP not in store.answers["bounds"].proved_under


def test_a_load_that_does_not_run_says_nothing_of_an_empty_range() -> None:
    body = """def kernel(x_ptr, t_ptr, m):
    v = 0
    if m > 0:
        v = tl.load(t_ptr)
    tl.store(x_ptr + v + m - 1, 0.0)
"""
    contract = "any m\nm >= 0\nx_ptr: 2 * m + 1\nt_ptr: 1\nvalues t_ptr: 0 .. m\n"
    types = {"x_ptr": "*fp32", "t_ptr": "*i32", "m": "i32"}
    store = report_of(body, types, contract).accesses[1]
    assert store.answers["bounds"].verdict == "refuted"


@pytest.mark.parametrize("statements", ["any n\nn >= 0\n", "sizes a, b\nn = a * b\n"])
def test_what_an_unsigned_argument_of_any_value_may_hold_is_said(statements: str) -> None:
    body = "def kernel(x_ptr, n):\n    tl.store(x_ptr + n.to(tl.int64), 0.0)\n"
    contract = statements + "x_ptr: 2147483648\n"
    [store] = report_of(body, {"x_ptr": "*fp32", "n": "u32"}, contract).accesses
    assert "n is at most 2,147,483,647" in store.answers["bounds"].proved_under


def test_the_last_program_of_a_grid_counts_beyond_the_precision_of_floats() -> None:
    body = """def kernel(x_ptr, n):
    step: tl.constexpr = 2**47 + 1
    left = 65534 * step - 1 - tl.program_id(1).to(tl.int64) * step
    tl.store(x_ptr + tl.minimum(left, 0), 0.0)
"""
    contract = "x_ptr: n\ngrid: 1, n\n"
    [store] = report_of(body, {"x_ptr": "*fp32", "n": "i32"}, contract).accesses
    assert store.answers["bounds"].verdict == "refuted"


def test_a_size_has_no_name_of_an_argument() -> None:
    body = "def kernel(x_ptr, flag):\n    tl.store(x_ptr, 0.0, mask=flag)\n"
    types = {"x_ptr": "*fp32", "flag": "i1"}
    mistake = report_of(body, types, "sizes flag\nx_ptr: 1\n").contract_error
    assert mistake is not None
    assert mistake.message == "flag is an argument of the kernel: leave it out of `sizes`"


@pytest.mark.parametrize(("block", "verdict"), [(4, "proved"), (64, "unknown")])
def test_a_constexpr_that_the_contract_gives_keeps_its_value(block: int, verdict: str) -> None:
    body = "def kernel(x_ptr, B: tl.constexpr):\n    tl.store(x_ptr + B, 0.0)\n"
    [store] = report_of(body, {"x_ptr": "*fp32"}, "B = 4\nx_ptr: B + 1\n", {"B": block}).accesses
    assert store.answers["bounds"].verdict == verdict


def test_atomic_loads_and_stores_are_accesses() -> None:
    body = """def kernel(x_ptr, n):
    tl.atomic_poll(x_ptr + n, 1, timeout_ns=5)
    index = tl.atomic_load(x_ptr + n - 1)
    tl.atomic_store(x_ptr + n, 1)
    tl.atomic_store(x_ptr + index, 1, mask=(index >= 0) & (index < n))
"""
    report = report_of(body, {"x_ptr": "*i32", "n": "i32"}, "x_ptr: n\nvalues x_ptr: 0 .. n\n")
    verdicts = [one.answers["bounds"].verdict for one in report.accesses]
    assert verdicts == ["refuted", "proved", "refuted", "proved"]


def test_a_range_without_numbers_decides_no_minimum() -> None:
    body = """def kernel(x_ptr, t_ptr, n, m):
    v = 0
    if n > m:
        v = tl.load(t_ptr)
    tl.store(x_ptr + tl.minimum(v - n, 0), 0.0)
"""
    contract = "t_ptr: m\nvalues t_ptr: 5 .. 5\nx_ptr: 1\n"
    types = {"x_ptr": "*fp32", "t_ptr": "*i32", "n": "i32", "m": "i32"}
    store = report_of(body, types, contract).accesses[1]
    assert store.answers["bounds"].verdict == "refuted"


def test_the_most_programs_of_an_axis_are_said() -> None:
    body = "def kernel(x_ptr, n):\n    tl.store(x_ptr + tl.program_id(1), 0.0)\n"
    contract = "x_ptr: 65535\ngrid: 1, n\n"
    [store] = report_of(body, {"x_ptr": "*fp32", "n": "i32"}, contract).accesses
    said = store.answers["bounds"].proved_under
    assert "the grid has at most 65,535 programs along y" in said


def test_a_minimum_of_values_that_no_buffer_can_hold_proves_nothing() -> None:
    body = """def kernel(x_ptr, i_ptr, m):
    tl.store(x_ptr + tl.minimum(tl.load(i_ptr), m) + 5, 0.0)
"""
    contract = "x_ptr: 1\ni_ptr: 1\nvalues i_ptr: m .. m\n"
    report = report_of(body, {"x_ptr": "*fp32", "i_ptr": "*i32", "m": "i32"}, contract)
    assert report.accesses[1].answers["bounds"].verdict == "unknown"


def test_a_size_of_a_descriptor_that_may_be_negative_bounds_nothing() -> None:
    """A device reads it as unsigned: it stores to all rows up to 2^32 - 5."""
    body = """def kernel(y_ptr, n, m):
    d = tl.make_tensor_descriptor(y_ptr, [n - m, 16], [16, 1], [16, 16])
    d.store([0, 0], tl.zeros((16, 16), tl.float32))
"""
    types = {"y_ptr": "*fp32", "n": "i32", "m": "i32"}
    contract = "y_ptr: max(n - m, 0) * 16\n"
    [store] = report_of(body, types, contract).accesses
    assert store.answers["bounds"].verdict != "proved"
    [store] = report_of(body, types, contract + "m < n\n").accesses
    assert store.answers["bounds"].verdict == "proved"


def test_integers_of_an_address_that_is_not_read_are_not_exact() -> None:
    body = """def kernel(y_ptr, n):
    p = y_ptr.to(tl.pointer_type(tl.int8)) + 4 * n - 3
    tl.store(p.to(tl.pointer_type(tl.float32)), 1.0)
"""
    [store] = report_of(body, {"y_ptr": "*fp32", "n": "i32"}, "y_ptr: n\n").accesses
    assert store.answers["overflow"].verdict == "unknown"
