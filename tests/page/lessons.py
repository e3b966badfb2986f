"""Actions on the page of lessons."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.integration.service.running import ROOT
from tests.page.conftest import Visit
from tests.page.pages import SOURCE, source_of, write

KERNELS = [
    name
    for chapter in ("blocks", "loops", "memory", "models")
    for name in re.findall(
        r'^    kernel: "(\w+)"', (ROOT / f"page/src/lessons_{chapter}.ts").read_text(), re.MULTILINE
    )
]
"""The lessons, by their kernels, in their order."""
ADD_IN_BLOCKS = """
    offsets = tl.program_id(0) * B0 + tl.arange(0, B0)
    x = tl.load(x_ptr + offsets, mask=offsets < N0)
    tl.store(z_ptr + offsets, x + 10, mask=offsets < N0)
"""


def open_lesson(visit: Visit, kernel: str, **context: Any) -> Page:
    """Open a lesson by its link."""
    page = visit(f"learn#{kernel}", waits=False, **context)
    expect(page.locator(SOURCE)).to_contain_text(f"def {kernel}(")
    return page


def write_body(page: Page, body: str) -> None:
    """Replace the body of the kernel in the editor."""
    source = source_of(page)
    head = source[: source.index(":\n", source.index("def ")) + 2]
    write(page, head + body.strip("\n") + "\n")


def take_solution(page: Page) -> None:
    """Read all hints, and put the solution into the editor."""
    for step in ("Hint 1", "Hint 2", "Hint 3", "Solution"):
        page.get_by_text(step, exact=True).click()
    page.get_by_role("button", name="Put it into the editor").click()


def run(page: Page) -> Locator:
    """Run the kernel; return the text about it."""
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator("#state:is(.succeeded, .failed)").wait_for()
    return page.locator("#state")


def solved(page: Page) -> Locator:
    return page.get_by_text("Solved", exact=True)
