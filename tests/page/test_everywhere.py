"""The page works in dark mode, by keyboard, read aloud, on a phone, and behind keys and proxies."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.integration.service.running import ROOT
from tests.page.conftest import TritondUp, Visit, compiled
from tests.page.pages import PHONE, SOURCE, add_pane, compile_now, pane
from tests.page.proxy import under

AXE = (ROOT / "page/node_modules/axe-core/axe.min.js").read_text
FIRST_LOAD_BYTES = 400_000


def answer_with(file: Path, route: Route) -> None:
    route.fulfill(path=file)


# axe fails on an element that is replaced while it looks, so its answer counts only if nothing was.
LOOK_AT_WHAT_STAYS = """async () => {
  let changes
  const observer = new MutationObserver(records => { changes += records.length })
  observer.observe(document, { childList: true, subtree: true })
  for (let attempt = 0; attempt < 20; attempt++) {
    changes = 0
    const looked = await axe.run().then(({ violations }) => ({ violations }), error => ({ error }))
    changes += observer.takeRecords().length
    if (!changes && looked.error) throw looked.error
    if (!changes) return looked.violations
    await new Promise(resolve => setTimeout(resolve, 250))
  }
  throw new Error("The page changed during each of 20 looks")
}"""


def violations(page: Page) -> list[str]:
    """Return the violations that axe-core finds, each with its elements."""
    page.evaluate(AXE())
    found = page.evaluate(LOOK_AT_WHAT_STAYS)
    return [f"{each['id']}: {[node['html'][:200] for node in each['nodes']]}" for each in found]


@pytest.mark.parametrize("look", ["light", "dark"])
def test_nothing_stands_in_the_way_of_those_who_hear_or_cannot_see_well(
    visit: Visit, look: str
) -> None:
    page = visit(color_scheme=look)
    for title in ("Passes", "SASS", "NumPy form", "Run"):
        add_pane(page, title)
    page.get_by_role("button", name="Keep for comparison").click()
    page.get_by_label("BLOCK_SIZE", exact=True).fill("512")
    compile_now(page)
    expect(pane(page, "Comparison").locator(".cm-line").first).to_be_attached()
    expect(pane(page, "Passes").locator(".cm-line").first).to_be_attached()
    expect(pane(page, "SASS").locator(".cm-line.hue").first).to_be_attached()
    expect(pane(page, "NumPy form").locator(".cm-line.hue").first).to_be_attached()

    assert violations(page) == []
    page.get_by_role("button", name="Share").click()
    assert violations(page) == []


def test_errors_are_reported_accessibly(visit: Visit) -> None:
    page = visit(color_scheme="dark")
    page.locator(SOURCE).focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("    y = tl.lod(x_ptr)")
    compile_now(page)
    expect(page.locator("#state.failed")).to_be_visible()

    assert violations(page) == []


def test_the_colours_can_be_chosen_and_stay(visit: Visit) -> None:
    page = visit(color_scheme="light")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_label("Colours").select_option("dark")
    chosen = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    compiled(page)

    assert chosen != before
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == chosen


def test_all_is_reached_with_the_keyboard(visit: Visit) -> None:
    page = visit()
    reached = set()
    page.locator("h1").click()
    for _ in range(60):
        page.keyboard.press("Tab")
        name = page.evaluate(
            "(e => e.getAttribute('aria-label') || e.id || e.textContent)(document.activeElement)"
        )
        reached.add(name)
        if name == "Source":  # the editor takes Tab; Escape gives it back
            page.keyboard.press("Escape")

    assert {"Compile", "Examples", "Share", "Source", "target", "TTIR", "PTX"} <= reached
    assert {"Close TTIR", "Resources", "Maximise PTX"} <= reached


SMALL = """() => [...document.querySelectorAll(
  'button, select, textarea, input:not([type=checkbox]), summary, nav a, .switch, [role=tab]'
)].filter(each => each.checkVisibility() && each.getBoundingClientRect().height < 40)
  .map(each => each.outerHTML.slice(0, 100))"""
"""Controls that are too small for a finger."""


def test_it_fits_a_phone(visit: Visit) -> None:
    page = visit(**PHONE)

    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Compile").tap()
    compiled(page)
    pane(page, "PTX").scroll_into_view_if_needed()
    expect(pane(page, "PTX")).to_be_in_viewport()
    page.locator(".forms > summary").tap()
    assert page.evaluate(SMALL) == []
    assert violations(page) == []


def test_the_state_of_the_deployment_is_shown_in_words(visit: Visit) -> None:
    page = visit()
    page.get_by_role("link", name="System").click()
    system = page.get_by_role("dialog", name="System")

    expect(system.get_by_role("row", name="default toolchain")).to_be_visible()
    expect(system).to_contain_text("seccomp")
    expect(system.get_by_role("row", name="default toolchain")).to_contain_text("Triton 3.")
    heading = system.get_by_role("rowheader", name="default toolchain").bounding_box()
    assert heading is not None
    assert heading["width"] > heading["height"]
    assert "{" not in system.inner_text()
    assert violations(page) == []
    system.get_by_role("button", name="Close").click()
    expect(system).to_be_hidden()


def test_only_this_service_is_asked(visit: Visit, up: TritondUp) -> None:
    page = visit(waits=False)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    compiled(page)
    for path in ("docs", "redoc"):
        page.goto(up.url + path)
        page.get_by_role("heading", name="tritond").first.wait_for()

    assert len(asked) > 10
    assert {url for url in asked if not url.startswith((up.url, "data:", "blob:"))} == set()


def test_the_documentation_is_drawn_without_a_word_of_complaint(
    visit: Visit, up: TritondUp
) -> None:
    page = visit(waits=False)
    said: list[str] = []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    for path in ("docs", "redoc"):
        page.goto(up.url + path)
        page.get_by_role("heading", name="tritond").first.wait_for()
        page.get_by_text("/v1/launches").first.wait_for()

    assert said == []


def test_the_first_load_is_small(visit: Visit) -> None:
    page = visit()
    sizes = page.evaluate(
        "performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
        ".filter(e => !e.name.includes('/v1/')).map(e => e.transferSize)"
    )

    assert 100_000 < sum(sizes) <= FIRST_LOAD_BYTES


def test_it_works_under_a_path_of_a_proxy(visit: Visit, up: TritondUp) -> None:
    with under("/tools/tritond/", up.url) as address:
        page = visit(address)
        add_pane(page, "SASS")
        expect(pane(page, "SASS").locator(".cm-line").first).to_be_visible()
        page.get_by_role("button", name="Share").click()
        expect(page.get_by_label("Permalink")).not_to_have_value("")
        assert page.get_by_label("Permalink").input_value().startswith(f"{address}#sha256:")
        for path in ("docs", "redoc"):
            page.goto(address + path)
            page.get_by_role("heading", name="tritond").first.wait_for()


def test_with_keys_one_is_asked_for_and_kept_in_this_tab(visit: Visit, tmp_path: Path) -> None:
    guarded = TritondUp(tmp_path, TRITOND_ADMIN_KEY="tritond_a-key-for-this-test")
    try:
        page = visit(guarded.url, waits=False, refused=True)
        expect(page.locator("#state.failed")).to_contain_text("API key")
        page.get_by_label("API key").fill("tritond_a-key-for-this-test")
        page.get_by_label("API key").press("Tab")
        expect(page.get_by_label("Target", exact=True).get_by_role("option")).not_to_have_count(1)
        compile_now(page)
        compiled(page)
        page.reload()
        compiled(page)
    finally:
        assert guarded.process.stop() == 0


def test_the_plain_page_does_without_what_was_built(visit: Visit, up: TritondUp) -> None:
    plain = ROOT / "service/page/plain"
    page = visit(waits=False)
    page.route(up.url, partial(answer_with, plain / "index.html"))
    for name in ("script.js", "style.css"):
        page.route(f"{up.url}page/{name}", partial(answer_with, plain / name))
    page.goto(up.url)
    page.get_by_role("button", name="Compile").click()

    expect(page.locator("#state")).to_contain_text("add_kernel for cuda:90 succeeded")
    page.get_by_role("tab", name="ttir").click()
    expect(page.locator("#artifact")).to_contain_text("tt.load")
