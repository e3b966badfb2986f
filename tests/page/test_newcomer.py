"""A newcomer's path with only a browser: from a wrong kernel to a shared link."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.page.conftest import Visit, compiled
from tests.page.lessons import open_lesson, run, solved, take_solution, write_body
from tests.page.pages import SOURCE, compile_now, pane, source_of
from tests.page.test_run_notes import note_below
from tests.page.test_sharing import permalink

COUNTED = re.compile(r"^instructions (per warp )?\d")
"""The name of the row that a worker's count fills in."""


def test_puzzle_1_wrong_and_right_two_block_sizes_and_a_link_that_shows_the_same(
    visit: Visit,
) -> None:
    page = open_lesson(visit, "add_ten")
    write_body(page, "    i = tl.arange(0, B0)\n    tl.store(z_ptr + i, tl.load(x_ptr + i))")
    expect(run(page)).to_have_text("Not solved yet: mismatch.")
    expect(note_below(page, "tl.store(z_ptr")).to_contain_text("program (0, 0, 0) writes z_ptr[0]")
    expect(page.locator(".steps").get_by_role("status")).to_have_text("2 accesses.")
    page.get_by_role("button", name="Start over").click()
    take_solution(page)
    run(page)
    expect(solved(page)).to_be_visible()

    page.get_by_role("link", name="Explorer").click()
    compiled(page)
    page.get_by_role("button", name="Keep for comparison").click()
    page.get_by_label("BLOCK_SIZE", exact=True).fill("256")
    compile_now(page)
    sizes = pane(page, "Comparison").get_by_role("row", name="BLOCK_SIZE 1024 256")
    expect(sizes).to_be_visible()
    mine = pane(page, "Comparison").get_by_role("table").first
    expect(mine.get_by_role("row", name=COUNTED)).to_be_visible()
    numbers = mine.inner_text()

    friend = visit(permalink(page))
    assert source_of(friend) == source_of(page)
    expect(friend.locator(SOURCE)).to_contain_text("def add_kernel")
    theirs = pane(friend, "Comparison").get_by_role("table").first
    expect(theirs).to_contain_text("256")
    expect(theirs.get_by_role("row", name=COUNTED)).to_be_visible()
    assert theirs.inner_text() == numbers
