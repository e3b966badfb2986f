"""Shared results, read-only in a window or in a frame of another page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import TritondUp, Visit, compiled
from tests.page.pages import PHONE, add_pane, click_line, pane
from tests.page.proxy import under
from tests.page.test_everywhere import violations


@contextmanager
def page_with(html: str) -> Iterator[str]:
    """Serve `html` on a separate origin; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = f"<!doctype html><html lang=en><title>Notes</title>{html}".encode()
            self.send_response(200 if self.path == "/" else 204)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def shared(page: Page) -> tuple[str, str]:
    """Share the page's contents; return the read-only address and the HTML of the frame."""
    page.get_by_role("button", name="Share").click()
    page.get_by_text("Read-only view and frame").click()
    address = page.get_by_label("Read-only")
    expect(address).not_to_have_value("")
    taken = address.input_value(), page.get_by_label("HTML of the frame").input_value()
    page.get_by_role("button", name="Close", exact=True).click()
    return taken


def test_what_is_shared_can_be_read_alone_and_opened_to_go_on(visit: Visit) -> None:
    page = visit()
    page.get_by_label("BLOCK_SIZE", exact=True).fill("256")
    add_pane(page, "Run")
    page.get_by_role("button", name="Close Resources").click()
    address, _ = shared(page)
    assert re.search(r"/e/sha256:[0-9a-f]{64}\?panes=kernel,ttir,ptx$", address)

    reader = visit(address)
    expect(reader.get_by_role("region")).to_have_count(3)
    expect(pane(reader, "PTX").locator(".cm-line.hue").first).to_be_attached()
    click_line(pane(reader, "Kernel").locator(".cm-line.hue"), "tl.store(")
    expect(pane(reader, "PTX").locator(".cm-line.selected").first).to_be_in_viewport()
    assert reader.get_by_role("button").count() == reader.get_by_role("textbox").count() - 3 == 0
    assert violations(reader) == []

    with reader.expect_popup() as opened:
        reader.get_by_role("link", name="Open in tritond").click()
    compiled(opened.value)
    expect(opened.value.get_by_label("BLOCK_SIZE", exact=True)).to_have_value("256")


def test_nothing_can_be_written_in_what_is_to_read(visit: Visit) -> None:
    reader = visit(shared(visit())[0])
    kernel = pane(reader, "Kernel").get_by_role("textbox")
    before = kernel.inner_text()
    kernel.focus()
    reader.keyboard.press("Control+a")
    reader.keyboard.type("gone")

    assert kernel.inner_text() == before


def test_panes_and_colours_are_chosen_in_the_address(visit: Visit) -> None:
    page = visit()
    address = shared(page)[0].partition("?")[0]
    reader = visit(f"{address}?panes=ptx,run,sass,nonsense&theme=dark", color_scheme="light")

    expect(reader.get_by_role("region")).to_have_count(2)
    expect(pane(reader, "SASS").locator(".cm-line").first).to_be_visible()
    assert reader.evaluate("getComputedStyle(document.body).colorScheme") == "dark"


def test_the_dialog_writes_the_frame_with_the_panes_that_are_ticked(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Share").click()
    page.get_by_text("Read-only view and frame").click()
    page.get_by_label("TTIR", exact=True).last.uncheck()
    html = page.get_by_label("HTML of the frame")

    expect(html).to_have_value(re.compile(r'^<iframe src="http.*\?panes=kernel,ptx,resources"'))
    assert violations(page) == []


@pytest.fixture
def open_to_frames(tmp_path: Path) -> Iterator[TritondUp]:
    running = TritondUp(tmp_path, TRITOND_EMBED_ORIGINS="http://127.0.0.1:*")
    yield running
    assert running.process.stop() == 0


def test_a_page_whose_origin_is_named_shows_it_in_a_frame(
    visit: Visit, open_to_frames: TritondUp
) -> None:
    _, html = shared(visit(open_to_frames.url))
    # To the browser this is another site, not another port of the same site.
    html = html.replace("127.0.0.1", "localhost", 1)
    with page_with(html) as notes:
        page = visit(notes, waits=False)
        frame = page.frame_locator("iframe")
        expect(frame.locator("#state.succeeded")).to_contain_text("add_kernel for cuda:90")
        expect(frame.get_by_role("region", name="PTX").locator(".cm-line").first).to_be_visible()

        whole = html.replace(html.split('"')[1], open_to_frames.url)
        with page_with(whole) as other:
            refusal = visit(other, waits=False, framed=True, refused=True)
            assert not _shown_in_frame(refusal)


def test_other_sites_cannot_frame_the_page(visit: Visit) -> None:
    _, html = shared(visit())
    with page_with(html) as notes:
        page = visit(notes, waits=False, framed=True, refused=True)

        assert not _shown_in_frame(page)
        expect(page.frame_locator("iframe").get_by_role("link")).to_have_text(
            "Open the kernel in tritond"
        )


def _shown_in_frame(page: Page) -> bool:
    page.wait_for_load_state("networkidle")
    return any(frame.locator("h1").count() for frame in page.frames[1:])


def test_it_works_under_a_path_of_a_proxy_and_on_a_phone(visit: Visit, up: TritondUp) -> None:
    with under("/tools/tritond/", up.url) as address:
        read, _ = shared(visit(address))
        assert read.startswith(f"{address}e/sha256:")
        reader = visit(read, **PHONE)
        expect(pane(reader, "PTX").locator(".cm-line").first).to_be_attached()
        assert reader.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_is_not_there_is_said(visit: Visit) -> None:
    reader = visit("e/sha256:" + "0" * 64, waits=False, refused=True)

    expect(reader.locator("#state.failed")).to_contain_text("This link is unknown or expired")
