"""Texts under the pointer, and below the cursor with Ctrl+I."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import Error, Locator, Page, expect

from tests.page.conftest import Visit
from tests.page.pages import SOURCE, add_pane, pane
from tests.waiting import wait_until


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit()


def hover_until_told(text: Locator, told: Locator, **where: Any) -> None:
    """Move the pointer to a text until it is explained: an answer that comes moves the text."""

    def is_told() -> bool:
        text.page.mouse.move(0, 0)
        text.hover(**where)
        with suppress(Error):
            told.wait_for(timeout=5_000)
        return told.count() > 0

    wait_until(is_told, "the text under the pointer is explained")


def hover_word(page: Page, title: str, text: str, told: str = "") -> None:
    """Move the pointer to an operation in a pane until `told` is shown."""
    word = pane(page, title).locator(".cm-line").get_by_text(text, exact=True).first
    hover_until_told(word, pane(page, title).locator(".described").filter(has_text=told))


@pytest.mark.parametrize(
    ("title", "word", "told"),
    [
        ("PTX", "ld.param.b64", "ld.param.b64Loads a parameter of the kernel."),
        ("TTIR", "tt.addptr", "tt.addptrAdds offsets to pointers"),
        ("SASS", "S2R", "S2RCopies a special register"),
    ],
)
def test_an_operation_is_explained(page: Page, title: str, word: str, told: str) -> None:
    if pane(page, title).count() == 0:
        add_pane(page, title)
    hover_word(page, title, word, told)

    expect(pane(page, title).locator(".described")).to_contain_text(told)


def test_an_operation_of_amd_is_explained_by_what_its_name_begins_with(page: Page) -> None:
    page.get_by_label("Target", exact=True).select_option("hip:gfx942")
    expect(pane(page, "AMD assembly")).to_contain_text("s_waitcnt")
    hover_word(page, "AMD assembly", "s_waitcnt", "s_waitcnt")

    told = pane(page, "AMD assembly").locator(".described")
    expect(told).to_contain_text("s_waitcntWaits until no more than a given number of memory")


def test_the_texts_are_loaded_when_they_are_first_needed(page: Page) -> None:
    loaded = "performance.getEntriesByType('resource').map(each => each.name).join(' ')"
    assert "operation_texts" not in page.evaluate(loaded)
    hover_word(page, "TTIR", "tt.load")

    expect(pane(page, "TTIR").locator(".described")).to_be_visible()
    assert "operation_texts" in page.evaluate(loaded)


def test_a_name_of_the_language_has_the_signature_and_text_of_the_chosen_triton(page: Page) -> None:
    page.locator(f"{SOURCE} .cm-line").get_by_text("arange", exact=True).hover()
    told = page.locator(".left .described")

    expect(told).to_contain_text("tl.arange(start, end)")
    expect(told).to_contain_text("Returns contiguous values")


LISTEN = """() => {
  window.announced = "";
  new MutationObserver((changes) => {
    for (const { target } of changes)
      if (target.closest?.(".cm-announced")) window.announced += target.textContent;
  }).observe(document.body, { childList: true, subtree: true });
}"""
"""Keeps announcements to screen readers, which are in the page for a moment."""


def test_the_keyboard_shows_and_hides_a_text(page: Page) -> None:
    shown = pane(page, "TTIR")
    shown.locator(".cm-line").get_by_text("tt.load", exact=True).first.click()
    page.mouse.move(0, 0)
    page.evaluate(LISTEN)
    page.keyboard.press("Control+i")
    expect(shown.locator(".described")).to_contain_text("tt.loadLoads elements from memory")
    wait_until(lambda: "tt.load: Loads" in page.evaluate("window.announced"), "it is announced")
    page.keyboard.press("Escape")

    expect(shown.locator(".described")).to_have_count(0)


def test_a_layout_is_drawn_and_says_what_holds_an_element(page: Page) -> None:
    add_pane(page, "TTGIR")
    line = pane(page, "TTGIR").locator(".cm-line").filter(has_text="#blocked = ")
    line.hover(position={"x": 30, "y": 6})
    drawn = page.locator(".layout")
    expect(drawn).to_contain_text("lane 0, register 0, warp 0")
    drawn.locator("canvas").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")

    expect(drawn).to_contain_text("[5]: lane 1, register 1, warp 0")


def test_memory_is_drawn_by_its_banks_and_its_kind_alone_is_not(page: Page) -> None:
    page.get_by_label("Examples").select_option(label="Matrix multiplication")
    expect(page.locator("#state")).to_contain_text("matmul_kernel for cuda:90 succ", timeout=60_000)
    add_pane(page, "TTGIR").locator(".cm-scroller").evaluate("pane => { pane.scrollTop = 0; }")
    lines = pane(page, "TTGIR").locator(".cm-line")
    shared, at = lines.filter(has_text="#shared = "), {"x": 60, "y": 6}
    hover_until_told(shared, page.locator(".layout"), position=at)
    expect(page.locator(".layout")).to_contain_text("byte 0, bank 0", timeout=20_000)
    page.keyboard.press("Escape")
    page.mouse.move(0, 0)
    expect(page.locator(".layout")).to_have_count(0)
    lines.filter(has_text="#smem = ").hover(position=at)
    page.wait_for_timeout(1000)  # the text would be there by now

    expect(page.locator(".layout")).to_have_count(0)
