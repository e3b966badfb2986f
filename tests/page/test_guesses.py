"""Types and values that the page fills in are shown as guesses, until a user changes them."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.page.conftest import Visit, compiled
from tests.page.pages import SOURCE, box_of, pane, source_of, write
from tests.page.test_everywhere import violations

KERNEL = (
    "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    "def copy(x_ptr, n, BLOCK: tl.constexpr):\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    tl.store(x_ptr + i, tl.load(x_ptr + i + BLOCK, mask=i < n), mask=i < n)\n"
)
HELPER = "@triton.jit\ndef twice(x):\n    return 2 * x\n\n\n"
LAUNCHED = KERNEL + (
    "\n\n@triton.jit\ndef after(x_ptr):\n    tl.store(x_ptr, 1.0)\n\n\n"
    "def run(x):\n    after[(1,)](x)\n"
)


def test_a_guess_is_named_above_all_results_and_before_its_numbers(visit: Visit) -> None:
    page = visit()
    write(page, KERNEL)
    assumes = page.locator(".assumes")
    expect(assumes.locator("summary")).to_have_text(
        "copy assumes *fp32 x_ptr; i32 n divisible by 16; for example BLOCK=64"
    )
    assert box_of(assumes)["y"] < box_of(page.locator(".panes"))["y"]
    badge = pane(page, "Resources").locator(".guessed")
    expect(badge).to_have_text("guessed")
    for name, text in {"x_ptr": "*fp16:16", "n": "i32", "BLOCK": "128"}.items():
        page.get_by_label(name, exact=True).fill(text)

    expect(assumes).to_be_hidden()
    expect(badge).to_have_count(0)


def test_the_guess_returns_to_a_field_that_is_left_empty(visit: Visit) -> None:
    page = visit()
    write(page, KERNEL)
    block = page.get_by_label("BLOCK", exact=True)
    expect(block).to_have_value("64")
    block.fill("128")
    block.fill("")
    block.press("Tab")

    expect(block).to_have_value("64")
    expect(page.locator(".assumes summary")).to_contain_text("for example BLOCK=64")
    compiled(page)


def test_an_example_with_a_comment_rests_on_no_guess(visit: Visit) -> None:
    page = visit()
    write(page, f"{source_of(page)}# mine\n")
    compiled(page)

    expect(page.locator(".guessed")).to_have_count(0)


def test_each_assumption_has_a_switch_that_compiles_another(visit: Visit) -> None:
    page = visit()
    write(page, KERNEL)
    assumes = page.locator(".assumes")
    expect(pane(page, "TTIR")).to_contain_text("tt.ptr<f32>")
    hint = assumes.get_by_label("n, assumed")
    hint.select_option(label="i32")
    assumes.get_by_label("x_ptr, assumed").select_option(label="*fp16")
    assumes.get_by_label("BLOCK, assumed").select_option("256")

    expect(pane(page, "TTIR")).to_contain_text("tt.ptr<f16>")
    expect(pane(page, "TTIR")).to_contain_text("end = 256 : i32")
    expect(assumes.locator("summary")).to_have_text("copy: no assumptions left")
    expect(page.get_by_label("n", exact=True)).to_have_value("i32")
    assert violations(page) == []
    hint.select_option(label="i32, divisible by 16")
    expect(page.get_by_label("n", exact=True)).to_have_value("i32:16")


def test_helpers_alone_compile_in_a_kernel_that_is_written_for_them(visit: Visit) -> None:
    page = visit()
    write(page, KERNEL[: KERNEL.index("@triton.jit")] + HELPER)

    expect(page.locator(".assumes")).to_contain_text("twice_stored is not in the source")
    expect(pane(page, "PTX")).to_contain_text(".visible .entry twice_stored")


def test_a_pasted_file_is_shown_at_the_kernel_that_it_launches(visit: Visit) -> None:
    page = visit()
    write(page, "".join(f"# {number}\n" for number in range(200)) + LAUNCHED + "# end\n" * 200)

    chips = page.get_by_role("group", name="Kernels")
    chosen = chips.get_by_role("button", pressed=True)
    expect(chosen).to_have_text("after")
    line = page.locator(f"{SOURCE} .cm-line").filter(has_text="def after(")
    expect(line).to_be_in_viewport()
    chips.get_by_role("button", name="copy").click()
    expect(page.locator(".forms > summary")).to_contain_text("copy(")
    expect(page.locator(f"{SOURCE} .cm-line").filter(has_text="def copy(")).to_be_in_viewport()
    compiled(page)
    assert violations(page) == []


def test_the_launch_that_types_come_from_is_one_click_away(visit: Visit) -> None:
    page = visit()
    launch = (
        "\n\nimport torch\n\nx = torch.rand(2048, device='cuda')\ncopy[(1,)](x, 1024, BLOCK=256)\n"
    )
    write(page, KERNEL + "\n" * 60 + launch)

    line = KERNEL.count("\n") + 60 + 6
    expect(page.locator(".assumes .launched")).to_have_text(
        f"copy is compiled as launched in line {line}"
    )
    expect(page.get_by_label("BLOCK", exact=True)).to_have_value("256")
    page.locator(".assumes").get_by_role("button").click()
    expect(page.locator(f"{SOURCE} .cm-activeLine")).to_contain_text("copy[(1,)]")
    assert violations(page) == []


def test_types_of_an_example_are_no_guesses(visit: Visit) -> None:
    page = visit()
    expect(pane(page, "PTX")).to_contain_text("ld.global.v4.b32")

    expect(page.get_by_label("n_elements", exact=True)).to_have_value("i32:16")
    expect(page.locator(".assumes")).to_be_hidden()
    expect(pane(page, "Resources").locator(".guessed")).to_have_count(0)


def test_a_helper_that_nothing_calls_is_not_chosen(visit: Visit) -> None:
    page = visit()
    write(page, KERNEL.replace("@triton.jit", HELPER + "@triton.jit"))

    chips = page.get_by_role("group", name="Kernels").get_by_role("button")
    expect(chips).to_have_text(["twice", "copy"])
    expect(chips.last).to_have_attribute("aria-pressed", "true")
    compiled(page)
