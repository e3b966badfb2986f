"""A person writes a kernel, reads its errors, and fixes it."""

from __future__ import annotations

from playwright.sync_api import Route, expect

from tests.page.conftest import Visit
from tests.page.pages import SOURCE, asked, compile_now, pane, source_of, write

HEAD = "import triton\nimport triton.language as tl\n\n\n"
TYPO = HEAD + (
    "@triton.jit\n"
    "def double(x_ptr, N: tl.constexpr):\n"
    "    offsets = tl.arang(0, N)\n"
    "    tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets))\n"
)
SLOW = "sum(range(150_000_000))\n" + TYPO.replace("arang(", "arange(")
SETTLED_MS = 1000
"""More than the page waits from an edit until it compiles."""
TWO_KERNELS = HEAD + (
    "@triton.jit\n"
    "def one(a_ptr, N: tl.constexpr = 32):\n"
    "    tl.store(a_ptr + tl.arange(0, N), 1.0)\n\n\n"
    "@triton.jit\n"
    "def two(b_ptr, scale, M: tl.constexpr):\n"
    "    tl.store(b_ptr + tl.arange(0, M), scale)\n"
)


def test_a_newcomer_sees_a_compiled_kernel_at_once(visit: Visit) -> None:
    page = visit()

    expect(page.locator("#state")).to_contain_text("add_kernel for cuda:90 succeeded")
    expect(page.locator(f"{SOURCE} .tok-keyword").first).to_have_text("import")


def test_characters_that_reorder_what_is_read_are_shown(visit: Visit) -> None:
    page = visit()
    write(page, "# \u202egnp.x\n")

    shown = page.locator(f"{SOURCE} .cm-specialChar")
    expect(shown).to_have_attribute("title", "Control character right-to-left override")


def test_a_failure_names_the_kernel_the_gpu_and_the_line(visit: Visit) -> None:
    page = visit()
    write(page, TYPO)
    page.get_by_label("N", exact=True).fill("64")
    compile_now(page)

    expect(page.locator("#state")).to_have_text("double does not compile for H100, line 7.")


def test_an_empty_editor_says_what_to_do(visit: Visit) -> None:
    page = visit()
    page.locator(SOURCE).press("Control+a")
    page.keyboard.press("Delete")

    expect(page.locator("#state")).to_have_text(
        "The editor is empty. Paste a Triton kernel or choose an example."
    )


def test_a_typo_is_shown_at_its_line_and_mended_by_a_click(visit: Visit) -> None:
    page = visit()
    write(page, TYPO)
    page.get_by_label("N", exact=True).fill("64")
    compile_now(page)

    expect(page.locator("#state")).to_have_class("failed")
    expect(page.locator(f"{SOURCE} .cm-lintRange-error")).to_have_text("tl.arang")
    said = page.get_by_label("Diagnostics").get_by_role("listitem")
    expect(said).to_contain_text("Did you mean tl.arange?")
    said.get_by_role("button", name="Write tl.arange").click()
    compile_now(page)

    expect(page.locator("#state")).to_contain_text("double for cuda:90 succeeded")
    expect(page.get_by_label("Diagnostics").get_by_role("listitem")).to_have_count(0)


def test_what_can_be_written_after_tl_is_offered_with_its_signature(visit: Visit) -> None:
    page = visit()
    write(page, HEAD + "@triton.jit\ndef k(x_ptr):\n    tl.aran")
    page.keyboard.type("g")

    offered = page.locator(".cm-tooltip-autocomplete li").first
    expect(offered).to_contain_text("arange(start, end)")
    offered.click()
    expect(page.locator(SOURCE)).to_contain_text("tl.arange")


def test_the_forms_follow_the_source(visit: Visit) -> None:
    page = visit()
    write(page, TYPO.replace("arang(", "arange("))

    expect(page.get_by_label("x_ptr", exact=True)).to_have_value("*fp32:16")
    expect(page.get_by_label("n_elements", exact=True)).to_have_count(0)
    page.get_by_label("N", exact=True).fill("64")
    compile_now(page)
    expect(page.locator("#state")).to_contain_text("double for cuda:90 succeeded")


def test_what_is_typed_into_a_form_counts_after_an_edit_that_leaves_it_as_it_is(
    visit: Visit,
) -> None:
    page = visit()
    with page.expect_response("**/v1/inspect*"):
        write(page, source_of(page).replace("x + y", "x - y"))
    page.wait_for_timeout(200)  # until the form has updated
    page.get_by_label("BLOCK_SIZE", exact=True).fill("256")
    compile_now(page)

    expect(pane(page, "TTIR")).to_contain_text("end = 256 : i32")


def test_of_several_kernels_one_is_chosen_by_its_chip(visit: Visit) -> None:
    page = visit()
    write(page, TWO_KERNELS)
    kernels = page.get_by_role("group", name="Kernels").get_by_role("button")
    expect(kernels).to_have_text(["one", "two"])
    expect(page.get_by_label("N", exact=True)).to_have_value("32")

    kernels.last.click()
    page.get_by_label("scale", exact=True).fill("fp32")
    page.get_by_label("M", exact=True).fill("128")
    compile_now(page)

    expect(page.locator("#state")).to_contain_text("two for cuda:90 succeeded")


def test_options_come_from_the_deployment(visit: Visit) -> None:
    page = visit()
    page.get_by_label("num_warps", exact=True).select_option("8")
    page.get_by_label("Target", exact=True).select_option("hip:gfx942")
    expect(page.get_by_label("waves_per_eu", exact=True)).to_have_count(1)
    compile_now(page)

    expect(page.locator("#state")).to_contain_text("add_kernel for hip:gfx942 succeeded")


def test_an_equal_request_waits_until_the_one_before_is_withdrawn(visit: Visit) -> None:
    page = visit()
    withdrawals: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "DELETE":
            withdrawals.append(route)
        else:
            route.continue_()

    page.route("**/v1/compilations/*", hold)
    with page.expect_response("**/v1/compilations?*"):
        write(page, SLOW)
    page.get_by_label("num_warps", exact=True).select_option("8")
    asked(page, withdrawals)
    page.get_by_label("num_warps", exact=True).select_option("4")
    page.wait_for_timeout(SETTLED_MS)
    for route in withdrawals:
        route.continue_()

    expect(page.locator("#state")).to_contain_text("double for cuda:90 succeeded")


def test_ttir_is_highlighted_and_compiles(visit: Visit) -> None:
    page = visit()
    page.get_by_label("Language", exact=True).select_option("ttir")
    write(page, "module {\n  tt.func public @k(%x: !tt.ptr<f32>) {\n    tt.return\n  }\n}\n")
    compile_now(page)

    expect(page.locator("#state")).to_contain_text("for cuda:90 succeeded")
    expect(page.locator(f"{SOURCE} .tok-keyword").filter(has_text="tt.func")).to_have_count(1)


def test_python_that_is_compiled_as_ir_is_replaced_with_the_ir_of_its_kernel(visit: Visit) -> None:
    page = visit()
    page.get_by_label("Language").select_option("ttir")
    errors = page.get_by_role("list", name="Diagnostics").get_by_role("listitem")
    expect(errors).to_have_text(
        "The text is Python, not TTIR. Replace it with the TTIR of add_kernel"
    )
    errors.get_by_role("button").click()

    expect(page.locator(SOURCE)).to_contain_text("tt.func public @add_kernel")
    expect(errors).to_have_count(0)


def test_text_of_a_kernel_is_never_markup(visit: Visit) -> None:
    page = visit()
    markup = "<img src=x onerror=document.title='taken'>"
    write(page, HEAD + f'@triton.jit\ndef k(x_ptr):\n    tl.static_assert(False, "{markup}")\n')
    compile_now(page)

    expect(page.get_by_label("Diagnostics")).to_contain_text(markup)
    assert "taken" not in page.title()
    expect(page.locator("img")).to_have_count(0)


def test_typing_over_everything_breaks_no_rule_of_the_page(visit: Visit) -> None:
    page = visit()
    page.locator(SOURCE).focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("x")

    expect(page.locator(f"{SOURCE} .cm-line")).to_have_text(["x"])
