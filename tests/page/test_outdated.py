"""Results of an earlier text, request or launch never look current."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.page.conftest import Visit, compiled
from tests.page.lessons import open_lesson, run
from tests.page.pages import SOURCE, add_pane, asked, compile_now, held, pane, source_of, write
from tests.page.test_everywhere import violations
from tests.page.test_proving import OF_ROWS, ROWS
from tests.page.test_run_notes import fill_in, notes, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

NO_TYPE = "*fp23:16"
NO_PTX = (
    'tl.inline_asm_elementwise("asm volatile $0 $1;", "=f,f", [x + y], '
    "dtype=tl.float32, is_pure=False, pack=1)"
)
"""A value that ptxas refuses, after all other stages."""
BUSY = '{"slug": "too_many_requests", "title": "Too many requests", "detail": "Wait."}'
FILL = """\
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, n):
    tl.store(x_ptr + tl.program_id(0), 0.0)
"""


def test_a_run_is_of_the_request_before_until_the_next_run(visit: Visit) -> None:
    page = visit(refused=True)
    see = add_pane(page, "See")
    run_pane = fill_in(page, 1000)
    start(run_pane, "passed")
    expect(see.get_by_role("status")).to_have_text("3 accesses.")
    page.get_by_label("x_ptr", exact=True).fill(NO_TYPE)
    compiled(page, "failed")

    for acting in (run_pane, see):
        expect(acting.locator(".found.outdated")).to_contain_text("Forms changed.")
    expect(notes(page)).to_have_text(["passed before the last change"])
    expect(page.get_by_role("button", name="Keep for comparison")).to_be_disabled()
    assert violations(page) == []
    page.get_by_role("button", name="Write *fp32:16").click()
    compiled(page)
    expect(run_pane.locator(".found.outdated")).to_be_visible()
    start(run_pane, "passed")
    expect(page.locator(".found.outdated")).to_have_count(0)
    expect(notes(page)).to_have_text(["passed"])


def test_an_error_keeps_the_last_good_results_dimmed_and_where_they_were_scrolled_to(
    visit: Visit,
) -> None:
    page = visit()
    scroller = pane(page, "PTX").locator(".cm-scroller")
    expect(scroller.locator(".cm-line.hue").first).to_be_attached()
    scroller.evaluate("each => { each.scrollTop = 300 }")
    source = source_of(page)
    write(page, source.replace("x + y", "x + y +"))
    compiled(page, "failed")

    for title in ("TTIR", "PTX", "Resources"):
        expect(pane(page, title).locator(".outdated")).to_contain_text("Last good output")
    expect(scroller).to_be_visible()
    assert scroller.evaluate("each => each.scrollTop") == 300
    assert violations(page) == []
    write(page, source.replace("x + y", "y + x"))
    compiled(page)
    expect(page.locator(".pane.outdated")).to_have_count(0)
    assert scroller.evaluate("each => each.scrollTop") == 300


def test_stages_that_a_failed_compilation_reached_are_its_own(visit: Visit) -> None:
    page = visit()
    write(page, source_of(page).replace("x + y", NO_PTX))
    compiled(page, "failed")

    expect(pane(page, "TTIR")).to_contain_text("asm volatile")
    expect(pane(page, "TTIR").locator(".outdated")).to_have_count(0)
    expect(pane(page, "Resources").locator(".outdated")).to_be_visible()


def test_a_run_is_of_the_launch_before(visit: Visit) -> None:
    page = visit()
    run_pane = fill_in(page, 1000)
    start(run_pane, "passed")
    run_pane.get_by_label("Grid").fill("1")

    expect(run_pane.locator(".found.outdated")).to_contain_text("Launch changed.")
    expect(notes(page)).to_have_text(["passed before the last change"])


def test_a_run_of_another_kernel_is_not_shown(visit: Visit) -> None:
    page = visit()
    run_pane = fill_in(page, 1000)
    start(run_pane, "passed")
    write(page, FILL)
    compiled(page)

    expect(run_pane.get_by_role("status")).to_be_hidden()
    expect(notes(page)).to_have_count(0)


def test_a_run_that_ends_after_a_change_is_of_the_text_before(visit: Visit) -> None:
    page = visit()
    run_pane = fill_in(page, 1000)
    launches = held(page, "launches")
    run_pane.get_by_role("button", name="Run", exact=True).click()
    launch = asked(page, launches)
    page.locator(SOURCE).press("Control+End")
    page.keyboard.type("# changed")
    launch.continue_()

    expect(run_pane.get_by_role("status")).to_have_text("passed")
    expect(run_pane.locator(".found.outdated")).to_contain_text("Source changed.")
    expect(notes(page)).to_have_text(["passed before the last change"])


def test_a_proof_and_a_matrix_are_of_the_text_before(visit: Visit) -> None:
    page = visit(refused=True)
    proof = add_pane(page, "Proof")
    proof.get_by_label("Contract").fill("x_ptr: n_elements")
    proof.get_by_role("button", name="Prove").click()
    expect(proof).to_contain_text("bounds: ")
    matrix = add_pane(page, "Matrix")
    matrix.get_by_label("Values").fill("cuda:90")
    matrix.get_by_role("button", name="Compile all").click()
    expect(matrix.get_by_role("status")).to_have_text("1 of 1 succeeded.")
    page.get_by_label("x_ptr", exact=True).fill(NO_TYPE)
    compiled(page, "failed")

    for title in ("Proof", "Matrix"):
        expect(pane(page, title).locator(".found.outdated")).to_contain_text("Forms changed.")


def test_the_picture_of_a_lesson_is_of_the_run_before(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten")
    run(page)
    picture = page.get_by_label("The run, drawn")
    expect(picture.locator(".outdated")).to_have_count(0)
    page.locator(SOURCE).press("Control+End")
    page.keyboard.type("# changed")

    expect(picture.locator(".outdated")).to_contain_text("Source changed.")


def busy(page: Page, path: str) -> None:
    """Refuse every request to `v1/` with this path from now on."""
    page.route(
        f"**/v1/{path}*",
        lambda route: route.fulfill(status=429, content_type="application/problem+json", body=BUSY),
    )


def test_a_compilation_that_ends_after_a_form_changed_is_of_the_form_before(visit: Visit) -> None:
    page = visit()
    page.get_by_label("Live").uncheck()
    compilations = held(page, "compilations")
    page.get_by_label("num_warps").select_option("8")
    page.get_by_role("button", name="Compile", exact=True).click()
    compilation = asked(page, compilations)
    page.get_by_label("Target").select_option("hip:gfx942")
    compilation.continue_()

    expect(page.locator("#state")).to_contain_text("Forms changed. Ctrl+Enter compiles.")
    expect(page.locator(".pane.outdated")).to_have_count(3)


def test_a_proof_is_of_the_text_that_stands_there(visit: Visit) -> None:
    page = visit(refused=True)
    write(page, FILL)
    compile_now(page)
    proof = add_pane(page, "Proof")
    proof.get_by_label("Contract").fill("x_ptr: n\ngrid: n")
    prove = proof.get_by_role("button", name="Prove", exact=True)
    prove.click()
    expect(proof.get_by_role("status")).to_contain_text("Proved for all")
    page.get_by_label("Live").uncheck()
    write(page, FILL.replace("program_id(0)", "program_id(0) + 1"))
    prove.click()
    expect(proof.get_by_role("status")).to_contain_text("Refuted")

    busy(page, "compilations")
    write(page, FILL + "# changed")
    prove.click()
    expect(proof.get_by_role("status")).to_have_text("Compile the kernel first.")


def test_a_fix_is_not_applied_to_another_text(visit: Visit) -> None:
    page = visit()
    write(page, ROWS)
    page.get_by_label("BLOCK", exact=True).fill("64")
    compile_now(page)
    proof = add_pane(page, "Proof")
    proof.get_by_label("Contract").fill(OF_ROWS)
    proof.get_by_role("button", name="Prove", exact=True).click()
    apply = proof.get_by_role("button", name="Apply")
    expect(apply).to_be_visible()
    page.get_by_label("Live").uncheck()
    write(page, ROWS.replace("row * stride", "stride * row"))
    apply.click()

    expect(proof.get_by_role("status")).to_contain_text("Prove again.")
    expect(page.locator(SOURCE)).to_contain_text("stride * row")


def test_a_matrix_that_is_refused_leaves_no_rows(visit: Visit) -> None:
    page = visit(refused=True)
    matrix = add_pane(page, "Matrix")
    matrix.get_by_label("Values").fill("cuda:90")
    matrix.get_by_role("button", name="Compile all").click()
    expect(matrix.get_by_role("status")).to_have_text("1 of 1 succeeded.")
    busy(page, "batches")
    matrix.get_by_role("button", name="Compile all").click()

    expect(matrix.get_by_role("status")).to_contain_text("Too many requests")
    expect(matrix.locator("tbody tr")).to_have_count(0)


def test_a_lesson_that_was_not_run_has_no_picture(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten", refused=True)
    run(page)
    picture = page.get_by_label("The run, drawn")
    expect(picture.locator(".stage")).to_be_attached()
    busy(page, "launches")
    page.locator(SOURCE).press("Control+End")
    page.keyboard.type("# changed")
    run(page)

    expect(picture.locator(".stage")).to_be_hidden()


def test_keeping_a_compilation_does_not_make_it_current(visit: Visit) -> None:
    page = visit()
    page.get_by_label("Live").uncheck()
    page.locator(SOURCE).press("Control+End")
    page.keyboard.type("# changed")
    expect(page.locator(".pane.outdated")).to_have_count(3)
    page.get_by_role("button", name="Keep for comparison").click()

    for title in ("PTX", "Comparison"):
        expect(pane(page, title)).to_contain_text("Source changed.")
