"""A launch drawn step by step."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import Visit, compiled
from tests.page.lessons import open_lesson, run
from tests.page.pages import (
    PHONE,
    SOURCE,
    add_pane,
    box_of,
    pane,
    redrawn,
    source_of,
    write,
)
from tests.page.test_everywhere import violations


def small_vector_add(page: Page, elements: int = 100, block: int = 32) -> Locator:
    """Open the pane with a launch of the first example, in blocks of `block` elements."""
    run = add_pane(page, "Run")
    for name in ("x_ptr", "y_ptr", "output_ptr"):
        run.get_by_role("group", name=name).get_by_label("shape").fill(str(elements))
    run.get_by_role("group", name="n_elements").get_by_label("value").fill(str(elements))
    run.get_by_label("Grid").fill("cdiv(n_elements, BLOCK_SIZE)")
    size = page.get_by_label("BLOCK_SIZE", exact=True)
    if not size.is_visible():
        page.locator(".forms > summary").click()  # folded on a phone
    size.fill(str(block))
    see = add_pane(page, "See")
    see.get_by_role("button", name="See", exact=True).click()
    return see


def test_a_launch_is_stepped_through_with_buttons_and_keys(visit: Visit) -> None:
    page = visit()
    see = small_vector_add(page)

    expect(see.get_by_role("status")).to_have_text("12 accesses.")
    expect(see).to_contain_text("Step 1 of 12: program (0, 0, 0), load of x_ptr")
    expect(
        see.get_by_role("img", name="x_ptr, shape 100, 32 elements accessed now")
    ).to_be_visible()
    see.get_by_role("button", name="Step forward").click()
    expect(see).to_contain_text("Step 2 of 12: program (0, 0, 0), load of y_ptr")
    page.keyboard.press("ArrowRight")
    expect(see).to_contain_text("Step 3 of 12: program (0, 0, 0), store of output_ptr")
    page.keyboard.press("ArrowLeft")
    see.get_by_role("button", name="Step back").click()
    expect(see).to_contain_text("Step 1 of 12")

    see.get_by_label("Program").select_option("(3, 0, 0)")
    expect(see).to_contain_text("Step 1 of 3: program (3, 0, 0), load of x_ptr")
    expect(see.get_by_role("caption")).to_have_text("32 lanes, 28 masked")
    expect(see.get_by_role("row", name="3 [99]")).to_be_visible()
    expect(see.get_by_role("row", name="4 masked 0", exact=True)).to_be_attached()
    block = see.get_by_role("img", name="The block's lanes: 4 live, 28 masked, 0 out of bounds")
    block.hover(position={"x": 60, "y": 3})
    expect(see.locator(".told")).to_have_text("lane 4: masked")
    see.get_by_role("button", name="line 10").click()
    expect(page.locator(f"{SOURCE} .cm-activeLine")).to_contain_text("tl.load(x_ptr")
    see.get_by_text("Computed before this access").click()
    expect(see.get_by_role("listitem").filter(has_text="mask = i1[32] true true")).to_be_visible()


def test_values_are_reported_under_the_pointer_and_by_keyboard(visit: Visit) -> None:
    page = visit()
    see = small_vector_add(page)
    see.get_by_label("Step", exact=True).fill("3")
    x, output = see.get_by_role("img", name="x_ptr"), see.get_by_role("img", name="output_ptr")
    x.hover(position={"x": 3, "y": 3})
    reported = see.locator(".told")
    expect(reported).to_contain_text("x_ptr[0]: load by program (0, 0, 0): 0.")
    output.focus()
    page.keyboard.press("ArrowRight")
    expect(reported).to_contain_text("output_ptr[1]: store by program (0, 0, 0); ")
    expect(reported).to_contain_text("at the end")
    for _ in range(4):  # rows of 8, so that the values fit
        page.keyboard.press("ArrowDown")
    expect(reported).to_contain_text("output_ptr[33]: not accessed so far")


def test_what_is_out_of_bounds_is_red_and_said(visit: Visit) -> None:
    page = visit()
    write(page, source_of(page).replace(", mask=mask)", ")"))
    see = small_vector_add(page)

    expect(see.get_by_role("status")).to_contain_text(
        "Out of bounds: program (3, 0, 0) reads x_ptr[100]"
    )
    expect(see).to_contain_text("Step 10 of 12: program (3, 0, 0), load of x_ptr")
    expect(see.get_by_role("caption")).to_have_text("32 lanes, 0 masked, 28 out of bounds")
    expect(see.get_by_role("row", name="[100] out of bounds")).to_have_class("bad")
    red = "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
    pixels = see.get_by_role("img", name="x_ptr").evaluate(red)
    points = list(zip(pixels[0::4], pixels[1::4], pixels[2::4], strict=True))
    cell = 27 * 17  # of 28 by 18 pixels with the gap, since values fit
    assert points.count((211, 47, 47)) == 28 * cell


def test_a_race_is_drawn_from_where_it_happens(visit: Visit) -> None:
    page = open_lesson(visit, "sum_of_neighbours")
    expect(run(page)).to_contain_text("race")
    see = page.get_by_label("The run, drawn")

    said = see.get_by_role("status")
    expect(said).to_contain_text("Race: program (1, 0, 0) reads z_ptr[31], which program (0, 0, 0)")
    expect(said).not_to_contain_text("is drawn")
    expect(see.locator(".step")).to_contain_text("program (1, 0, 0), load of z_ptr")
    expect(see.locator(".told")).to_contain_text("z_ptr[31]: ")
    expect(see.locator(".told")).to_contain_text("load by program (1, 0, 0)")


def test_a_grid_may_call_functions_within_functions(visit: Visit) -> None:
    page = visit()
    see = small_vector_add(page)
    expect(see.get_by_role("status")).to_have_text("12 accesses.")
    grid = "max(1, cdiv(n_elements, min(BLOCK_SIZE, 1024))), 1"
    pane(page, "Run").get_by_label("Grid").fill(grid)
    with page.expect_response("**/v1/launches*") as launched:
        see.get_by_role("button", name="See", exact=True).click()
    assert launched.value.ok, launched.value.text()
    expect(see.get_by_role("status")).to_have_text("12 accesses.")


def test_what_is_wrong_far_behind_is_found(visit: Visit) -> None:
    page = visit()
    write(page, source_of(page).replace(", mask=mask)", ")"))
    see = small_vector_add(page, 10_000)

    said = see.get_by_role("status")
    expect(said).to_contain_text("program (312, 0, 0) reads x_ptr[10000]")
    expect(said).to_contain_text("1 of 313 programs is drawn.")
    expect(see).to_contain_text("Step 1 of 3: program (312, 0, 0), load of x_ptr")
    expect(see.get_by_role("caption")).to_have_text("32 lanes, 0 masked, 16 out of bounds")


def test_a_step_beyond_the_cut_of_a_big_array_moves_the_part_that_is_drawn(visit: Visit) -> None:
    page = visit()
    see = small_vector_add(page, 10_000, block=1024)
    caption = see.locator("figcaption").filter(has_text="x_ptr")
    expect(caption).to_contain_text("(rows 0 to 127 of 313 shown)")
    steps = see.get_by_role("slider")
    steps.press("End")
    steps.press("ArrowLeft")
    steps.press("ArrowLeft")

    expect(see).to_contain_text("program (9, 0, 0), load of x_ptr")
    expect(caption).to_contain_text("(rows 185 to 312 of 313 shown)")


def test_big_arrays_are_cut_with_a_word_about_it(visit: Visit) -> None:
    page = visit()
    see = small_vector_add(page, 10_000)

    expect(see.get_by_role("status")).to_contain_text("64 of 313 programs are drawn.")
    expect(see.locator("figcaption").first).to_contain_text("(rows 0 to 127 of 313 shown)")


def test_the_picture_is_for_everybody(visit: Visit) -> None:
    for context in ({"color_scheme": "dark"}, PHONE):
        page = visit(**context)
        see = small_vector_add(page)
        expect(see.get_by_role("status")).to_have_text("12 accesses.")
        compiled(page)  # axe cannot look at what changes
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        assert violations(page) == []


def test_the_arrays_of_a_step_are_side_by_side_where_they_fit(visit: Visit) -> None:
    page = visit()
    page.get_by_label("Examples", exact=True).select_option(label="Matrix multiplication")
    expect(page.get_by_role("tab", name="See")).to_be_visible()
    see = pane(page, "See")
    see.get_by_role("button", name="See", exact=True).click()
    expect(see.get_by_role("status")).to_have_text("20 accesses.")
    page.get_by_role("button", name="Maximise See").click()
    redrawn(page)

    tops = [box_of(see.get_by_role("img", name=name))["y"] for name in ("a_ptr", "b_ptr", "c_ptr")]
    assert max(tops) - min(tops) < 2
    c = box_of(see.get_by_role("img", name="c_ptr"))
    assert c["x"] + c["width"] <= box_of(page.locator(".panes"))["x"] + 850


def test_a_step_that_goes_on_outside_the_part_that_is_drawn_says_where(visit: Visit) -> None:
    page = visit()
    see = small_vector_add(page, 10_000, block=8192)

    caption = see.locator("figcaption").filter(has_text="x_ptr")
    expect(caption).to_have_text(
        "x_ptr [10000], in rows of 32 (rows 0 to 127 of 313 shown);"
        " 4096 of the elements accessed now are below"
    )
    array = see.get_by_role("img", name="x_ptr")
    edge = "c => [...c.getContext('2d').getImageData(c.width - 1, c.height - 1, 1, 1).data]"
    assert array.evaluate(edge) == [0, 0x72, 0xB2, 255]  # a bar in the colour of the program
