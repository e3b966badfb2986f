"""The pane *Proof*: a contract, verdicts by access, witnesses, fixes, and the badge."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.page.conftest import Visit
from tests.page.pages import SOURCE, add_pane, compile_now, pane, source_of, write
from tests.page.test_sharing import permalink

ADD = (
    "x_ptr: n_elements\ny_ptr: n_elements\noutput_ptr: {extent}\ngrid: cdiv(n_elements, BLOCK_SIZE)"
)
ROWS = """\
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, stride, n_cols, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(x_ptr + row * stride + cols, 0.0, mask=cols < n_cols)
"""
OF_ROWS = "sizes n_rows\nx_ptr: n_rows * stride\nn_cols <= stride\ngrid: n_rows"
BADGE = ".proof-badge:not([hidden])"


def test_a_witness_fills_the_run_pane_and_a_full_proof_gives_a_badge(visit: Visit) -> None:
    page = visit()
    proof = add_pane(page, "Proof")
    contract = proof.get_by_label("Contract: what holds for every launch")
    contract.fill(ADD.format(extent="n_elements - 1"))
    proof.get_by_role("button", name="Prove", exact=True).click()
    expect(proof.get_by_role("status")).to_contain_text("Refuted")
    expect(page.locator(BADGE)).to_have_count(0)

    proof.get_by_role("button", name="To the Run pane").click()
    run = pane(page, "Run")
    run.get_by_role("button", name="Run", exact=True).click()
    expect(run.get_by_role("status")).to_have_text("out of bounds")

    proof = pane(page, "Proof")
    contract.fill(ADD.format(extent="n_elements"))
    proof.get_by_role("button", name="Prove", exact=True).click()
    expect(proof.get_by_role("status")).to_contain_text("Proved for all")
    expect(proof.get_by_text("Double-checked: ")).to_contain_text("the bit-vector check agrees")
    badge = page.locator(BADGE)
    expect(badge).to_contain_text("Proved for all sizes under x_ptr: n_elements; y_ptr")

    link = permalink(page)
    other = visit(link)
    expect(other.locator(BADGE)).to_contain_text("under x_ptr: n_elem")
    framed = visit(link.replace("#", "e/"), waits=False)
    expect(framed.locator(BADGE)).to_contain_text("under x_ptr: n_elem")

    write(page, source_of(page).replace("mask=mask", "mask=offsets < n_elements + 1"))
    compile_now(page)
    expect(page.locator("#state.succeeded")).to_be_visible()
    expect(proof.get_by_role("status")).to_contain_text("Refuted")
    expect(page.locator(BADGE)).to_have_count(0)


def test_an_overflow_has_a_fix_to_apply_and_a_mistake_its_place(visit: Visit) -> None:
    page = visit(refused=True)
    write(page, ROWS)
    page.get_by_label("BLOCK", exact=True).fill("64")
    compile_now(page)
    proof = add_pane(page, "Proof")
    contract = proof.get_by_label("Contract: what holds for every launch")
    contract.fill("x_ptr: (")
    proof.get_by_role("button", name="Prove", exact=True).click()
    expect(proof.locator(".field-error")).to_contain_text("line 1, column 9")

    contract.fill(OF_ROWS)
    proof.get_by_role("button", name="Prove", exact=True).click()
    expect(proof).to_contain_text("32-bit overflow: refuted")
    expect(proof.get_by_role("status")).to_contain_text("can overflow")
    expect(proof).to_contain_text("In bounds: proved only if no integer overflows")
    proof.get_by_role("button", name="line 9").click()
    expect(page.locator(f"{SOURCE} .cm-activeLine")).to_contain_text("tl.store")
    proof.get_by_role("button", name="Apply").click()
    expect(page.locator(SOURCE)).to_contain_text("row.to(tl.int64)")
    compile_now(page)
    expect(page.locator(BADGE)).to_be_visible()


def test_a_matrix_has_the_verdict_of_each_kernel_for_the_contract(visit: Visit) -> None:
    page = visit()
    contract = add_pane(page, "Proof").get_by_label("Contract: what holds for every launch")
    contract.fill(ADD.format(extent="min(n_elements, 400)"))
    matrix = add_pane(page, "Matrix")
    matrix.get_by_label("Vary").select_option("BLOCK_SIZE")
    matrix.get_by_label("Values").fill("256, 300")
    matrix.get_by_role("button", name="Compile all").click()

    row = matrix.get_by_role("row", name="256")
    expect(row).to_contain_text("refuted in bounds, line ")
    expect(matrix.get_by_role("row", name="300")).to_contain_text("power of 2")
    expect(matrix.get_by_role("status")).to_have_text("1 of 2 succeeded.")

    pane(page, "Proof")
    contract.fill(ADD.format(extent="n_elements"))
    pane(page, "Matrix").get_by_role("button", name="Compile all").click()
    expect(row).to_contain_text("proved")


def test_a_contract_inferred_from_one_launch_holds_for_all_sizes(visit: Visit) -> None:
    proof = add_pane(visit(), "Proof")
    proof.get_by_role("button", name="Infer the contract").click()

    expect(proof.get_by_role("status")).to_have_text(
        "Proved for all sizes allowed by the contract."
    )
    contract = proof.get_by_role("textbox")
    expect(contract).to_have_value(re.compile(r"^x_ptr: n_elements\n"))


def test_numbers_that_are_equal_by_chance_are_no_fact_of_an_inferred_contract(
    visit: Visit,
) -> None:
    page = visit()
    write(
        page,
        "import triton\nimport triton.language as tl\n@triton.jit\n"
        "def rows_copy(x_ptr, y_ptr, n_rows, n_cols, BLOCK: tl.constexpr):\n"
        "    row = tl.program_id(0).to(tl.int64)\n"
        "    cols = tl.arange(0, BLOCK)\n"
        "    kept = cols < n_rows\n"
        "    x = tl.load(x_ptr + row * n_cols + cols, mask=kept, other=0.0)\n"
        "    tl.store(y_ptr + row * n_cols + cols, x, mask=kept)\n",
    )
    compile_now(page)
    proof = add_pane(page, "Proof")
    proof.get_by_role("button", name="Infer the contract").click()

    expect(proof.get_by_role("textbox")).to_have_value(re.compile("only n_cols = n_rows"))
    expect(proof.get_by_role("status")).not_to_contain_text("all sizes")
