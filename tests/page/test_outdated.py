"""Results of an earlier text, request or launch never look current."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.page.conftest import Visit, compiled
from tests.page.lessons import open_lesson, run
from tests.page.pages import SOURCE, add_pane, asked, held
from tests.page.test_everywhere import violations
from tests.page.test_run_notes import fill_in, notes, start

NO_TYPE = "*fp23:16"


def test_a_run_is_of_the_request_before_until_the_next_run(visit: Visit) -> None:
    page = visit(refused=True)
    see = add_pane(page, "See")
    run_pane = fill_in(page, 1000)
    start(run_pane, "passed")
    expect(see.get_by_role("status")).to_have_text("3 accesses.")
    page.get_by_label("x_ptr", exact=True).fill(NO_TYPE)
    compiled(page, "failed")

    for pane in (run_pane, see):
        expect(pane.locator(".found.outdated")).to_contain_text("Forms changed.")
    expect(notes(page)).to_have_text(["passed before the last change"])
    expect(page.get_by_role("button", name="Keep for comparison")).to_be_disabled()
    assert violations(page) == []
    page.get_by_role("button", name="Write *fp32:16").click()
    compiled(page)
    expect(run_pane.locator(".found.outdated")).to_be_visible()
    start(run_pane, "passed")
    expect(page.locator(".found.outdated")).to_have_count(0)
    expect(notes(page)).to_have_text(["passed"])


def test_a_run_is_of_the_launch_before(visit: Visit) -> None:
    page = visit()
    run_pane = fill_in(page, 1000)
    start(run_pane, "passed")
    run_pane.get_by_label("Grid").fill("1")

    expect(run_pane.locator(".found.outdated")).to_contain_text("Launch changed.")
    expect(notes(page)).to_have_text(["passed before the last change"])


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
    proof, matrix = add_pane(page, "Proof"), add_pane(page, "Matrix")
    proof.get_by_label("Contract").fill("x_ptr: n_elements")
    proof.get_by_role("button", name="Prove").click()
    expect(proof).to_contain_text("bounds: ")
    matrix.get_by_label("Values").fill("cuda:90")
    matrix.get_by_role("button", name="Compile all").click()
    expect(matrix.get_by_role("status")).to_have_text("1 of 1 succeeded.")
    page.get_by_label("x_ptr", exact=True).fill(NO_TYPE)
    compiled(page, "failed")

    for pane in (proof, matrix):
        expect(pane.locator(".found.outdated")).to_contain_text("Forms changed.")


def test_the_picture_of_a_lesson_is_of_the_run_before(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten")
    run(page)
    picture = page.get_by_label("The run, drawn")
    expect(picture.locator(".outdated")).to_have_count(0)
    page.locator(SOURCE).press("Control+End")
    page.keyboard.type("# changed")

    expect(picture.locator(".outdated")).to_contain_text("Source changed.")
