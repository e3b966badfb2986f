"""A kernel's results in any number of panes with linked lines."""

from __future__ import annotations

import re
from functools import partial

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Visit, compiled
from tests.page.pages import (
    PHONE,
    SOURCE,
    add_pane,
    box_of,
    click_line,
    compile_now,
    pane,
    redrawn,
    text_of,
)
from tests.page.test_everywhere import violations
from tests.waiting import wait_until

SHOWN = {
    "Source IR": "tt.func public @add_kernel",
    "TTIR": "tt.load",
    "TTGIR": "#ttg.blocked",
    "LLVM IR": "define ptx_kernel void @add_kernel",
    "PTX": ".visible .entry add_kernel",
    "SASS": ".text.add_kernel",
    "NumPy form": "def add_kernel",
}


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit()


@pytest.mark.parametrize("title", SHOWN)
def test_a_pane_shows_an_artifact(page: Page, title: str) -> None:
    if pane(page, title).count() == 0:
        add_pane(page, title)
    content = pane(page, title).locator(".cm-content")
    content.locator(".cm-line").nth(4).wait_for()
    content.focus()
    page.keyboard.press("Control+f")
    page.get_by_placeholder("Find").press_sequentially(SHOWN[title])
    page.keyboard.press("Enter")

    expect(pane(page, title).locator(".cm-searchMatch-selected")).to_have_text(SHOWN[title])


def test_amd_assembly_is_shown_for_an_amd_target(page: Page) -> None:
    shown = add_pane(page, "AMD assembly")
    expect(shown).to_contain_text("cuda:90 has no AMD assembly.")
    page.get_by_label("Target", exact=True).select_option("hip:gfx942")
    compile_now(page)

    expect(shown.locator(".tok-keyword").first).to_be_visible()


@pytest.mark.parametrize("title", ["Source IR", "TTIR", "PTX", "SASS", "NumPy form"])
def test_a_line_of_the_source_is_marked_where_it_went_and_scrolled_to(
    page: Page, title: str
) -> None:
    if pane(page, title).count() == 0:
        add_pane(page, title)
    expect(pane(page, title).locator(".cm-line.hue").first).to_be_attached()
    page.locator(f"{SOURCE} .cm-line.hue").filter(has_text="tl.store(").dblclick()

    expect(pane(page, title).locator(".cm-line.selected").first).to_be_in_viewport()


def test_a_click_in_the_source_leaves_panes_where_they_are(visit: Visit) -> None:
    page = visit()
    scroller = pane(page, "PTX").locator(".cm-scroller")
    expect(scroller.locator(".cm-line.hue").first).to_be_attached()
    scroller.evaluate("each => { each.scrollTop = 300 }")
    click_line(page.locator(f"{SOURCE} .cm-line.hue"), "tl.store(")
    expect(page.locator(f"{SOURCE} .cm-line.selected")).to_contain_text("tl.store(")
    redrawn(page)
    assert scroller.evaluate("each => each.scrollTop") == 300

    page.keyboard.press("Control+F10")
    expect(scroller.locator(".cm-line.selected").first).to_be_in_viewport()


def test_a_line_of_an_artifact_marks_the_source_and_the_other_panes(page: Page) -> None:
    expect(pane(page, "PTX").locator(".cm-line.hue").first).to_be_attached()
    click_line(pane(page, "TTIR").locator(".cm-line.hue"), "arith.cmpi")

    expect(page.locator(f"{SOURCE} .cm-line.selected")).to_have_text(
        "    mask = offsets < n_elements"
    )
    expect(pane(page, "PTX").locator(".cm-line.selected").first).to_be_in_viewport()


def test_an_instruction_marks_the_line_that_it_was_made_of(page: Page) -> None:
    add_pane(page, "SASS")
    expect(pane(page, "SASS").locator(".cm-line.hue").first).to_be_attached()
    pane(page, "SASS").locator(".cm-content").focus()
    page.keyboard.press("Control+f")
    page.get_by_placeholder("Find").press_sequentially("LDG.E")
    page.keyboard.press("Enter")

    expect(page.locator(f"{SOURCE} .cm-line.selected")).to_contain_text("tl.load(")
    expect(pane(page, "PTX").locator(".cm-line.selected").first).to_be_in_viewport()


MAX_TABS_KEPT = """() => {
  const tabs = ({type, data}) => type === 'leaf' ? [data.views.length] : data.flatMap(tabs);
  const layout = JSON.parse(localStorage.getItem('tritond-layout') ?? 'null');
  return layout ? Math.max(...tabs(layout.grid.root)) : 0;
}"""
MIDDLE = """scroller => {
  const [{top, height}, line] = [scroller, scroller.querySelector('.cm-line.selected')]
    .map(element => element.getBoundingClientRect());
  return Math.abs((line.top + line.bottom) / 2 - (top + height / 2)) <= line.height;
}"""


def test_each_pane_scrolls_within_itself_and_none_out_of_sight(visit: Visit) -> None:
    page = visit(viewport={"width": 1000, "height": 1300})
    for title in ("LLVM IR", "SASS"):
        add_pane(page, title)
    for title in ("PTX", "LLVM IR", "SASS"):
        expect(pane(page, title).locator(".cm-line.hue").first).to_be_attached()
    page.locator(f"{SOURCE} .cm-line.hue").filter(has_text="tl.store(").dblclick()

    for title in ("PTX", "LLVM IR", "SASS"):
        scroller = pane(page, title).locator(".cm-scroller")
        expect(scroller.locator(".cm-line.selected").first).to_be_attached()
        wait_until(partial(scroller.evaluate, MIDDLE), f"the line is in the middle of {title}")
    assert page.evaluate("document.documentElement.scrollTop + document.body.scrollTop") == 0


def test_on_a_phone_the_line_that_was_touched_stays_where_it_is(visit: Visit) -> None:
    page = visit(**PHONE)
    marked = pane(page, "PTX").locator(".cm-line")
    expect(marked.and_(page.locator(".hue")).first).to_be_attached()
    line = page.locator(f"{SOURCE} .cm-line.hue").filter(has_text="tl.store(")
    line.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    line.tap()

    expect(marked.and_(page.locator(".selected")).first).to_be_attached()
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("scrollY") == before


def test_a_pane_that_is_opened_later_is_in_sight_and_marks_the_same_line(visit: Visit) -> None:
    page = visit(viewport={"width": 1000, "height": 700})
    click_line(page.locator(f"{SOURCE} .cm-line.hue"), "tl.store(")
    shown = add_pane(page, "LLVM IR")

    expect(shown).to_be_in_viewport(ratio=0.9)
    expect(shown.locator(".cm-line.selected").first).to_be_in_viewport()


def test_passes_are_listed_with_the_lines_that_each_added_and_removed(page: Page) -> None:
    shown = add_pane(page, "Passes")
    listed = shown.get_by_label("Passes in order").get_by_role("button")
    expect(listed.first).to_have_text(re.compile(r"\w+ \+\d+ \W\d+$"))
    second = listed.nth(1)
    second.click()

    expect(second).to_have_attribute("aria-pressed", "true")
    expect(shown.locator(".cm-changedLine, .cm-deletedChunk").first).to_be_attached()
    changed = listed.count()
    shown.get_by_label("Show unchanged passes").check()
    assert listed.count() > changed


def test_a_line_of_a_pass_marks_its_source(page: Page) -> None:
    shown = add_pane(page, "Passes")
    click_line(shown.locator(".cm-line.hue"), "tt.store")

    expect(page.locator(f"{SOURCE} .cm-line.selected")).to_contain_text("tl.store(")


def test_two_block_sizes_are_compared_side_by_side(page: Page) -> None:
    page.get_by_role("button", name="Keep for comparison").click()
    page.get_by_label("BLOCK_SIZE", exact=True).fill("512")
    compile_now(page)
    shown = pane(page, "Comparison")

    expect(shown.get_by_role("row", name="BLOCK_SIZE 1024 512")).to_be_visible()
    shown.get_by_label("Stage").select_option("ttir")
    expect(shown.locator(".diff-removed").first).to_contain_text("1024")
    expect(shown.locator(".diff-added").first).to_contain_text("512")
    shown.get_by_label("Raw names and locations").check()
    expect(shown.locator(".cm-merge-a .cm-changedLine").first).to_contain_text("1024")
    expect(shown.locator(".cm-merge-b .cm-changedLine").first).to_contain_text("512")


def test_a_comparison_counts_resources_and_instructions(page: Page) -> None:
    page.get_by_role("button", name="Keep for comparison").click()
    page.get_by_label("num_warps", exact=True).select_option("8")
    compile_now(page)
    shown = pane(page, "Comparison")

    expect(shown.get_by_role("row", name="num_warps default 8")).to_be_visible()
    counts = shown.get_by_role("row", name=re.compile(r"^instructions per warp"))
    expect(counts.locator(".delta")).not_to_have_class(re.compile("good|bad"))
    expect(shown.get_by_role("row", name=re.compile(r"^registers \d+ \d+"))).to_be_visible()
    expect(shown.get_by_role("row", name=re.compile(r"^global load \d+ \d+ .\d+"))).to_be_visible()
    expect(shown.get_by_role("row", name=re.compile(r"^\d+ .\d+$")).first).to_be_attached()
    shown.get_by_label("Stage").select_option("sass")
    expect(shown.locator(".diff-removed").first).to_be_attached()


def test_a_comparison_names_the_types_and_hints_that_differ(page: Page) -> None:
    page.get_by_role("button", name="Keep for comparison").click()
    page.get_by_label("n_elements", exact=True).fill("i32")
    compile_now(page)
    shown = pane(page, "Comparison")

    expect(shown.get_by_role("row", name="n_elements i32:16 i32", exact=True)).to_be_visible()
    expect(shown.get_by_role("row", name=re.compile("^x_ptr"))).to_have_count(0)


def test_a_comparison_says_which_source_is_another(page: Page) -> None:
    page.get_by_role("button", name="Keep for comparison").click()
    page.locator(SOURCE).press("Control+End")
    page.keyboard.insert_text("    # a line more\n")
    compile_now(page)

    expect(pane(page, "Comparison").get_by_role("row", name="source as A changed")).to_be_visible()


def test_a_comparison_leaves_room_for_the_other_panes(page: Page) -> None:
    page.get_by_role("button", name="Keep for comparison").click()
    pane(page, "Comparison").wait_for()

    heights = "[...document.querySelectorAll('.dv-groupview')].map(each => each.clientHeight)"
    wait_until(lambda: min(page.evaluate(heights)) >= 150, "no pane shows a line or two alone")
    expect(page.get_by_role("tab", name="Resources")).to_be_visible()


def test_several_are_kept_and_their_numbers_judged(page: Page) -> None:
    for size in ("512", "256"):
        page.get_by_role("button", name="Keep for comparison").click()
        page.get_by_label("BLOCK_SIZE", exact=True).fill(size)
        compile_now(page)
    shown = pane(page, "Comparison")

    expect(shown.get_by_role("row", name="BLOCK_SIZE 1024 512 256")).to_be_visible()
    registers = shown.get_by_role("row", name=re.compile(r"^registers"))
    expect(registers.locator(".delta.good")).to_have_count(2)
    shown.get_by_role("button", name="Forget A").click()
    expect(shown.get_by_role("row", name="BLOCK_SIZE 512 256")).to_be_visible()


def test_what_only_one_target_has_is_said(page: Page) -> None:
    page.get_by_role("button", name="Keep for comparison").click()
    page.get_by_label("Target", exact=True).select_option("hip:gfx942")
    compile_now(page)

    expect(pane(page, "Comparison")).to_contain_text("There is no PTX for hip:gfx942.")


def test_what_differs_in_names_and_places_alone_is_no_difference(page: Page) -> None:
    page.get_by_role("button", name="Keep for comparison").click()
    page.locator(SOURCE).focus()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("# a line more\n")
    compile_now(page)
    shown = pane(page, "Comparison")
    shown.get_by_label("Stage").select_option("ttir")

    expect(shown).to_contain_text("Both are the same.")
    shown.get_by_label("Raw names and locations").check()
    expect(shown.locator(".cm-changedLine").first).to_be_attached()


def test_filters_show_the_kernel_s_own_instructions_first(page: Page) -> None:
    assert text_of(page, "PTX").startswith(".visible .entry add_kernel(")
    assert "loc(" not in text_of(page, "TTIR")
    page.get_by_text("Filters").click()
    page.get_by_label("Hide directives").uncheck()
    expect(pane(page, "PTX")).to_contain_text(".address_size 64")
    page.get_by_label("Hide directives").check()
    expect(pane(page, "PTX")).not_to_contain_text(".address_size 64")


def test_the_line_under_the_pointer_is_marked_on_both_sides(page: Page) -> None:
    expect(pane(page, "TTIR").locator(".cm-line.hue").first).to_be_attached()
    page.locator(f"{SOURCE} .cm-line.hue").filter(has_text="tl.store(").hover()
    marked = pane(page, "TTIR").locator(".cm-line.hovered")
    expect(marked.filter(has_text="tt.store")).to_have_count(1)
    pane(page, "TTIR").locator(".cm-line").filter(has_text="arith.cmpi").hover()

    expect(page.locator(f"{SOURCE} .cm-line.hovered")).to_contain_text("mask = offsets <")


def test_the_assembly_is_that_of_the_target(page: Page) -> None:
    page.get_by_label("Target", exact=True).select_option("hip:gfx942")
    expect(pane(page, "AMD assembly")).to_contain_text("s_load_dword")
    expect(page.get_by_role("tab", name="PTX")).to_have_count(0)
    expect(pane(page, "Resources")).to_contain_text(re.compile(r"VGPRs\d+per thread, max 512"))
    page.get_by_label("Target", exact=True).select_option("cuda:90")

    expect(pane(page, "PTX")).to_contain_text(".visible .entry")
    vendors = page.get_by_label("Target", exact=True).locator("optgroup")
    assert [each.get_attribute("label") for each in vendors.all()] == ["NVIDIA", "AMD"]


def test_resources_are_numbers(page: Page) -> None:
    shown = pane(page, "Resources")
    expect(shown.get_by_text("Registers", exact=True)).to_be_visible()
    expect(shown).to_contain_text(re.compile(r"Occupancy[\d.]+ %limited by \w+"))
    shown.get_by_text("All numbers").click()
    expect(shown.get_by_text("spill load bytes")).to_be_visible()


def test_panes_are_opened_maximised_and_closed(page: Page) -> None:
    add_pane(page, "LLVM IR")
    assert "define" in text_of(page, "LLVM IR")
    page.get_by_role("button", name="Maximise LLVM IR").click()
    expect(pane(page, "TTIR")).to_be_hidden()
    page.get_by_role("button", name="Show all panes").first.click()
    expect(pane(page, "TTIR")).to_be_visible()
    page.get_by_role("button", name="Close LLVM IR").click()

    expect(pane(page, "LLVM IR")).to_have_count(0)


def test_after_all_panes_are_closed_an_added_one_is_alone(page: Page) -> None:
    for title in ("TTIR", "PTX", "Resources"):
        page.get_by_role("button", name=f"Close {title}").click()
    expect(page.locator(".panes")).to_contain_text("No pane is open.")
    shown = add_pane(page, "PTX")

    expect(shown.locator(".cm-line").first).to_be_visible()
    expect(page.locator(".dv-groupview")).to_have_count(1)
    assert box_of(shown)["width"] > box_of(page.locator(".panes"))["width"] - 20


def test_an_example_leaves_the_panes_and_the_target_as_they_are(page: Page) -> None:
    page.get_by_label("Target").select_option("cuda:100")
    expect(page.locator("#state.succeeded")).to_contain_text("add_kernel for cuda:100")
    before = box_of(pane(page, "PTX"))
    page.get_by_label("Examples", exact=True).select_option(label="Matrix multiplication")
    expect(page.get_by_role("tab", name="See")).to_be_visible()

    after = box_of(pane(page, "PTX"))
    assert after["y"] == before["y"]
    assert abs(after["height"] - before["height"]) < 3
    expect(page.locator("#state.succeeded")).to_contain_text("matmul_kernel for cuda:100")
    scrolled = "each => [each.scrollLeft, each.scrollTop]"
    assert page.locator(".left .editor .cm-scroller").evaluate(scrolled) == [0, 0]


def test_adding_an_open_pane_brings_it_to_the_front(page: Page) -> None:
    add_pane(page, "PTX")

    expect(page.get_by_role("tab", name="PTX")).to_have_count(1)


def test_amd_s_assembly_is_one_click_away(page: Page) -> None:
    shown = add_pane(page, "AMD assembly")
    expect(shown).to_contain_text("cuda:90 has no AMD assembly.")
    shown.get_by_role("button", name="Compile for hip:gfx942").click()

    expect(shown).to_contain_text("s_load_dword")
    pane(page, "PTX").get_by_role("button", name="Compile for cuda:90").click()
    expect(pane(page, "PTX")).to_contain_text(".visible .entry")


def test_the_text_of_a_pane_is_copied_and_downloaded_whole(page: Page) -> None:
    text_of(page, "PTX")
    page.get_by_role("button", name="Copy PTX").click()
    expect(page.get_by_role("button", name="Copy PTX")).to_have_text("✓")
    copied = page.evaluate("navigator.clipboard.readText()")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download PTX").click()

    assert ".version" in copied
    assert download.value.suggested_filename == "add_kernel.ptx"
    assert download.value.path().read_text() == copied
    page.get_by_role("button", name="Copy Resources").click()
    expect(page.get_by_role("button", name="Copy Resources")).to_have_text("✓")
    assert "Registers" in page.evaluate("navigator.clipboard.readText()")


def test_panes_fill_all_of_their_room_and_a_splitter_moves_their_border(page: Page) -> None:
    boxes = [box_of(pane(page, title)) for title in ("TTIR", "PTX", "Resources")]
    gaps = 2 * 5
    filled = sum(box["height"] for box in boxes) + gaps
    assert abs(filled - box_of(page.locator(".panes"))["height"]) < 3

    splitter = box_of(page.locator(".dv-sash.dv-enabled").first)
    at = (splitter["x"] + splitter["width"] / 2, splitter["y"] + splitter["height"] / 2)
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0], at[1] + 80, steps=4)
    page.mouse.up()
    assert box_of(pane(page, "TTIR"))["height"] > boxes[0]["height"] + 60


def test_a_tab_is_dragged_into_another_group_and_stays_there(page: Page) -> None:
    taken, there = (box_of(page.get_by_role("tab", name=name)) for name in ("PTX", "TTIR"))
    page.mouse.move(taken["x"] + 10, taken["y"] + 10)
    page.mouse.down()
    page.mouse.move(taken["x"] + 20, taken["y"] - 10, steps=5)
    page.mouse.move(there["x"] + there["width"] - 4, there["y"] + 10, steps=10)
    page.mouse.up()
    expect(page.get_by_role("tablist").first.get_by_role("tab")).to_have_count(2)
    wait_until(lambda: page.evaluate(MAX_TABS_KEPT) == 2, "the layout is kept")
    page.reload()

    expect(page.get_by_role("tablist").first.get_by_role("tab")).to_have_count(2)


def test_a_matrix_compiles_for_many_targets(page: Page) -> None:
    shown = add_pane(page, "Matrix")
    shown.get_by_role("button", name="Compile all").click()

    expect(shown.get_by_role("status")).to_have_text("4 of 4 succeeded.")
    expect(shown.get_by_role("row")).to_have_count(5)
    expect(shown.get_by_role("row", name="hip:gfx942")).to_contain_text("%")


def test_a_matrix_of_a_constexpr_says_which_value_is_wrong(page: Page) -> None:
    shown = add_pane(page, "Matrix")
    shown.get_by_label("Vary").select_option("BLOCK_SIZE")
    shown.get_by_label("Values").fill("256, 300, 512")
    shown.get_by_role("button", name="Compile all").click()

    expect(shown.get_by_role("status")).to_have_text("2 of 3 succeeded.")
    expect(shown.get_by_role("row", name="300")).to_contain_text("power of 2")


def test_arrow_keys_move_the_border_between_panes(page: Page) -> None:
    border = page.get_by_role("separator", name="Height of panes").first
    heights = "[...document.querySelectorAll('.pane')].map(each => each.clientHeight)"
    before = page.evaluate(heights)
    border.focus()
    page.keyboard.press("ArrowDown")

    wait_until(lambda: page.evaluate(heights)[0] > before[0], "the upper pane is higher")
    assert int(border.get_attribute("aria-valuenow") or 0) > 0


def test_a_costly_kernel_is_explained_line_by_line(visit: Visit) -> None:
    page = visit(viewport={"width": 1400, "height": 500})
    page.evaluate("document.getElementById('state').className = 'waiting'")
    page.get_by_label("Examples", exact=True).select_option(label="Matrix multiplication")
    compiled(page)
    shown = add_pane(page, "Explain")

    expect(shown).to_contain_text(re.compile(r"Occupancy[\d.]+ %limited by registers"))
    expect(shown).to_contain_text("dot 128x128x64 f16: wgmma")
    dot = shown.get_by_role("row", name="wgmma").get_by_role("button")
    expect(dot).to_have_text("line 19")
    line = page.locator(f"{SOURCE} .cm-line").filter(has_text="tl.dot(a, b, accumulator)")
    expect(line).not_to_be_in_viewport()
    dot.click()
    expect(line.and_(page.locator(".selected"))).to_be_in_viewport()
    assert violations(page) == []
