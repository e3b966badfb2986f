"""Types and values that the page fills in are shown as guesses, until somebody changes them."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.page.conftest import Visit
from tests.page.pages import pane, write

KERNEL = (
    "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    "def copy(x_ptr, n, BLOCK: tl.constexpr):\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    tl.store(x_ptr + i, tl.load(x_ptr + i + BLOCK, mask=i < n), mask=i < n)\n"
)
LAUNCHED = KERNEL + (
    "\n\n@triton.jit\ndef after(x_ptr):\n    tl.store(x_ptr, 1.0)\n\n\n"
    "def run(x):\n    after[(1,)](x)\n"
)


def test_a_guess_is_named_with_a_way_to_change_it_and_a_badge_before_its_numbers(
    visit: Visit,
) -> None:
    page = visit()
    write(page, KERNEL)
    assumes = page.locator(".assumes")
    expect(assumes).to_contain_text(
        "assumes *fp32 x_ptr; i32 n divisible by 16; BLOCK=64 (an example)"
    )
    badge = pane(page, "Resources").locator(".guessed")
    expect(badge).to_have_text("guessed")
    assumes.get_by_role("button", name="Change").click()
    expect(page.get_by_label("x_ptr", exact=True)).to_be_focused()
    for name, text in {"x_ptr": "*fp16:16", "n": "i32", "BLOCK": "128"}.items():
        page.get_by_label(name, exact=True).fill(text)

    expect(assumes).to_be_hidden()
    expect(badge).to_have_count(0)


def test_types_of_an_example_are_no_guesses(visit: Visit) -> None:
    page = visit()
    expect(pane(page, "PTX")).to_contain_text("ld.global.v4.b32")

    expect(page.get_by_label("n_elements", exact=True)).to_have_value("i32:16")
    expect(page.locator(".assumes")).to_be_hidden()
    expect(pane(page, "Resources").locator(".guessed")).to_have_count(0)


def test_the_kernel_that_the_source_launches_is_chosen(visit: Visit) -> None:
    page = visit()
    write(page, LAUNCHED)

    expect(page.locator(".forms > summary")).to_contain_text("after(")
