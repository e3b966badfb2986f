"""The picture of a lesson's run, and lessons on a phone, in both themes and read aloud."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import Visit
from tests.page.lessons import ADD_IN_BLOCKS, open_lesson, run, solved, take_solution, write_body
from tests.page.pages import PHONE, redrawn
from tests.page.test_everywhere import violations

WRONG = ADD_IN_BLOCKS.replace("x + 10", "x + 10 + offsets // 50")
RED = (211, 47, 47)


def colours(picture: Locator, rows: int = 1000) -> list[tuple[int, ...]]:
    """Return the colour of each pixel in the first rows of a canvas, row by row."""
    data = """(c, rows) => [
        ...c.getContext('2d').getImageData(0, 0, c.width, Math.min(rows, c.height)).data
    ]"""
    pixels = picture.evaluate(data, rows)
    return list(zip(pixels[0::4], pixels[1::4], pixels[2::4], strict=True))


def picture_of(page: Page, name: str) -> Locator:
    return page.locator(".steps").get_by_role("img", name=f"{name}, shape")


def test_a_mismatch_jumps_to_its_step_with_both_values(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten_in_blocks")
    write_body(page, WRONG)
    run(page)
    steps = page.locator(".steps")

    expect(steps).to_contain_text("Step 4 of 14: program (1, 0, 0), store of z_ptr")
    expect(steps.locator(".told")).to_contain_text("z_ptr[50]: store by program (1, 0, 0); got 12.")
    expect(steps.locator(".told")).to_contain_text("expected 11.")
    z = steps.get_by_role("img", name="z_ptr, shape 200, 32 elements accessed now, 14 wrong")
    expect(z).to_be_visible()
    assert RED in colours(z)
    assert RED not in colours(picture_of(page, "x_ptr"))

    steps.get_by_label("Step", exact=True).fill("14")
    expect(picture_of(page, "z_ptr")).to_have_attribute(
        "aria-label", "z_ptr, shape 200, 8 elements accessed now, 150 wrong"
    )
    row = steps.get_by_role("row", name="z_ptr[51]")
    row.get_by_role("button", name="step 4").click()
    expect(steps).to_contain_text("Step 4 of 14")
    expect(steps.locator(".told")).to_contain_text("z_ptr[51]")


def test_arrow_keys_step_wherever_the_picture_has_the_focus(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten")
    take_solution(page)
    run(page)
    page.get_by_role("region", name="The run, drawn").focus()
    page.keyboard.press("ArrowRight")

    expect(page.locator(".steps")).to_contain_text("Step 2 of 2")


def test_the_steps_play_at_a_chosen_speed(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten_in_blocks")
    write_body(page, ADD_IN_BLOCKS)
    run(page)
    steps = page.locator(".steps")
    steps.get_by_label("Speed").select_option("fast")
    steps.get_by_role("button", name="Play").click()
    expect(steps).to_contain_text("Step 14 of 14")
    expect(steps.get_by_role("button", name="Play")).to_be_visible()  # it has stopped

    steps.get_by_label("Speed").select_option("slow")
    steps.get_by_role("button", name="Play").click()
    steps.get_by_role("button", name="Pause").click()
    shown = steps.get_by_label("Step", exact=True).input_value()
    page.wait_for_timeout(1200)
    assert steps.get_by_label("Step", exact=True).input_value() == shown


def test_values_stand_in_the_cells_where_they_fit(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten")
    take_solution(page)
    run(page)

    cell = "c => c.width / 8 / devicePixelRatio"
    assert picture_of(page, "x_ptr").evaluate(cell) == 28
    inks = {*colours(picture_of(page, "x_ptr"))}
    assert (255, 255, 255) in inks  # the digits, on the blue of program 0


@pytest.mark.parametrize("ratio", [1, 1.25, 1.5, 3])
def test_cells_are_whole_pixels_of_the_screen(visit: Visit, ratio: float) -> None:
    page = open_lesson(visit, "outer_sum_in_blocks", device_scale_factor=ratio)
    take_solution(page)
    run(page)
    z = picture_of(page, "z_ptr")
    sizes = set()
    for width in (1400, 1900, 1130, 700, 390):
        page.set_viewport_size({"width": width, "height": 900})
        redrawn(page)
        drawn, shown = z.evaluate(
            "c => [c.width, c.getBoundingClientRect().width * devicePixelRatio]"
        )
        sizes.add(drawn)
        assert drawn % 100 == 0
        assert shown == pytest.approx(drawn, abs=0.1)
        line = colours(z, rows=1)
        cells = [line[start : start + drawn // 100] for start in range(0, drawn, drawn // 100)]
        gaps = {tuple(colour == (0, 0, 0) for colour in cell) for cell in cells}
        assert len(gaps) == 1, "each cell has the same pixels and the same gap"
    assert len(sizes) > 1


@pytest.mark.parametrize(
    "context", [{}, {"color_scheme": "dark"}, PHONE, PHONE | {"color_scheme": "dark"}]
)
def test_the_lessons_are_for_everybody(visit: Visit, context: dict[str, Any]) -> None:
    page = open_lesson(visit, "add_ten_in_blocks", **context)
    assert violations(page) == []
    write_body(page, WRONG)
    expect(run(page)).to_have_class("failed")
    assert violations(page) == []
    take_solution(page)
    run(page)
    expect(solved(page)).to_be_visible()
    page.evaluate("Promise.all(document.getAnimations().map(each => each.finished))")  # flourish
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert violations(page) == []


def test_on_a_phone_the_code_comes_first_and_run_stays_at_the_bottom(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten_in_blocks", **PHONE)
    write_body(page, WRONG)
    run(page)
    top = "e => e.getBoundingClientRect().top"
    parts = [page.locator(each).evaluate(top) for each in (".editor", ".lesson", ".picture")]
    assert parts == sorted(parts)
    button = page.get_by_role("button", name="Run", exact=True)
    for scrolled in (0, 600, 100_000):
        page.evaluate("y => scrollTo(0, y)", scrolled)
        box = button.bounding_box()
        assert box
        assert 780 < box["y"] + box["height"] <= 844

    controls = page.locator("button:visible, select:visible, input:visible, summary:visible")
    for control in controls.all():
        height, font = control.evaluate(
            "e => [e.getBoundingClientRect().height, parseFloat(getComputedStyle(e).fontSize)]"
        )
        assert height >= 40, control.inner_text()
        if control.evaluate("e => e.matches('select, input:not([type=range])')"):
            assert font >= 16
    assert (
        page.locator(".editor .cm-content").evaluate(
            "e => parseFloat(getComputedStyle(e).fontSize)"
        )
        >= 16
    )
