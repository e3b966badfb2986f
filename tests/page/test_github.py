"""Files of GitHub and gists are opened by the browser, where the operator allows it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.conftest import TritondUp, Visit
from tests.page.pages import SOURCE, pane
from tests.page.test_everywhere import violations

RAW = "https://raw.githubusercontent.com"
GISTS = "https://gist.githubusercontent.com"
HEAD = "import triton\nimport triton.language as tl\nfrom pkg.ops.config import FACTOR\n\n\n"
KERNEL = "@triton.jit\ndef {}(x_ptr):\n    tl.store(x_ptr, FACTOR)\n\n\n"
FILES = {
    f"{RAW}/owner/name/main/src/pkg/ops/kernels.py": HEAD + KERNEL.format("a") + KERNEL.format("b"),
    f"{RAW}/owner/name/main/src/pkg/ops/config.py": "import triton.language as tl\n"
    "FACTOR = tl.constexpr(3)\n",
    f"{GISTS}/owner/0123abcd/raw": "import triton\n" + KERNEL.format("of_gist"),
}


@pytest.fixture(scope="module")
def allowing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritondUp]:
    running = TritondUp(tmp_path_factory.mktemp("up"), TRITOND_PAGE_OPENS_GITHUB="true")
    yield running
    assert running.process.stop() == 0


@pytest.fixture
def page(visit: Visit, allowing: TritondUp) -> Page:
    page = visit(allowing.url, refused=True)

    def answer(route: Route) -> None:
        text = FILES.get(route.request.url)
        assert "authorization" not in route.request.headers
        headers = {"Access-Control-Allow-Origin": "*"}
        route.fulfill(status=404 if text is None else 200, body=text or "", headers=headers)

    page.route(re.compile("^https://"), answer)
    return page


def open_link(page: Page, link: str) -> None:
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_label("Link to a file on GitHub, or to a gist").fill(link)
    page.get_by_role("button", name="Open file").click()


def test_a_permalink_opens_at_its_line_and_brings_the_module_that_is_missing(page: Page) -> None:
    open_link(page, "https://github.com/owner/name/blob/main/src/pkg/ops/kernels.py#L11-L13")
    kernels = page.get_by_role("group", name="Kernels")
    expect(kernels.get_by_role("button", pressed=True)).to_have_text("b")
    page.get_by_role("button", name="Add pkg/ops/config.py").click()

    expect(pane(page, "PTX")).to_contain_text(".visible .entry b(")
    expect(page.locator(".left .file .cm-content")).to_contain_text("FACTOR = tl.constexpr(3)")


def test_a_gist_opens_and_a_wrong_link_says_what_is_expected(page: Page) -> None:
    open_link(page, "https://example.com/kernel.py")
    dialog = page.get_by_role("dialog", name="Open a file from GitHub")
    expect(dialog.get_by_role("status")).to_contain_text("Expected a link to a file on GitHub")
    assert violations(page) == []
    dialog.get_by_role("textbox").fill("https://gist.github.com/owner/ffff")
    dialog.get_by_role("button", name="Open file").click()
    expect(dialog.get_by_role("status")).to_contain_text("404: is the link right")
    dialog.get_by_role("textbox").fill("https://gist.github.com/owner/0123abcd")
    dialog.get_by_role("button", name="Open file").click()

    expect(page.locator(SOURCE)).to_contain_text("def of_gist(")


def test_nothing_is_opened_where_the_operator_does_not_allow_it(visit: Visit) -> None:
    expect(visit().get_by_role("button", name="Open", exact=True)).to_have_count(0)
