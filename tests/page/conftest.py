"""Starts `tritond up` on a free port, and opens its page in a real browser (`make test-page`).

Collected only if TRITOND_TEST_CHROMIUM names the browser; tests that need a second Triton also need
TRITOND_TEST_OTHER_TRITON, its Python, and those that paste kernels TRITOND_TEST_PASTED, a folder of
wheels. An error in a page's console fails the test that opened it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.service.running import Process, answers, free_port
from tests.waiting import LIMIT_S, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

WAIT_MS = 1000 * LIMIT_S
"""Machines may be slow and busy; only failures wait that long."""
CHROMIUM = os.environ.get("TRITOND_TEST_CHROMIUM", "")
OTHER_TRITON = os.environ.get("TRITOND_TEST_OTHER_TRITON", "")
PASTED = os.environ.get("TRITOND_TEST_PASTED", "")
NEEDED = {"test_versions.py": OTHER_TRITON, "test_pasting.py": PASTED}
collect_ignore_glob = [name for name, is_there in NEEDED.items() if not is_there]
if not CHROMIUM:
    collect_ignore_glob = ["test_*.py"]
# block the browser's own requests to its vendor
ARGUMENTS = [
    "--disable-background-networking", "--disable-component-update", "--disable-gpu",
    "--disable-quic", "--disable-sync", "--no-first-run",
]  # fmt: skip


class TritondUp:
    """`tritond up` with its data in `folder`."""

    def __init__(self, folder: Path, **settings: str) -> None:
        port = str(free_port())
        self.url = f"http://127.0.0.1:{port}/"
        command = ("-m", "service.command", "up", "--port", port, "--data", str(folder / "data"))
        self.process = Process(folder / "log", *command, **settings)
        wait_until(self._is_ready, "tritond is up", lambda: self.process.said)

    def _is_ready(self) -> bool:
        return "tritond is ready" in self.process.said and answers(f"{self.url}readyz")


@pytest.fixture(scope="session")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritondUp]:
    running = TritondUp(tmp_path_factory.mktemp("up"))
    yield running
    assert running.process.stop() == 0
    assert "Traceback" not in running.process.said, running.process.said


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=ARGUMENTS, chromium_sandbox=os.geteuid() != 0
        )
        yield chromium
        chromium.close()


Visit = Callable[..., "Page"]


@pytest.fixture
def visit(up: TritondUp, browser: Browser) -> Iterator[Visit]:
    """Open the page in a new browser context, and wait until it shows its compilation."""
    contexts: list[BrowserContext] = []
    said: list[str] = []

    def open_page(
        address: str = "",
        *,
        waits: bool = True,
        refused: bool = False,
        framed: bool = False,
        **of_context: Any,
    ) -> Page:
        context = browser.new_context(**({"viewport": {"width": 1400, "height": 900}} | of_context))
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        page.on(
            "console",
            lambda message: note(
                message.type,
                message.text,
                message.location["url"],
                refused=refused,
                framed=framed,
            ),
        )
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(address if "://" in address else up.url + address)
        if waits:
            compiled(page)
        return page

    def note(kind: str, text: str, url: str, *, refused: bool, framed: bool) -> None:
        # the browser reports every 4xx; tests of a refusal expect one
        is_refusal = text.startswith("Failed to load resource: the server responded with a status")
        is_kept_out = "frame-ancestors" in text
        if kind == "error" and not (refused and is_refusal) and not (framed and is_kept_out):
            said.append(f"{url}: {text}")

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


def compiled(page: Page, state: str = "succeeded") -> None:
    """Wait until the page shows the result of compiling."""
    page.locator(f"#state.{state}").wait_for()
