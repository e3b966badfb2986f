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


def test_a_statement_that_lacks_a_module_offers_it_in_the_page_s_words(visit: Visit) -> None:
    page = visit()
    head, kernel = KERNEL.replace("VALUE", "1.0").split("from pkg.config import 1.0\n")
    changes = "def change():\n    globals()['fill'] = None\n\n\nif COUNT > 1:\n    change()\n"
    write(page, f"{head}from ..device import COUNT\n{kernel}\n\n{changes}")

    said = page.get_by_label("Diagnostics")
    expect(said).to_contain_text('Add its file as "device.py"')
    said.get_by_role("button", name="Add device.py").click()
    page.keyboard.insert_text("COUNT = 1\n")
    compiled(page)


def test_a_removed_file_is_restored_with_its_text(visit: Visit) -> None:
    page = visit()
    write(page, KERNEL)
    page.get_by_role("button", name="Add pkg/config.py").click()
    page.keyboard.insert_text("import triton.language as tl\n\nVALUE = tl.constexpr(3.5)\n")
    compiled(page)
    page.get_by_role("button", name="Remove file").click()
    compiled(page, "failed")
    page.get_by_role("button", name="Restore pkg/config.py").click()
    compiled(page)
    expect(page.locator(".file .cm-content")).to_contain_text("VALUE")

    page.get_by_role("button", name="Remove file").click()
    compiled(page, "failed")
    page.keyboard.press("Control+z")
    compiled(page)
    expect(page.get_by_role("button", name="pkg/config.py", exact=True)).to_be_visible()

    page.wait_for_function("JSON.stringify(localStorage).includes('pkg/config.py')")
    page.reload()
    compiled(page)
    expect(page.get_by_role("button", name="pkg/config.py", exact=True)).to_be_visible()


def test_a_file_s_edits_can_be_undone_after_another_tab_was_shown(visit: Visit) -> None:
    page = visit()
    files = page.get_by_role("group", name="Files")
    files.get_by_role("button", name="Add file").click()
    page.keyboard.insert_text("A = 1\n")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("B = 2\n")
    files.get_by_role("button", name="kernel").click()
    files.get_by_role("button", name="module.py").click()
    page.locator(".file .cm-content").focus()
    page.keyboard.press("Control+z")

    expect(page.locator(".file .cm-content")).to_contain_text("A = 1")


HELPER = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef {}\n"
BORROWING = KERNEL.replace("import VALUE", "import exp2, read").replace(
    "tl.store(x_ptr + i, tl.full((64,), VALUE, tl.float32))",
    "tl.store(x_ptr + i, exp2(i.to(tl.float32)))",
)


def test_a_file_that_was_done_without_is_named_and_added(visit: Visit) -> None:
    page = visit()
    write(page, BORROWING)
    compiled(page)
    said = page.get_by_label("Diagnostics")
    expect(said).to_contain_text("Compiled without pkg/config.py.")
    expect(said).to_contain_text("exp2 is taken to be triton.language.exp2")
    said.get_by_role("button", name="Add pkg/config.py").click()
    page.keyboard.insert_text(HELPER.format("exp2(x):\n    return x * 5.5\n\n\nread = exp2"))
    compiled(page)

    expect(pane(page, "TTIR")).to_contain_text("5.500000e+00")
    expect(said).not_to_contain_text("Compiled without")
    assert violations(page) == []


LAUNCHING = """
import torch
import triton
from pkg.config import SIZE


@triton.jit
def fill(x_ptr):
    pass


fill[(1,)](torch.empty(SIZE))
"""


def test_warnings_follow_an_added_file(visit: Visit) -> None:
    page = visit()
    write(page, LAUNCHING)
    warned = page.get_by_label("Warnings about the kernel")
    expect(warned).to_contain_text("ModuleNotFoundError")
    page.get_by_role("button", name="Add file").click()
    page.get_by_label("Path").fill("pkg/config.py")
    page.get_by_label("Path").press("Enter")
    page.locator(".file .cm-content").focus()
    page.keyboard.insert_text("SIZE = 1 / 0\n")

    expect(warned).to_contain_text("ZeroDivisionError")


def test_types_follow_an_added_file(visit: Visit) -> None:
    page = visit()
    read = "tl.load(read(ids_ptr) + x_ptr)"
    text = KERNEL.replace("import VALUE", "import read").replace(
        "fill(x_ptr", "fill(x_ptr, ids_ptr"
    )
    write(page, text.replace("tl.full((64,), VALUE, tl.float32)", read))
    page.get_by_role("button", name="Add pkg/config.py").click()
    page.keyboard.insert_text(HELPER.format("read(at):\n    return tl.load(at).to(tl.int64)"))
    compiled(page)

    expect(page.get_by_label("ids_ptr", exact=True)).to_have_value("*i64:16")


def test_warnings_about_a_kernel_are_above_its_results(visit: Visit) -> None:
    page = visit()
    write(
        page, KERNEL.replace("fill(x_ptr", "fill(x_ptr, N").replace("arange(0, 64)", "arange(0, N)")
    )

    expect(page.get_by_label("Warnings about the kernel")).to_contain_text(
        "write `N: tl.constexpr`"
    )
