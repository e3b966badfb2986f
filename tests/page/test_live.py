"""The page compiles while one types, and nothing that it shows is of another text."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.page.conftest import Visit, compiled
from tests.page.pages import (
    SOURCE,
    asked,
    click_line,
    compile_now,
    held,
    pane,
    source_of,
    text_of,
    write,
)
from tests.page.test_everywhere import violations
from tests.waiting import wait_until

SLOW = (
    "import triton\nimport triton.language as tl\n\n"
    "@triton.jit\ndef slow(x_ptr, N: tl.constexpr):\n"
)


def type_at_line(page: Page, number: int, text: str) -> None:
    """Type at the beginning of a line of the source."""
    page.locator(SOURCE).focus()
    page.keyboard.press("Control+Home")
    for _ in range(number - 1):
        page.keyboard.press("ArrowDown")
    page.keyboard.insert_text(text)


def slow_kernel(count: int) -> str:
    """Return a kernel whose unrolled loop takes seconds to compile."""
    return SLOW + (
        f"    x = tl.load(x_ptr + tl.arange(0, N))\n    for i in tl.static_range({count}):\n"
        "        x = tl.sin(x) + i\n    tl.store(x_ptr + tl.arange(0, N), x)\n"
    )


def test_a_pause_in_typing_compiles_and_until_then_the_panes_say_so(visit: Visit) -> None:
    page = visit()
    requests = held(page, "compilations?")
    type_at_line(page, 7, "    # a new line\n")
    expect(page.locator("#state")).to_have_text("Source changed.")
    expect(pane(page, "PTX")).to_contain_text("Source changed.")
    request = asked(page, requests)
    expect(pane(page, "PTX").locator(".outdated")).to_be_visible()
    request.continue_()

    compiled(page)
    expect(pane(page, "PTX").locator(".outdated")).to_have_count(0)


def test_a_form_compiles_too_unless_the_switch_is_off(visit: Visit) -> None:
    page = visit()
    page.get_by_label("BLOCK_SIZE", exact=True).fill("256")
    expect(pane(page, "TTIR")).to_contain_text("end = 256 : i32")

    page.get_by_label("Live").uncheck()
    page.get_by_label("BLOCK_SIZE", exact=True).fill("512")
    expect(page.locator("#state")).to_have_text("Forms changed. Ctrl+Enter compiles.")
    page.wait_for_timeout(1000)  # longer than a pause in typing
    expect(pane(page, "TTIR")).to_contain_text("end = 256 : i32")
    compile_now(page)
    expect(pane(page, "TTIR")).to_contain_text("end = 512 : i32")


def test_what_was_superseded_is_withdrawn(visit: Visit) -> None:
    page = visit()
    withdrawn: list[str] = []
    page.on("request", lambda sent: withdrawn.append(sent.url) if sent.method == "DELETE" else None)
    with page.expect_request("**/events"):
        write(page, slow_kernel(160))
        page.get_by_label("N", exact=True).fill("1024")
    write(page, slow_kernel(1))
    compiled(page)

    wait_until(lambda: page.wait_for_timeout(20) or withdrawn, "the first job is withdrawn")
    expect(page.locator("#state")).to_contain_text("slow for cuda:90 succeeded")


def test_a_wait_shows_its_stage_and_seconds_and_can_be_cancelled(visit: Visit) -> None:
    page = visit()
    write(page, slow_kernel(200))
    page.get_by_label("N", exact=True).fill("2048")
    expect(page.locator("#state.running")).to_have_text(re.compile("Compiling: "))
    expect(page.locator(".clock")).to_have_text(re.compile(r"^\d+(\.\d)? s$"))
    with page.expect_request(lambda sent: sent.method == "DELETE"):
        page.get_by_role("button", name="Cancel").click()

    expect(page.locator("#state")).to_have_text("Cancelled.")


def test_a_place_in_the_queue_is_shown(visit: Visit) -> None:
    page = visit()

    def queue(route: Route) -> None:
        """Answer as a service whose workers are busy."""
        answer = route.fetch()
        body: dict[str, Any] = answer.json() | {"state": "queued", "queue_position": 3}
        route.fulfill(status=202, headers=answer.headers, body=json.dumps(body))

    page.route("**/v1/compilations?wait=0", queue)
    page.route("**/events", lambda route: None)  # they never come
    type_at_line(page, 7, "    # again\n")

    expect(page.locator("#state")).to_have_text("Queued, position 3")


def test_marks_and_links_follow_every_edit(visit: Visit) -> None:
    page = visit()
    text_of(page, "TTIR")
    page.locator(f"{SOURCE} .hue").first.wait_for()
    held(page, "compilations?")
    type_at_line(page, 1, "# one\n# two\n")
    type_at_line(page, 12, "    # three\n")
    hued = page.locator(f"{SOURCE} .hue").all_inner_texts()
    assert not [line for line in hued if "# " in line]

    load = page.locator(f"{SOURCE} .cm-line").filter(has_text="y = tl.load")
    load.click(position={"x": 40, "y": 6})
    marked = pane(page, "TTIR").locator(".cm-line.selected").filter(has_text="tt.load")
    expect(marked).to_have_count(1)
    expect(marked).to_contain_text("%y")
    click_line(pane(page, "TTIR").locator(".cm-line"), "tt.store")
    expect(page.locator(f"{SOURCE} .cm-line.selected")).to_have_text(re.compile("tl.store"))


def test_a_diagnostic_follows_its_text(visit: Visit) -> None:
    page = visit()
    write(page, source_of(page).replace("tl.arange", "tl.arang"))
    fix = page.get_by_label("Diagnostics").get_by_role("button", name="Write tl.arange")
    fix.wait_for()
    held(page, "compilations?")
    type_at_line(page, 1, "# one\n# two\n")
    fix.click()

    expect(page.locator(SOURCE)).to_contain_text("BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)")


def test_after_a_refusal_no_old_result_looks_current(visit: Visit) -> None:
    page = visit(refused=True)
    text_of(page, "PTX")
    page.get_by_label("x_ptr", exact=True).fill("*fp23:16")
    compiled(page, "failed")

    expect(pane(page, "PTX").locator(".outdated")).to_be_visible()
    expect(pane(page, "PTX")).to_contain_text("Not compiled.")
    assert violations(page) == []  # what is dimmed can still be read
    expect(page.locator(f"{SOURCE} .hue")).to_have_count(0)


def test_a_wrong_field_says_so_once_and_offers_the_right_spelling(visit: Visit) -> None:
    page = visit(refused=True)
    field = page.get_by_label("x_ptr", exact=True)
    field.fill("*fp23:16")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description('"*fp23" is not a Triton type. Write *fp32:16')
    assert "/signature" not in page.locator("body").inner_text()
    expect(page.get_by_text("is not a Triton type")).to_have_count(1)
    page.get_by_role("button", name="Write *fp32:16").click()

    compiled(page)
    expect(field).not_to_have_attribute("aria-invalid", "true")


def test_a_parameter_without_a_type_says_so_at_its_field(visit: Visit) -> None:
    page = visit()
    page.get_by_label("y_ptr", exact=True).fill("")
    compiled(page, "failed")

    expect(page.get_by_label("y_ptr", exact=True)).to_have_accessible_description(
        "Give y_ptr a type."
    )
    expect(page.get_by_label("Diagnostics").get_by_role("listitem")).to_have_count(0)


def test_a_wrong_field_of_a_launch_says_so_there(visit: Visit) -> None:
    page = visit(refused=True)
    page.get_by_label("Add pane").select_option(label="Run")
    run = pane(page, "Run")
    shape = run.get_by_role("group", name="x_ptr").get_by_label("shape")
    shape.fill("0.5")
    run.get_by_label("Grid").fill("cdiv(n_elements)")
    run.get_by_role("button", name="Run", exact=True).click()

    expect(shape).to_have_attribute("aria-invalid", "true")
    expect(run.get_by_label("Grid")).to_have_accessible_description(re.compile("takes 2 arguments"))
    expect(run.get_by_role("status")).to_have_text("Not run: fix the red field.")


def test_every_example_runs_green_at_the_first_click_with_a_picture(visit: Visit) -> None:
    page = visit()
    examples = page.get_by_label("Examples", exact=True)
    titles = examples.locator(":scope > option").all_inner_texts()[1:]
    assert len(titles) >= 4
    for title in titles:
        page.evaluate("document.getElementById('state').className = 'waiting'")
        examples.select_option(label=title)
        compiled(page)
        run = pane(page, "Run")
        run.get_by_role("button", name="Run", exact=True).click()
        expect(run.get_by_role("status"), title).to_have_text("passed")
        expect(run, title).to_contain_text("matches the reference")
        expect(pane(page, "See").locator("canvas").first, title).to_be_visible(timeout=30_000)


def test_what_was_never_written_is_asked_about(visit: Visit) -> None:
    page = visit()
    page.get_by_label("Add pane").select_option(label="Run")
    run = pane(page, "Run")
    run.get_by_label("Grid").fill("2")
    run.get_by_role("button", name="Run", exact=True).click()

    asked = "1952 elements were never written (first output_ptr[2048]): does the grid cover them?"
    expect(run).to_contain_text(asked)
    expect(page.locator(f"{SOURCE} .note.bad").last).to_have_text(asked)
    assert "NaN" not in run.inner_text()


def test_a_kernel_that_waits_for_a_worker_is_compiled_once_there_is_one(visit: Visit) -> None:
    page = visit(refused=True)
    problem = {"slug": "no_toolchain", "title": "No compiler has registered yet", "detail": "Wait"}
    refused: list[Route] = []

    def refuse(route: Route) -> None:
        refused.append(route)
        route.fulfill(status=503, content_type="application/json", body=json.dumps(problem))

    page.route("**/v1/compilations?wait=0", refuse)
    type_at_line(page, 7, "    # again\n")
    compiled(page, "failed")
    page.unroute("**/v1/compilations?wait=0")

    compiled(page)
    assert refused


def test_targets_are_asked_for_again_once_the_service_is_back(visit: Visit) -> None:
    page = visit(waits=False, refused=True)
    problem = {"slug": "store_unavailable", "title": "The store is away", "detail": "Wait"}
    answer = {"status": 503, "content_type": "application/json", "body": json.dumps(problem)}
    page.route("**/v1/targets*", lambda route: route.fulfill(**answer), times=1)
    page.reload()

    compiled(page)
    expect(page.get_by_label("Target").locator("option[value='hip:gfx942']")).to_have_count(1)
