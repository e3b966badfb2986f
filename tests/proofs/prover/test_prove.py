from compiler.proof.binding import SizeLimits
from tests.proofs.compiled_ttir import proof_of, report_of

COPY = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
"""
COPY_TYPES = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
COPY_CONTRACT = "x_ptr: n\ny_ptr: n\ngrid: cdiv(n, BLOCK)\n"
ROWS = """def kernel(x_ptr, stride, n_cols, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    row = tl.program_id(0)CAST
    tl.store(x_ptr + row * stride + cols, 0.0, mask=cols < n_cols)
"""
ROWS_TYPES = {"x_ptr": "*fp32", "stride": "i32", "n_cols": "i32"}
ROWS_CONTRACT = "sizes rows\nx_ptr: rows * stride\nn_cols <= stride\ngrid: rows\n"


def test_a_masked_copy_is_in_bounds_and_exact_for_all_sizes() -> None:
    proof = proof_of(COPY, COPY_TYPES, COPY_CONTRACT, {"BLOCK": 128})
    for one in proof.accesses:
        assert one.bounds is not None
        assert one.bounds.verdict == "proved"
        assert one.overflow is not None
        assert one.overflow.verdict == "proved"


def test_a_buffer_one_element_short_is_refuted_at_the_smallest_size() -> None:
    contract = COPY_CONTRACT.replace("y_ptr: n", "y_ptr: n - 1")
    report = report_of(COPY, COPY_TYPES, contract, {"BLOCK": 128})
    load, store = report.accesses
    assert load.answers["bounds"].verdict == "proved"
    broken = store.answers["bounds"]
    assert broken.verdict == "refuted"
    assert broken.witness is not None
    assert broken.witness.scalars == {"n": 1}
    assert broken.witness.message == "writes y_ptr[0] of 0 elements"


def test_a_row_offset_of_32_bits_wraps_from_known_sizes_on() -> None:
    body = ROWS.replace("CAST", "")
    report = report_of(body, ROWS_TYPES, ROWS_CONTRACT, {"BLOCK": 128})
    broken = report.accesses[0].answers["overflow"]
    assert broken.verdict == "refuted"
    assert broken.witness is not None
    assert broken.witness.sizes == {"rows": 70_000}
    assert broken.witness.scalars["stride"] == 30_679
    assert broken.witness.message.startswith("writes x_ptr[-2,147,")
    assert report.accesses[0].answers["bounds"].verdict == "proved"


def test_a_row_of_64_bits_does_not_wrap() -> None:
    body = ROWS.replace("CAST", ".to(tl.int64)")
    report = report_of(body, ROWS_TYPES, ROWS_CONTRACT, {"BLOCK": 128})
    assert report.accesses[0].answers["overflow"].verdict == "proved"


def test_a_proof_names_the_statements_that_it_rests_on() -> None:
    proof = proof_of(ROWS.replace("CAST", ".to(tl.int64)"), ROWS_TYPES, ROWS_CONTRACT, {"BLOCK": 8})
    [access] = proof.accesses
    assert access.bounds is not None
    assert "n_cols <= stride" in access.bounds.under


def test_a_proof_does_not_rest_on_a_statement_that_it_does_not_use() -> None:
    contract = COPY_CONTRACT + "n <= 4096\nn % 16 == 0\n"
    bounds = proof_of(COPY, COPY_TYPES, contract, {"BLOCK": 128}).accesses[0].bounds
    assert bounds is not None
    assert bounds.verdict == "proved"
    assert not {"n <= 4096", "n % 16 == 0"} & bounds.under


def test_without_a_statement_that_a_proof_rests_on_there_is_none() -> None:
    contract = ROWS_CONTRACT.replace("n_cols <= stride\n", "")
    proof = proof_of(ROWS.replace("CAST", ".to(tl.int64)"), ROWS_TYPES, contract, {"BLOCK": 8})
    [access] = proof.accesses
    assert access.bounds is not None
    assert access.bounds.verdict == "refuted"


def test_an_access_that_never_runs_is_not_called_proved() -> None:
    contract = COPY_CONTRACT + "n < 0\n"
    proof = proof_of(COPY, COPY_TYPES, contract, {"BLOCK": 128})
    for one in proof.accesses:
        assert one.bounds is not None
        assert one.bounds.verdict == "unknown"
        assert "no sizes" in one.bounds.reason


def test_buffers_below_a_limit_cannot_make_a_row_wrap() -> None:
    limits = SizeLimits(elements=2**30)
    proof = proof_of(ROWS.replace("CAST", ""), ROWS_TYPES, ROWS_CONTRACT, {"BLOCK": 128}, limits)
    [access] = proof.accesses
    assert access.overflow is not None
    assert access.overflow.verdict == "proved"
    assert limits.elements_label() in access.overflow.under


GATHER = """def kernel(x_ptr, i_ptr, y_ptr, n, m, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    at = tl.load(i_ptr + offsets, mask=mask, other=0)
    tl.store(y_ptr + offsets, tl.load(x_ptr + at, mask=mask), mask=mask)
"""
GATHER_TYPES = {"x_ptr": "*fp32", "i_ptr": "*i32", "y_ptr": "*fp32", "n": "i32", "m": "i32"}
GATHER_CONTRACT = "x_ptr: m\ni_ptr: n\ny_ptr: n\ngrid: cdiv(n, BLOCK)\n"


def test_a_loaded_index_without_a_range_is_unknown_and_says_where_it_comes_from() -> None:
    proof = proof_of(GATHER, GATHER_TYPES, GATHER_CONTRACT, {"BLOCK": 64})
    bounds = proof.accesses[1].bounds
    assert bounds is not None
    assert bounds.verdict == "unknown"
    assert "the values of i_ptr, loaded at line 9" in bounds.reason


def test_a_loaded_index_with_a_range_is_in_bounds() -> None:
    contract = GATHER_CONTRACT + "values i_ptr: 0 .. m\n"
    proof = proof_of(GATHER, GATHER_TYPES, contract, {"BLOCK": 64})
    bounds = proof.accesses[1].bounds
    assert bounds is not None
    assert bounds.verdict == "proved"


def test_a_range_of_values_one_too_large_is_refuted_with_the_value_in_the_buffer() -> None:
    contract = GATHER_CONTRACT + "values i_ptr: 0 .. m + 1\n"
    report = report_of(GATHER, GATHER_TYPES, contract, {"BLOCK": 64})
    broken = report.accesses[1].answers["bounds"]
    assert broken.verdict == "refuted"
    assert broken.witness is not None
    assert broken.witness.values["i_ptr"] == {"0": 1}
    assert broken.witness.message == "reads x_ptr[1] of 1 element"


def test_the_range_of_a_buffer_that_the_kernel_writes_is_not_believed() -> None:
    body = GATHER + "    tl.store(i_ptr + offsets, at, mask=mask)\n"
    contract = GATHER_CONTRACT + "values i_ptr: 0 .. m\n"
    proof = proof_of(body, GATHER_TYPES, contract, {"BLOCK": 64})
    bounds = proof.accesses[1].bounds
    assert bounds is not None
    assert bounds.verdict == "unknown"


def test_the_mask_of_a_load_limits_where_its_range_holds() -> None:
    body = GATHER.replace("mask=mask, other=0)", "mask=mask, other=-1)").replace(
        "tl.load(x_ptr + at, mask=mask)", "tl.load(x_ptr + at)"
    )
    contract = GATHER_CONTRACT + "values i_ptr: 0 .. m\n"
    report = report_of(body, GATHER_TYPES, contract, {"BLOCK": 64})
    broken = report.accesses[1].answers["bounds"]
    assert broken.verdict == "refuted"
    assert broken.witness is not None
    assert broken.witness.message == "reads x_ptr[-1] of 1 element"


LOOP = """def kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        tl.store(x_ptr + start + offsets, 0.0MASK)
"""


def test_a_loop_over_blocks_needs_its_mask() -> None:
    types, contract = {"x_ptr": "*fp32", "n": "i32"}, "x_ptr: n\n"
    masked = LOOP.replace("MASK", ", mask=start + offsets < n")
    proof = proof_of(masked, types, contract, {"BLOCK": 64})
    assert [one.bounds and one.bounds.verdict for one in proof.accesses] == ["proved"]
    report = report_of(LOOP.replace("MASK", ""), types, contract, {"BLOCK": 64})
    assert report.accesses[0].answers["bounds"].verdict == "refuted"


def test_the_counter_of_a_loop_wraps_near_the_end_of_32_bits() -> None:
    types, contract = {"x_ptr": "*fp32", "n": "i32"}, "x_ptr: n\n"
    masked = LOOP.replace("MASK", ", mask=start + offsets < n")
    proof = proof_of(masked, types, contract, {"BLOCK": 1024}, SizeLimits(size=2**31))
    [access] = proof.accesses
    assert access.overflow is not None
    assert access.overflow.verdict == "refuted"
    assert access.overflow.model is not None
    assert access.overflow.model["n"] > 2**31 - 2 * 1024


def test_a_loop_that_may_be_empty_proves_nothing_behind_it() -> None:
    body = """def kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = 0
    for i in range(0, n):
        at += i - i + 1 + BLOCK - BLOCK
    tl.store(x_ptr + (at - 1), 0.0)
"""
    types, contract = {"x_ptr": "*fp32", "n": "i32"}, "any n\nx_ptr: max(n, 1)\n"
    report = report_of(body, types, contract, {"BLOCK": 8})
    broken = report.accesses[0].answers["bounds"]
    assert broken.verdict == "refuted"
    assert broken.witness is not None
    assert broken.witness.message == "writes x_ptr[-1] of 1 element"


def test_the_counter_of_an_empty_loop_proves_nothing_behind_it() -> None:
    body = """def kernel(x_ptr, n, m, BLOCK: tl.constexpr):
    at = 0
    for i in range(0, n):
        at += m * BLOCK
    tl.store(x_ptr + (at - 1), 0.0)
"""
    types = {"x_ptr": "*fp32", "n": "i32", "m": "i32"}
    report = report_of(body, types, "any n\nx_ptr: max(n * m * BLOCK, 1)\n", {"BLOCK": 8})
    assert report.accesses[0].answers["bounds"].verdict != "proved"


def test_early_returns_that_share_a_block_are_no_loop() -> None:
    body = """def kernel(x_ptr, n, m):
    row = tl.program_id(0)
    if row >= n:
        return
    if row >= m:
        return
    tl.store(x_ptr + row, 0.0)
"""
    contract = "sizes rows\nx_ptr: min(n, m)\ngrid: rows\n"
    [access] = proof_of(body, {"x_ptr": "*fp32", "n": "i32", "m": "i32"}, contract).accesses
    assert access.bounds is not None
    assert access.bounds.verdict == "proved"


def test_a_pointer_to_truth_values_is_the_same_as_bytes() -> None:
    body = """def kernel(x_ptr, n):
    row = tl.program_id(0)
    tl.store(x_ptr + row, row > 0, mask=row < n)
"""
    contract = "sizes rows\nx_ptr: n\ngrid: rows\n"
    [access] = proof_of(body, {"x_ptr": "*i1", "n": "i32"}, contract).accesses
    assert access.bounds is not None
    assert access.bounds.verdict == "proved"


def test_the_index_of_a_largest_value_is_one_of_the_indices() -> None:
    body = """def kernel(x_ptr, y_ptr, N: tl.constexpr):
    values = tl.load(x_ptr + tl.arange(0, N))
    tl.store(y_ptr + tl.argmax(values, axis=0), 1.0)
"""
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32"}
    for size, verdict in (("N", "proved"), ("N - 1", "unknown")):
        contract = f"x_ptr: N\ny_ptr: {size}\ngrid: 1\n"
        _, store = proof_of(body, types, contract, {"N": 64}).accesses
        assert store.bounds is not None
        assert store.bounds.verdict == verdict


def test_the_upper_bits_of_a_loaded_byte_are_in_a_table_of_16() -> None:
    body = """def kernel(x_ptr, table_ptr, y_ptr, n):
    row = tl.program_id(0)
    value = tl.load(x_ptr + row)
    tl.store(y_ptr + row, tl.load(table_ptr + (value >> 4)))
"""
    types = {"x_ptr": "*u8", "table_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
    contract = "x_ptr: n\ntable_ptr: 16\ny_ptr: n\ngrid: n\n"
    for one in proof_of(body, types, contract).accesses:
        assert one.bounds is not None
        assert one.bounds.verdict == "proved"


def test_the_grid_of_a_witness_has_programs_on_each_axis() -> None:
    body = """def kernel(x_ptr, n):
    tl.store(x_ptr + tl.program_id(0), 0.0)
"""
    contract = "sizes heads\nx_ptr: n - 1\ngrid: n, heads // 2\n"
    [store] = report_of(body, {"x_ptr": "*fp32", "n": "i32"}, contract).accesses
    witness = store.answers["bounds"].witness
    assert witness is not None
    assert witness.grid == [1, 1, 1]


def test_a_witness_beside_a_descriptor_of_the_host_is_possible() -> None:
    body = """def kernel(desc, x_ptr, n):
    tl.store(x_ptr + tl.program_id(0), 0.0)
"""
    types = {"desc": "tensordesc<bf16[16, 16]>", "x_ptr": "*fp32", "n": "i32"}
    [store] = report_of(body, types, "x_ptr: n - 1\ngrid: n\n").accesses
    assert store.answers["bounds"].verdict == "possible"
    assert "tensor descriptor desc" in store.answers["bounds"].reason
