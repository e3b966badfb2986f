"""User actions on the page, by visible and accessible names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect, Locator, Page, Route

SOURCE = ".left .editor .cm-content"
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
}
"""Options of a browser context."""


def write(page: Page, source: str) -> None:
    """Replace the editor's text by `source`."""
    page.evaluate("text => navigator.clipboard.writeText(text)", source)
    page.locator(SOURCE).focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+v")


def source_of(page: Page) -> str:
    """Return the editor's text."""
    lines = page.locator(f"{SOURCE} .cm-line").all_inner_texts()
    return "\n".join(line.rstrip("\n") for line in lines)


def compile_now(page: Page) -> None:
    """Press Ctrl+Enter in the editor, and wait until the page starts to compile."""
    page.evaluate("document.getElementById('state').className = 'waiting'")
    page.locator(SOURCE).focus()
    page.keyboard.press("Control+Enter")
    page.locator("#state:is(.succeeded, .failed)").wait_for()


def pane(page: Page, title: str) -> Locator:
    """Return an open pane; bring it to the front of its group."""
    tab = page.get_by_role("tab", name=title, exact=True)
    if tab.count() and tab.first.get_attribute("aria-selected") == "false":
        tab.first.click()
    return page.get_by_role("region", name=title, exact=True)


def add_pane(page: Page, title: str) -> Locator:
    """Open a pane."""
    page.get_by_label("Add pane").select_option(label=title)
    return pane(page, title)


def box_of(shown: Locator) -> FloatRect:
    """Return where something is shown."""
    box = shown.bounding_box()
    assert box is not None
    return box


def text_of(page: Page, title: str) -> str:
    """Return the lines that a pane shows, once it shows some."""
    lines = pane(page, title).locator(".cm-line")
    lines.first.wait_for()
    return "\n".join(lines.all_inner_texts())


def held(page: Page, path: str, times: int | None = None) -> list[Route]:
    """Hold back requests to `v1/` with this path from now on; return those that are held."""
    routes: list[Route] = []

    def hold(route: Route) -> None:
        routes.append(route)

    page.route(f"**/v1/{path}*", hold, times=times)
    return routes


def asked(page: Page, requests: list[Route]) -> Route:
    """Return the first request that is held, once there is one."""
    wait_until(lambda: page.wait_for_timeout(20) or requests, "the page asks")
    return requests[0]


def redrawn(page: Page) -> None:
    """Wait until the page has drawn what was changed, sizes and pictures included."""
    frames = "requestAnimationFrame(() => requestAnimationFrame(done))"
    page.evaluate(f"() => new Promise(done => {frames})")


def click_line(lines: Locator, text: str) -> None:
    """Click the beginning of the first line that holds `text`."""
    lines.filter(has_text=text).first.click(position={"x": 12, "y": 6})
