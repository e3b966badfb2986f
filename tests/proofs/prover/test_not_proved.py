"""Questions whose easy answer "proved" would be false."""

from compiler.proof.binding import SizeLimits
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
