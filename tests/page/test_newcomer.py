"""A newcomer's path with only a browser: from a wrong kernel to a shared link."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.page.conftest import Visit, compiled
from tests.page.pages import SOURCE, compile_now, pane, source_of
from tests.page.solutions import SOLUTIONS
from tests.page.test_lessons import run_with
from tests.page.test_run_notes import note_below
from tests.page.test_sharing import permalink


def test_puzzle_1_wrong_and_right_two_block_sizes_and_a_link_that_shows_the_same(
    visit: Visit,
) -> None:
    page = visit("learn", waits=False)
    right = SOLUTIONS["Puzzle 1"]
    run_with(page, right.replace(" + 10", ""))
    expect(pane(page, "Run").get_by_role("status")).to_have_text("mismatch")
    expect(note_below(page, "tl.store(z_ptr")).to_contain_text("program (0, 0, 0) leaves z_ptr[0]")
    expect(pane(page, "See").get_by_role("status")).to_have_text("2 accesses.")
    page.get_by_role("button", name="Start over").click()
    run_with(page, right)
    expect(page.get_by_text("Solved. 1 of 13")).to_be_visible()

    page.get_by_role("link", name="Explorer").click()
    compiled(page)
    page.get_by_role("button", name="Keep for comparison").click()
    page.get_by_label("BLOCK_SIZE", exact=True).fill("256")
    compile_now(page)
    sizes = pane(page, "Comparison").get_by_role("row", name="BLOCK_SIZE 1024 256")
    expect(sizes).to_be_visible()
    numbers = pane(page, "Comparison").get_by_role("table").first.inner_text()

    friend = visit(permalink(page))
    assert source_of(friend) == source_of(page)
    expect(friend.locator(SOURCE)).to_contain_text("def add_kernel")
    theirs = pane(friend, "Comparison").get_by_role("table").first
    expect(theirs).to_contain_text("256")
    assert theirs.inner_text() == numbers
