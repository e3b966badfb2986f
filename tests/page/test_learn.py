"""The lessons under /learn: each can be solved, and is judged by more than its own sizes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.conftest import Visit, compiled
from tests.page.lessons import (
    ADD_IN_BLOCKS,
    KERNELS,
    open_lesson,
    run,
    solved,
    take_solution,
    write_body,
)
from tests.page.pages import SOURCE, source_of, text_of, write
from tests.page.test_run_notes import note_below


def test_all_puzzles_and_at_least_eight_more_lessons_are_there(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten")

    assert len(KERNELS) >= 20
    options = page.get_by_label("Lesson", exact=True).locator("option")
    assert options.evaluate_all("all => all.map(each => each.value)") == KERNELS


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_lesson_fails_as_it_begins_and_is_solved_as_its_hints_say(
    visit: Visit, kernel: str
) -> None:
    page = open_lesson(visit, kernel)
    expect(page.get_by_role("article").get_by_role("img")).to_be_visible()
    text = "\n".join(page.locator(".lesson > p:not(.goal, .faint)").all_inner_texts())
    assert 5 <= len(re.findall(r"[.?!](?=\s|$)", text)) <= 10
    expect(run(page)).to_have_class("failed")
    expect(solved(page)).to_be_hidden()

    take_solution(page)
    expect(run(page)).to_have_text("Right at the sizes of the lesson and at three others.")
    expect(solved(page)).to_be_visible()
    expect(page.get_by_text(f"1 of {len(KERNELS)} solved")).to_be_visible()
    if kernel != KERNELS[-1]:
        page.get_by_role("button", name="Next: ").click()
        following = KERNELS[KERNELS.index(kernel) + 1]
        expect(page.locator(SOURCE)).to_contain_text(f"def {following}(")
        expect(solved(page)).to_be_hidden()


def test_a_kernel_that_is_right_at_the_shown_sizes_alone_solves_nothing(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten_in_blocks")
    write_body(page, ADD_IN_BLOCKS.replace("< N0", "< 200"))

    said = run(page)
    expect(said).to_have_text(re.compile("^Right at the sizes of the lesson, but out of bounds"))
    expect(said).to_contain_text("x_ptr [1], z_ptr [1], N0 = 1")
    expect(solved(page)).to_be_hidden()
    expect(page.locator(".steps").get_by_role("img", name="x_ptr, shape 1,")).to_be_visible()


def test_a_newcomer_forgets_the_mask_sees_where_and_solves_it(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten_in_blocks")
    write_body(page, ADD_IN_BLOCKS.replace(", mask=offsets < N0", ""))
    expect(run(page)).to_have_text("Not solved yet: out of bounds.")
    steps = page.locator(".steps")
    expect(steps.get_by_role("status")).to_contain_text("program (6, 0, 0) reads x_ptr[200]")
    expect(steps.get_by_text("32 lanes, 0 masked, 24 out of bounds")).to_be_visible()
    expect(note_below(page, "x = tl.load")).to_contain_text("x_ptr[200]")

    page.get_by_role("button", name="Start over").click()
    expect(page.locator(SOURCE)).to_contain_text("your turn")
    write_body(page, ADD_IN_BLOCKS)
    run(page)
    expect(solved(page)).to_be_visible()
    page.reload()
    expect(page.locator(SOURCE)).to_contain_text("mask=offsets < N0")
    expect(page.get_by_role("option", name="✓ 2 Constant add in blocks")).to_be_attached()


def test_a_failed_run_or_an_edit_never_stands_beside_solved(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten_in_blocks")
    write_body(page, ADD_IN_BLOCKS)
    run(page)
    expect(solved(page)).to_be_visible()
    expect(page.locator("button.primary:visible")).to_have_text(["Next: Outer sum"])
    write(page, source_of(page).replace("+ 10", "+ 11"))
    expect(solved(page)).to_be_hidden()
    expect(page.locator("#state")).to_have_text("Changed since the last run.")

    page.keyboard.press("Control+Enter")
    expect(page.locator("#state.failed")).to_have_text("Not solved yet: mismatch.")
    expect(solved(page)).to_be_hidden()
    expect(page.locator("button.primary:visible")).to_have_text(["Run"])
    expect(page.get_by_label("Target", exact=True)).to_have_count(0)


def test_a_solved_kernel_goes_on_to_its_ptx_and_back(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten_in_blocks")
    write_body(page, ADD_IN_BLOCKS)
    run(page)
    page.get_by_role("button", name="See the PTX").click()

    compiled(page)
    assert "ld.global" in text_of(page, "PTX")
    page.go_back()
    expect(page.get_by_role("article")).to_contain_text("Constant add in blocks")
    expect(page.locator(SOURCE)).to_contain_text("offsets < N0")


def test_what_is_not_proved_is_said_at_its_line_with_sizes(visit: Visit) -> None:
    page = open_lesson(visit, "scale_rows")

    expect(run(page)).to_contain_text("but not proved for all: refuted")
    expect(note_below(page, "x = tl.load")).to_contain_text(
        "overflow of the load of x_ptr: refuted"
    )
    expect(page.locator(".editor .note.good")).to_have_count(0)


def test_too_few_configurations_solve_nothing(visit: Visit) -> None:
    page = open_lesson(visit, "tuned_row_sum")
    write(page, source_of(page).replace("n_columns, 128)", "n_columns, BLOCK)"))

    expect(run(page)).to_have_text("Right, but has only 2 configurations; list at least 4.")
    expect(solved(page)).to_be_hidden()


def test_the_grid_of_a_lesson_is_not_doubted(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten")
    write_body(page, "    tl.store(z_ptr, tl.load(x_ptr) + 10)")
    run(page)

    notes = page.locator(".cm-content .note")
    expect(notes.filter(has_text="elements were never written")).to_have_count(1)
    expect(notes.filter(has_text="does the grid cover")).to_have_count(0)


def test_what_does_not_compile_is_said_at_its_line(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten")
    write_body(page, "    x = tl.lod(x_ptr)")

    expect(run(page)).to_have_text("Not solved yet: the kernel does not compile.")
    expect(page.get_by_text("failed", exact=True)).to_have_count(0)
    diagnostics = page.get_by_role("list", name="Diagnostics")
    expect(diagnostics).to_contain_text("has no attribute 'lod'")
    diagnostics.get_by_role("button", name="Write tl.load").click()
    expect(page.locator(SOURCE)).to_contain_text("x = tl.load(x_ptr)")


def test_a_result_that_comes_after_another_lesson_was_opened_is_not_its(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten")
    take_solution(page)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/v1/launches*", hold)
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_label("Lesson", exact=True).select_option("outer_sum")
    expect(page.locator(SOURCE)).to_contain_text("def outer_sum(")
    assert held
    page.unroute("**/v1/launches*")  # releases held results

    expect(run(page)).to_have_text("Not solved yet: mismatch.")
    expect(page.get_by_text("0 of 22 solved")).to_be_visible()


def test_two_tabs_keep_the_work_of_both(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten")
    other = page.context.new_page()
    other.goto(page.url.replace("add_ten", "outer_sum"))
    expect(other.locator(SOURCE)).to_contain_text("def outer_sum(")
    for tab, mark in ((page, "# one"), (other, "# two")):
        write(tab, source_of(tab) + f"    {mark}\n")

    for kernel, mark in (("add_ten", "# one"), ("outer_sum", "# two")):
        other.get_by_label("Lesson", exact=True).select_option(kernel)
        expect(other.locator(SOURCE)).to_contain_text(mark)


def test_undo_never_brings_the_kernel_of_another_lesson(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten")
    write_body(page, "    return")
    page.get_by_label("Lesson", exact=True).select_option("outer_sum")
    expect(page.locator(SOURCE)).to_contain_text("def outer_sum(")
    page.locator(SOURCE).focus()
    page.keyboard.press("Control+z")

    expect(page.locator(SOURCE)).to_contain_text("def outer_sum(")
    page.go_back()
    expect(page.locator(SOURCE)).to_contain_text("def add_ten(")


def scripts_of(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        "performance.getEntriesByType('resource').map(e => e.name).filter(n => n.endsWith('.js'))"
    )
    return found


def test_texts_of_lessons_are_loaded_with_the_lessons_alone(visit: Visit) -> None:
    explorer, learn = visit(), open_lesson(visit, "add_ten")

    assert not [name for name in scripts_of(explorer) if "learn_page" in name]
    assert [name for name in scripts_of(learn) if "learn_page" in name]
