"""Run a kernel on the CPU device, wrong and then right."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.page.conftest import Visit
from tests.page.pages import SOURCE, add_pane, pane, source_of, write

SOLVED = """    i = tl.arange(0, B0)
    tl.store(z_ptr + i, tl.load(x_ptr + i) + 10)
"""


def test_puzzle_1_is_solved_wrong_and_then_right(visit: Visit) -> None:
    page = visit("learn", waits=False)
    expect(page.locator(SOURCE)).to_contain_text("your turn")
    run = pane(page, "Run")
    puzzle = source_of(page)
    write(page, puzzle.replace("    pass  # your turn; then “Run”", SOLVED.replace(" + 10", "")))
    run.get_by_role("button", name="Run", exact=True).click()
    expect(run.get_by_role("status")).to_have_text("mismatch")
    expect(run).to_contain_text("32 differ from the reference, the first at [0]")
    run.get_by_role("img", name="Where z_ptr differs: 1 rows by 32 columns").hover()
    expect(run.locator("figcaption")).to_have_text(re.compile("Row 0, column 1[56]: 1 differ"))

    write(page, puzzle.replace("    pass  # your turn; then “Run”", SOLVED))
    run.get_by_role("button", name="Run", exact=True).click()
    expect(run.get_by_role("status")).to_have_text("passed")


def test_a_missing_mask_is_found_at_its_line_and_mended(visit: Visit) -> None:
    page = visit()
    source = source_of(page)
    write(page, source.replace(", mask=mask)", ")"))
    run = add_pane(page, "Run")
    run.get_by_label("Grid").fill("1")
    for name in ("x_ptr", "y_ptr", "output_ptr"):
        run.get_by_role("group", name=name).get_by_label("shape").fill("1000")
    run.get_by_role("group", name="n_elements").get_by_label("value").fill("1000")
    run.get_by_role("button", name="Run", exact=True).click()

    expect(run.get_by_role("status")).to_have_text("out of bounds")
    run.get_by_role("button", name="line 10").first.click()
    expect(page.locator(f"{SOURCE} .cm-activeLine")).to_contain_text("tl.load(x_ptr")

    write(page, source)
    run.get_by_role("button", name="Run", exact=True).click()
    expect(run.get_by_role("status")).to_have_text("passed")
    expect(run).to_contain_text("matches the reference")
