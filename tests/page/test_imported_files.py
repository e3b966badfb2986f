"""A kernel that imports a module which was not sent: the page offers a tab for it."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.page.conftest import Visit, compiled
from tests.page.pages import pane, write
from tests.page.test_everywhere import violations
from tests.page.test_sharing import permalink

KERNEL = (
    "import triton\nimport triton.language as tl\nfrom pkg.config import VALUE\n\n\n"
    "@triton.jit\ndef fill(x_ptr):\n"
    "    i = tl.arange(0, 64)\n    tl.store(x_ptr + i, tl.full((64,), VALUE, tl.float32))\n"
)


def test_a_module_that_is_missing_is_added_in_a_tab_and_shared(visit: Visit) -> None:
    page = visit()
    write(page, KERNEL)
    said = page.get_by_label("Diagnostics")
    expect(said).to_contain_text("This kernel needs pkg/config.py.")
    said.get_by_role("button", name="Add pkg/config.py").click()
    page.keyboard.insert_text("import triton.language as tl\n\nVALUE = tl.constexpr(3.5)\n")
    compiled(page)

    expect(pane(page, "TTIR")).to_contain_text("3.500000e+00")
    assert violations(page) == []
    friend = visit(permalink(page))
    friend.get_by_role("group", name="Files").get_by_role("button", name="pkg/config.py").click()
    expect(friend.get_by_label("Path")).to_have_value("pkg/config.py")
    friend.get_by_role("button", name="Remove file").click()
    compiled(friend, "failed")
    expect(friend.locator(".left .editor .cm-content").first).to_be_visible()
