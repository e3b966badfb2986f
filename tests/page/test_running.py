"""Run a kernel on the CPU device, wrong and then right."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Route, expect

from tests.page.conftest import Visit
from tests.page.pages import SOURCE, add_pane, source_of, write


def test_a_wrong_kernel_has_a_map_of_where_it_differs(visit: Visit) -> None:
    page = visit()
    write(page, source_of(page).replace("x + y", "x - y"))
    run = add_pane(page, "Run")
    run.get_by_role("button", name="Run", exact=True).click()
    expect(run.get_by_role("status")).to_have_text("mismatch")
    expect(run).to_contain_text("differ from the reference, the first at [0]")
    run.get_by_role("img", name="Where output_ptr differs: ").hover()
    expect(run.locator("figcaption")).to_have_text(re.compile(r"Row 0, column \d+.*: \d+ differ"))


def test_a_missing_mask_is_found_at_its_line_and_mended(visit: Visit) -> None:
    page = visit()
    source = source_of(page)
    write(page, source.replace(", mask=mask)", ")"))
    run = add_pane(page, "Run")
    run.get_by_label("Grid").fill("1")
    for name in ("x_ptr", "y_ptr", "output_ptr"):
        run.get_by_role("group", name=name).get_by_label("shape").fill("1000")
    run.get_by_role("group", name="n_elements").get_by_label("value").fill("1000")
    run.get_by_role("button", name="Run", exact=True).click()

    expect(run.get_by_role("status")).to_have_text("out of bounds")
    run.get_by_role("button", name="line 10").first.click()
    expect(page.locator(f"{SOURCE} .cm-activeLine")).to_contain_text("tl.load(x_ptr")

    write(page, source)
    run.get_by_role("button", name="Run", exact=True).click()
    expect(run.get_by_role("status")).to_have_text("passed")
    expect(run).to_contain_text("matches the reference")


RACING = """
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mine = tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0))
    before = tl.load(out_ptr)
    tl.store(out_ptr, before + mine)
""".lstrip()
"""Right, as long as the program instances run one after another."""


def test_the_verdict_is_in_sight_after_a_run_from_further_down(visit: Visit) -> None:
    run = add_pane(visit(), "Run")
    run.locator(".body").evaluate("each => { each.scrollTop = each.scrollHeight }")
    run.get_by_role("button", name="Run", exact=True).click()

    expect(run.get_by_role("status")).to_be_in_viewport()


def test_a_race_between_program_instances_is_the_verdict_with_both_lines(visit: Visit) -> None:
    page = visit()
    write(page, RACING)
    run = add_pane(page, "Run")
    run.get_by_role("group", name="out_ptr").get_by_label("shape").fill("1")
    run.get_by_role("group", name="out_ptr").get_by_label("filled with").select_option("zeros")
    run.get_by_label("Grid").fill("16")
    run.get_by_role("button", name="Run", exact=True).click()

    expect(run.get_by_role("status")).to_have_text("race")
    race = run.locator(".diagnostics li").first
    expect(race.get_by_role("button", name="line 9")).to_be_visible()
    expect(run).not_to_contain_text("does the grid cover")
    race.get_by_role("button", name="line 10").click()
    expect(page.locator(f"{SOURCE} .cm-activeLine")).to_contain_text("tl.store(out_ptr")


def test_a_gpu_without_the_tool_for_races_runs_without_the_check(visit: Visit) -> None:
    page = visit(refused=True)
    run = add_pane(page, "Run")
    refusal = {"pointer": "/checks/0", "message": "racecheck needs compute-sanitizer"}
    on_gpu = {"model": "NVIDIA H200", "interpreter": False}

    def answer(route: Route) -> None:
        body = json.loads(route.request.post_data or "")
        if body.get("checks"):
            problem = {"slug": "invalid_request", "title": "Invalid", "errors": [refusal]}
            route.fulfill(status=422, json=problem)
        else:
            ran = route.fetch(post_data=json.dumps(body | {"device": "cpu", "timing": None}))
            route.fulfill(response=ran, json=ran.json() | {"device": on_gpu})

    page.route("**/v1/launches*", answer)
    run.get_by_label("Device").select_option("auto")
    run.get_by_role("button", name="Run", exact=True).click()

    expect(run).to_contain_text("A GPU shows no races between program instances")
    expect(run.get_by_role("status")).not_to_have_text("Running …")


def test_a_grid_with_an_unknown_name_is_refused_at_its_field(visit: Visit) -> None:
    run = add_pane(visit(), "Run")
    run.get_by_label("Grid").fill("cdiv(n, BLOCK_SIZE)")
    run.get_by_role("button", name="Run", exact=True).click()

    expect(run.get_by_role("status")).to_have_text("Not run: fix the red field.")
    expect(run.get_by_label("Grid")).to_have_attribute("aria-invalid", "true")
    expect(run.locator(".field-error")).to_have_text(
        '"cdiv(n, BLOCK_SIZE)": there is no value named "n".'
    )


def test_a_failed_reference_names_its_own_line_once(visit: Visit) -> None:
    page = visit()
    run = add_pane(page, "Run")
    run.locator(".reference .cm-content").fill(
        "def reference(x_ptr, **_):\n return x_ptr + nothing"
    )
    run.get_by_role("button", name="Run", exact=True).click()

    expect(run.get_by_role("status")).to_have_text("invalid reference")
    expect(run.locator(".diagnostics li")).to_have_text(
        "invalid reference line 2 of the reference: NameError: name 'nothing' is not defined"
    )
    expect(run.locator(".diagnostics").get_by_role("button")).to_have_count(0)


def test_a_reference_needs_no_import_of_numpy(visit: Visit) -> None:
    page = visit()
    run = add_pane(page, "Run")
    text = "def reference(x_ptr, y_ptr, **_):\n return np.add(x_ptr, y_ptr)"
    run.locator(".reference .cm-content").fill(text)
    run.get_by_role("button", name="Run", exact=True).click()

    expect(run.get_by_role("status")).to_have_text("passed")


HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
PAST_THE_END = (
    f"{HEAD}def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i <= n), mask=i <= n)\n"
)


def test_guessed_sizes_and_grid_show_what_a_mask_lacks_and_are_marked(visit: Visit) -> None:
    page = visit()
    write(page, PAST_THE_END)
    run = add_pane(page, "Run")
    expect(run.get_by_label("Grid")).to_have_value("cdiv(n, BLOCK)")
    guesses = run.locator("p", has=page.locator(".guessed"))
    expect(guesses).to_have_text("guessed x_ptr, y_ptr, n, Grid")
    run.get_by_role("button", name="Run", exact=True).click()

    expect(run.get_by_role("status")).to_have_text("out of bounds")
    expect(run).to_contain_text("x_ptr[1000], 1 element past its end")
    expect(run).to_contain_text("sizes below are guesses")
    for name in ("x_ptr", "y_ptr"):
        run.get_by_role("group", name=name).get_by_label("shape").fill("1024")
    run.get_by_label("Grid").fill("2")
    expect(guesses).to_have_text("guessed n")


def test_the_launch_of_a_file_fills_sizes_grid_and_empty_texts(visit: Visit) -> None:
    page = visit()
    write(
        page,
        f"import torch\n{HEAD}def rows(x_ptr, stride, KIND: tl.constexpr, N: tl.constexpr):\n"
        "    x = x_ptr + tl.program_id(0) * stride + tl.arange(0, N)\n"
        "    tl.store(x, 1.0 if KIND == '' else 2.0)\n\n\n"
        "x = torch.rand(5, 64, device='cuda')\n"
        "rows[(5,)](x, x.stride(0), KIND='', N=64)\n",
    )
    run = add_pane(page, "Run")
    expect(run.get_by_label("Grid")).to_have_value("5")
    expect(page.get_by_label("KIND", exact=True)).to_have_value('""')
    expect(run.get_by_role("group", name="x_ptr").get_by_label("shape")).to_have_value("5, 64")
    expect(run.get_by_role("group", name="stride").get_by_label("value")).to_have_value("64")
    expect(run.locator(".guessed")).to_be_hidden()
    run.get_by_role("button", name="Run", exact=True).click()

    expect(run.get_by_role("status")).to_have_text("ran; no reference to compare with")
