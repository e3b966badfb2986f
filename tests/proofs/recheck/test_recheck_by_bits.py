"""The re-check by bit-vectors contradicts what is not so, and nothing that is."""

import pytest

from tests.proofs.compiled_ttir import ttir_of
from tests.proofs.recheck.bits import bits_report, outcomes, rechecked
from tests.proofs.recheck.false_kernels import FALSE_KERNELS, FalseKernel

COPY = """def kernel(x_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + o, tl.load(x_ptr + o, mask=o < n), mask=o < n)
"""
COPY_TYPES = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
ONE = {"y_ptr": "*fp32", "n": "i32", "m": "i32"}


@pytest.mark.parametrize("false", FALSE_KERNELS, ids=lambda one: one.name)
def test_a_false_proof_is_contradicted(false: FalseKernel) -> None:
    checks = ["races"] if false.check == "race" else ["bounds", "overflow"]
    report = rechecked(false.body, false.signature, false.contract, false.constexprs, checks)
    seen = report.accesses[false.access].checks.values()
    [violated, *_] = [one for one in seen if one.outcome == "violated"]
    assert violated.message
    assert violated.sizes.keys() >= {"grid.x", "program.x"}


def test_a_right_kernel_agrees_in_every_check() -> None:
    contract = "x_ptr: n\ny_ptr: n\ngrid: cdiv(n, B)\n"
    report = rechecked(COPY, COPY_TYPES, contract, {"B": 64}, ["bounds", "overflow", "races"])
    assert outcomes(report, "bounds") == ["agrees", "agrees"]
    assert outcomes(report, "overflow") == ["agrees", "agrees"]
    assert outcomes(report, "race") == ["agrees"]


def test_many_addresses_take_no_more_effort_than_one() -> None:
    stores = "".join(f"    tl.store(y_ptr + o, {number}.0, mask=i < m)\n" for number in range(40))
    body = f"""def kernel(y_ptr, n, m, B: tl.constexpr):
    i = tl.arange(0, B)
    o = tl.program_id(0).to(tl.int64) * m + i
{stores}"""
    report = rechecked(body, ONE, "y_ptr: n * m\ngrid: n\n", {"B": 64})
    assert outcomes(report, "bounds") == ["agrees"] * 40


@pytest.mark.parametrize(
    ("contract", "outcome"),
    [
        ("x_ptr: n\ny_ptr: n - 1\ngrid: cdiv(n, B)\n", "violated"),
        ("x_ptr: n\ny_ptr: n - 1\nn % B == 0\nn <= 0 * n\ngrid: cdiv(n, B)\n", "agrees"),
        ("x_ptr: n\ny_ptr: min(n, 7)\nn < 8\ngrid: cdiv(n, B)\n", "agrees"),
        ("x_ptr: n\ny_ptr: min(n, 7)\nn < 9\ngrid: cdiv(n, B)\n", "violated"),
        ("sizes k\nx_ptr: n\ny_ptr: k * 64\nn = k * 64\ngrid: k\n", "agrees"),
        ("sizes k\nx_ptr: n\ny_ptr: k * 64 - 1\nn = k * 64\ngrid: k\n", "violated"),
    ],
)
def test_a_contract_decides(contract: str, outcome: str) -> None:
    report = rechecked(COPY, COPY_TYPES, contract, {"B": 64})
    assert outcomes(report, "bounds")[1] == outcome


def test_a_race_is_found() -> None:
    contract = "x_ptr: n\ny_ptr: n\ngrid: n\n"
    report = rechecked(COPY, COPY_TYPES, contract, {"B": 64}, ["races"])
    assert outcomes(report, "race") == ["agrees"]
    body = COPY.replace("* B", "* 32")
    assert outcomes(rechecked(body, COPY_TYPES, contract, {"B": 64}, ["races"]), "race") == [
        "violated"
    ]


def test_sums_that_commute_do_not_race() -> None:
    body = "def kernel(y_ptr, n, m):\n    tl.atomic_add(y_ptr, 1.0)\n"
    report = rechecked(body, ONE, "y_ptr: 1\ngrid: n\n", checks=["races"])
    assert outcomes(report, "race") == ["agrees"]


def test_a_wrapped_integer_that_is_not_in_use_is_no_violation() -> None:
    body = """def kernel(y_ptr, n, m):
    p = tl.program_id(0)
    tl.store(y_ptr + p * m, 1.0, mask=p < 2)
"""
    report = rechecked(body, ONE, "y_ptr: 2 * m\nm <= 1000000000\ngrid: n\n")
    assert outcomes(report, "overflow") == ["agrees"]


def test_a_mask_whose_integer_wraps_is_a_violation() -> None:
    body = "def kernel(y_ptr, n, m):\n    tl.store(y_ptr, 1.0, mask=n * m > 0)\n"
    report = rechecked(body, ONE, "y_ptr: 1\n")
    assert outcomes(report, "overflow") == ["violated"]
    assert outcomes(report, "bounds") == ["agrees"]


@pytest.mark.filterwarnings("ignore:Value 20 exceeds the maximum bitwidth")
def test_a_shift_by_more_bits_than_there_are_keeps_only_zero() -> None:
    body = """def kernel(y_ptr, n, m):
    tl.store(y_ptr, 1.0, mask=(m.to(tl.int16) << 20) == 0)
"""
    assert outcomes(rechecked(body, ONE, "y_ptr: 1\nm <= 1\n"), "overflow") == ["violated"]


def test_an_integer_of_a_mask_may_wrap_after_the_last_turn_of_a_loop() -> None:
    body = """def kernel(y_ptr, n, m):
    at = n
    for i in range(-2, 5, m):
        tl.store(y_ptr + at, 1.0, mask=at >= 0)
        at += m
"""
    report = rechecked(body, ONE, "y_ptr: n + 8\nn <= 1073741824\nm <= 1073741824\n")
    assert outcomes(report, "overflow") == ["agrees"]


def test_an_integer_of_which_a_proof_takes_any_value_may_wrap() -> None:
    body = """def kernel(y_ptr, n, m):
    seed = m
    for i in range(n):
        tl.store(y_ptr + (seed & 7), 1.0)
        seed = seed * 1103515245 + 12345
"""
    report = rechecked(body, ONE, "y_ptr: 8\n")
    assert outcomes(report, "bounds") == outcomes(report, "overflow") == ["agrees"]
    assert outcomes(rechecked(body, ONE, "y_ptr: 7\n"), "bounds") == ["violated"]


def test_what_a_while_loop_computes_is_exact() -> None:
    body = """def kernel(y_ptr, n, m):
    i = 0
    while i < n:
        i += 3
    tl.store(y_ptr + i, 1.0)
"""
    assert outcomes(rechecked(body, ONE, "y_ptr: n + 3\n"), "bounds") == ["agrees"]
    assert outcomes(rechecked(body, ONE, "y_ptr: n + 2\n"), "bounds") == ["violated"]


def test_what_comes_after_four_turns_of_a_loop_is_not_seen() -> None:
    body = """def kernel(y_ptr, n, m):
    for i in range(n):
        tl.store(y_ptr + i, 1.0)
"""
    assert outcomes(rechecked(body, ONE, "y_ptr: min(n, 4)\n"), "bounds") == ["agrees"]
    assert outcomes(rechecked(body, ONE, "y_ptr: min(n, 3)\n"), "bounds") == ["violated"]


def test_a_loaded_index_is_any_value_of_its_range() -> None:
    body = """def kernel(t_ptr, y_ptr, n, m):
    tl.store(y_ptr + tl.load(t_ptr + n - 1), 1.0)
"""
    types = {"t_ptr": "*i32", **ONE}
    assert outcomes(rechecked(body, types, "t_ptr: n\ny_ptr: m\nvalues t_ptr: 0 .. m\n"), "bounds")[
        1
    ] == ("agrees")
    assert outcomes(rechecked(body, types, "t_ptr: n\ny_ptr: m\n"), "bounds")[1] == "violated"


def test_an_index_from_a_buffer_that_is_written_is_not_modelled() -> None:
    body = """def kernel(t_ptr, y_ptr, n, m):
    tl.store(t_ptr, 0)
    tl.store(y_ptr + tl.load(t_ptr), 1.0)
"""
    types = {"t_ptr": "*i32", **ONE}
    report = rechecked(body, types, "t_ptr: n\ny_ptr: m\nvalues t_ptr: 0 .. m\n")
    assert outcomes(report, "bounds")[-1] == "not_modelled"


def test_a_descriptor_keeps_to_its_shape() -> None:
    body = """def kernel(y_ptr, n, m):
    d = tl.make_tensor_descriptor(y_ptr, [n, m], [m, 1], [16, 16])
    d.store([n - 1, m - 1], tl.zeros((16, 16), tl.float32))
"""
    contract = "y_ptr: n * m\nn <= 64\nm <= 64\n"
    assert outcomes(rechecked(body, ONE, contract), "bounds") == ["agrees"]
    wrong = contract.replace("n * m", "n * m - 1")
    assert outcomes(rechecked(body, ONE, wrong), "bounds") == ["violated"]


def test_an_early_return_keeps_what_follows_from_running() -> None:
    body = """def kernel(y_ptr, n, m):
    if n > m:
        return
    tl.store(y_ptr + n - 1, 1.0)
"""
    assert outcomes(rechecked(body, ONE, "y_ptr: m\n"), "bounds") == ["agrees"]
    assert outcomes(rechecked(body, ONE, "y_ptr: m - 1\n"), "bounds") == ["violated"]


def test_a_reduction_of_few_integers_is_exact() -> None:
    body = """def kernel(y_ptr, n, m):
    tl.store(y_ptr + tl.sum(tl.arange(0, 8), 0), 1.0)
"""
    assert outcomes(rechecked(body, ONE, "y_ptr: 29\n"), "bounds") == ["agrees"]
    assert outcomes(rechecked(body, ONE, "y_ptr: 28\n"), "bounds") == ["violated"]


def test_shapes_keep_their_elements() -> None:
    body = """def kernel(y_ptr, n, m):
    a = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    b = tl.trans(tl.reshape(a, (8, 4)))
    first, second = tl.split(tl.join(b, b + 32))
    tl.store(y_ptr + second - first + b, 1.0)
"""
    assert outcomes(rechecked(body, ONE, "y_ptr: 64\n"), "bounds") == ["agrees"]
    assert outcomes(rechecked(body, ONE, "y_ptr: 63\n"), "bounds") == ["violated"]


def test_a_contract_that_is_not_understood_is_refused() -> None:
    report = rechecked(COPY, COPY_TYPES, "x_ptr: n\ny_ptr: other\n", {"B": 64})
    assert report.refused == "the contract: 'other'"


def test_parameters_that_are_not_the_kernel_s_are_refused() -> None:
    text = ttir_of(COPY, COPY_TYPES, {"B": 64})
    report = bits_report(text, ["x_ptr"], "x_ptr: n\n")
    assert report.refused == "parameters that are not those of the kernel"


def test_a_text_that_is_no_module_is_refused() -> None:
    assert bits_report("module of nothing", [], "").refused == "a module that MLIR cannot parse"


def test_only_what_is_wanted_of_each_access_is_asked() -> None:
    body = """def kernel(x_ptr, y_ptr, n):
    tl.store(y_ptr, tl.load(x_ptr + n))
"""
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
    text = ttir_of(body, signature, {})
    checks = ["bounds", "overflow", "races"]
    contract = "x_ptr: n\ny_ptr: 1\ngrid: n\n"
    whole = bits_report(text, list(signature), contract, checks=checks)
    assert outcomes(whole, "bounds") == ["violated", "agrees"]
    assert outcomes(whole, "race") == ["violated"]
    some = [["overflow"], ["bounds"]]
    part = bits_report(text, list(signature), contract, checks=checks, wanted=some)
    assert [set(one.checks) for one in part.accesses] == [{"overflow"}, {"bounds"}]
    assert outcomes(part, "overflow") == outcomes(part, "bounds") == ["agrees"]


def test_a_kernel_with_another_number_of_accesses_has_all_asked() -> None:
    body = "def kernel(x_ptr, n):\n    tl.store(x_ptr + n, 1.0)\n"
    signature = {"x_ptr": "*fp32", "n": "i32"}
    text = ttir_of(body, signature, {})
    report = bits_report(text, list(signature), "x_ptr: n\n", wanted=[])
    assert outcomes(report, "bounds") == ["violated"]


@pytest.mark.parametrize(
    ("index", "other", "outcome"),
    [("v & 7", 9, "agrees"), ("v", 7, "agrees"), ("v", 9, "violated"), ("v + 1", 2, "violated")],
)
def test_a_lane_may_be_masked_or_not_where_an_integer_of_its_mask_wraps(
    index: str, other: int, outcome: str
) -> None:
    body = f"""def kernel(i_ptr, y_ptr, n, m):
    v = tl.load(i_ptr, mask=n * m >= 0, other={other})
    tl.store(y_ptr + ({index}), 1.0)
"""
    contract = "i_ptr: 1\ny_ptr: 8\nvalues i_ptr: 0 .. 8\nn >= 0\nm >= 0\n"
    report = rechecked(body, {"i_ptr": "*i32", **ONE}, contract)
    assert outcomes(report, "overflow") == ["violated", "agrees"]
    assert outcomes(report, "bounds") == ["agrees", outcome]
