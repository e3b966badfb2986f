"""Values in the forms are those of a kernel: of its autotuner, of its lines, or as typed for it."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.page.conftest import Visit
from tests.page.pages import SOURCE, add_pane, pane, write

HEAD = "import triton\nimport triton.language as tl\n\n\n"
TUNED = HEAD + (
    "@triton.autotune(\n"
    "    [triton.Config({'BLOCK': 64}, num_warps=2), triton.Config({'BLOCK': 256}, num_warps=8)],\n"
    "    key=['n'],\n"
    ")\n"
    "@triton.jit\n"
    "def tuned(x_ptr, n, BLOCK: tl.constexpr):\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    tl.store(x_ptr + i, 1.0, mask=i < n)\n"
)
OTHER = TUNED[: TUNED.index("@triton.autotune")] + (
    "@triton.jit\n"
    "def other(x_ptr, n, BLOCK: tl.constexpr):\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    tl.store(x_ptr + i, i.to(tl.float16), mask=i < n)\n"
)


def test_configurations_of_an_autotuner_fill_in_constexprs_and_options(visit: Visit) -> None:
    page = visit()
    write(page, TUNED)
    chips = page.get_by_role("group", name="Autotuner").get_by_role("button")
    expect(chips).to_have_text(["BLOCK=64 w2", "BLOCK=256 w8"])
    expect(page.get_by_label("BLOCK", exact=True)).to_have_value("64")
    expect(chips.first).to_have_attribute("aria-pressed", "true")
    chips.last.click()

    expect(page.get_by_label("BLOCK", exact=True)).to_have_value("256")
    expect(page.get_by_label("num_warps", exact=True)).to_have_value("8")
    expect(pane(page, "TTIR")).to_contain_text("end = 256 : i32")


def test_configurations_that_code_makes_are_read_too(visit: Visit) -> None:
    page = visit()
    made = "[triton.Config({'BLOCK': 32 << i}, num_warps=4) for i in range(2)]"
    write(page, TUNED.replace(TUNED[TUNED.index("    [") : TUNED.index(",\n    key")], made))

    chips = page.get_by_role("group", name="Autotuner").get_by_role("button")
    expect(chips.first).to_contain_text("BLOCK=32")
    expect(chips).to_have_count(2)


def test_module_code_may_read_the_configurations_of_a_kernel(visit: Visit) -> None:
    page = visit()
    write(page, TUNED + "\n\nFIRST = tuned.configs[0].kwargs\n")

    expect(page.locator("#state")).to_contain_text("tuned for cuda:90 succeeded")
    expect(page.get_by_role("list", name="Diagnostics").get_by_role("listitem")).to_have_count(0)


def test_values_come_back_with_their_kernel_and_go_to_no_other(visit: Visit) -> None:
    page = visit()
    write(page, TUNED)
    x_ptr = page.get_by_label("x_ptr", exact=True)
    expect(page.get_by_label("BLOCK", exact=True)).to_have_value("64")
    x_ptr.fill("*bf16")
    write(page, OTHER)
    expect(page.locator(".forms > summary")).to_contain_text("other(")
    expect(x_ptr).to_have_value("*fp16:16")
    expect(page.get_by_label("num_warps", exact=True)).to_have_value("")
    page.locator(SOURCE).focus()
    page.keyboard.press("Control+z")

    expect(page.locator(".forms > summary")).to_contain_text("tuned(")
    expect(x_ptr).to_have_value("*bf16")


def test_what_was_typed_stays_when_a_kernel_is_pasted_again_and_what_was_proposed_does_not(
    visit: Visit,
) -> None:
    page = visit()
    write(page, OTHER)
    block, x_ptr = (page.get_by_label(name, exact=True) for name in ("BLOCK", "x_ptr"))
    expect(x_ptr).to_have_value("*fp16:16")
    block.fill("512")
    write(page, OTHER.replace("i.to(tl.float16)", "i.to(tl.bfloat16)"))

    expect(x_ptr).to_have_value("*bf16:16")
    expect(block).to_have_value("512")


def test_a_renamed_kernel_keeps_its_values(visit: Visit) -> None:
    page = visit()
    page.get_by_label("BLOCK_SIZE", exact=True).fill("128")
    name = page.locator(f"{SOURCE} .cm-line").filter(has_text="def add_kernel")
    name.get_by_text("add_kernel").dblclick()
    page.keyboard.type("sum_kernel")

    expect(page.locator(".forms > summary")).to_contain_text("sum_kernel(")
    expect(page.get_by_label("BLOCK_SIZE", exact=True)).to_have_value("128")


def test_a_type_says_which_line_implies_it(visit: Visit) -> None:
    page = visit()
    write(page, OTHER)

    n = page.get_by_label("n", exact=True)
    expect(n).to_have_value("i32:16")
    assumed = "sizes and strides are assumed to be divisible by 16"
    expect(n).to_have_attribute("title", f"Line 8: n is compared with an offset; {assumed}")


def test_a_launch_is_of_its_kernel_and_comes_back_with_it(visit: Visit) -> None:
    page = visit()
    run = add_pane(page, "Run")
    grid = run.get_by_label("Grid")
    expect(grid).to_have_value("cdiv(n_elements, BLOCK_SIZE)")
    write(page, OTHER)
    expect(grid).to_have_value("1")
    expect(run.locator(".reference .cm-content")).to_have_text("")
    expect(run.get_by_role("group", name="output_ptr")).to_have_count(0)
    page.locator(SOURCE).focus()
    page.keyboard.press("Control+z")

    expect(grid).to_have_value("cdiv(n_elements, BLOCK_SIZE)")
    expect(run.locator(".reference .cm-content")).to_contain_text("return x_ptr + y_ptr")


def test_values_go_to_no_kernel_that_follows_an_empty_text(visit: Visit) -> None:
    page = visit()
    write(page, TUNED)
    expect(page.get_by_label("BLOCK", exact=True)).to_have_value("64")
    page.get_by_label("x_ptr", exact=True).fill("*bf16")
    with page.expect_response("**/v1/inspect*"):
        write(page, "# nothing yet")
    page.wait_for_timeout(500)  # the answer is taken in
    write(page, OTHER)

    expect(page.locator(".forms > summary")).to_contain_text("other(")
    expect(page.get_by_label("x_ptr", exact=True)).to_have_value("*fp16:16")
