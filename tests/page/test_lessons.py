"""The lessons under /learn, each solved as its hints say."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from tests.page.conftest import Visit
from tests.page.pages import PHONE, pane, source_of, write
from tests.page.solutions import SOLUTIONS
from tests.page.test_everywhere import violations

EMPTY = "    pass  # your turn; then “Run”"


def run_with(page: Page, body: str) -> None:
    """Write `body` into the open, empty kernel, and run it."""
    expect(page.locator(".left .editor")).to_contain_text("your turn")
    write(page, source_of(page).replace(EMPTY, body.strip("\n")))
    pane(page, "Run").get_by_role("button", name="Run", exact=True).click()


def test_every_lesson_is_solved_as_its_hints_say(visit: Visit) -> None:
    page = visit("learn", waits=False)
    lessons = page.get_by_label("Lesson", exact=True).locator("option")
    titles = lessons.all_inner_texts()
    assert [title.split(":")[0] for title in titles] == list(SOLUTIONS)
    for number, (title, body) in enumerate(SOLUTIONS.items(), 1):
        run_with(page, body)
        status = pane(page, "Run").get_by_role("status")
        expect(status, title).to_have_text("passed", timeout=20_000)
        expect(pane(page, "See").get_by_role("status"), title).to_have_text(
            re.compile(r"^\d+ accesses\.")
        )
        expect(page.get_by_text(f"Solved. {number} of 13 solved in this browser.")).to_be_visible()
        if number < len(titles):
            page.get_by_role("button", name="Next").click()


def test_a_newcomer_solves_puzzle_2_wrong_sees_where_and_solves_it(visit: Visit) -> None:
    page = visit("learn", waits=False)
    page.get_by_label("Lesson", exact=True).select_option(index=1)
    run_with(page, SOLUTIONS["Puzzle 2"].replace(", mask=offsets < N0", ""))
    see = pane(page, "See")
    expect(pane(page, "Run").get_by_role("status")).to_have_text("out of bounds")
    expect(see.get_by_role("status")).to_contain_text("program (6, 0, 0) reads x_ptr[200]")
    expect(see.get_by_role("caption")).to_have_text("32 lanes, 0 masked, 24 out of bounds")
    page.get_by_text("Hint 3").click()
    expect(page.get_by_text("and mask=offsets < N0 in both.")).to_be_visible()
    expect(page.get_by_text("Solved.")).to_have_count(0)

    page.get_by_role("button", name="Start over").click()
    run_with(page, SOLUTIONS["Puzzle 2"])
    expect(page.get_by_text("Solved. 1 of 13")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Lesson", exact=True)).to_have_value(
        "Puzzle 2: constant add in blocks"
    )
    expect(page.get_by_role("option", name="✓ Puzzle 2")).to_be_attached()
    expect(page.locator(".left .editor")).to_contain_text("mask=offsets < N0")


def test_a_stub_stands_beside_the_right_specification(visit: Visit) -> None:
    page = visit("learn", waits=False)
    page.get_by_label("Lesson", exact=True).select_option(label="Puzzle 8: convolution")
    lesson = page.get_by_role("region", name="The lesson")
    expect(lesson).to_contain_text("def reference(x_ptr, k_ptr, **_)")
    expect(lesson).to_contain_text("def conv2d_spec(x, k):\n    return x")


def test_what_does_not_compile_is_said_at_its_line(visit: Visit) -> None:
    page = visit("learn", waits=False)
    run_with(page, "    x = tl.lod(x_ptr)")
    expect(page.locator("#state.failed")).to_be_visible()
    expect(page.get_by_role("list", name="Diagnostics")).to_contain_text("has no attribute 'lod'")


def test_a_failed_run_never_stands_beside_solved_and_other_sizes_do_not_count(
    visit: Visit,
) -> None:
    page = visit("learn", waits=False)
    run_with(page, SOLUTIONS["Puzzle 1"])
    expect(page.get_by_text("Solved. 1 of 13")).to_be_visible()
    write(page, source_of(page).replace("+ 10", "+ 11"))
    page.keyboard.press("Control+Enter")  # runs, in a lesson
    expect(pane(page, "Run").get_by_role("status")).to_have_text("mismatch")
    expect(page.get_by_text("Solved.")).to_have_count(0)

    page.get_by_label("Lesson", exact=True).select_option(index=1)
    expect(page.locator(".left .editor")).to_contain_text("add_ten_in_blocks")
    shape = pane(page, "Run").get_by_role("group", name="x_ptr").get_by_label("shape")
    shape.fill("224")
    run_with(page, SOLUTIONS["Puzzle 2"])
    expect(page.get_by_text("Solved.")).to_have_count(0)


def test_a_lesson_has_one_main_button_and_no_forms_of_a_compiler(visit: Visit) -> None:
    page = visit("learn", waits=False)
    expect(page.locator("button.primary:visible")).to_have_text(["Run"])
    expect(page.get_by_label("Target", exact=True)).to_have_count(0)


def test_the_lessons_are_for_everybody(visit: Visit) -> None:
    for context in ({"color_scheme": "dark"}, PHONE):
        page = visit("learn", waits=False, **context)
        run_with(page, SOLUTIONS["Puzzle 1"])
        expect(page.get_by_text("Solved. 1 of 13")).to_be_visible()
        expect(pane(page, "See").get_by_role("status")).to_have_text("2 accesses.")
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        assert violations(page) == []


def test_a_run_before_the_service_answers_runs_the_open_lesson(visit: Visit) -> None:
    page = visit("learn", waits=False)
    run_with(page, SOLUTIONS["Puzzle 1"])
    expect(page.get_by_text("Solved. 1 of 13")).to_be_visible()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/v1/inspect*", hold)
    page.get_by_label("Lesson", exact=True).select_option(index=4)
    write(page, source_of(page).replace(EMPTY, SOLUTIONS["Puzzle 5"].strip("\n")))
    expect(pane(page, "Run")).to_have_count(0)  # the previous lesson's button is gone
    page.unroute("**/v1/inspect*")  # releases held results
    assert held
    pane(page, "Run").get_by_role("button", name="Run", exact=True).click()

    expect(page.get_by_text("Solved. 2 of 13")).to_be_visible()
