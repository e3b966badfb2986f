"""Run a kernel on the CPU device, wrong and then right."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.page.conftest import Visit
from tests.page.pages import SOURCE, add_pane, source_of, write

REFERENCE = "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr"


def test_a_missing_mask_is_found_at_its_line_and_mended(visit: Visit) -> None:
    page = visit()
    source = source_of(page)
    write(page, source.replace(", mask=mask)", ")"))
    run = add_pane(page, "Run")
    for name in ("x_ptr", "y_ptr", "output_ptr"):
        run.get_by_role("group", name=name).get_by_label("shape").fill("1000")
    run.get_by_role("group", name="n_elements").get_by_label("value").fill("1000")
    run.locator(".reference .cm-content").focus()
    page.keyboard.insert_text(REFERENCE)
    run.get_by_role("button", name="Run", exact=True).click()

    expect(run.get_by_role("status")).to_have_text("out of bounds")
    run.get_by_role("button", name="line 10").first.click()
    expect(page.locator(f"{SOURCE} .cm-activeLine")).to_contain_text("tl.load(x_ptr")

    write(page, source)
    run.get_by_role("button", name="Run", exact=True).click()
    expect(run.get_by_role("status")).to_have_text("passed")
    expect(run).to_contain_text("as the reference")
