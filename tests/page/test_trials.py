"""Settings that Explain offers to try: compiled or timed next to the present ones, and applied."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, Route, expect

from tests.page.conftest import Visit
from tests.page.pages import add_pane, compile_now, source_of, write
from tests.page.test_everywhere import violations

H100 = {"target": "cuda:90", "model": "NVIDIA H100", "count": 1}


def run_vector_add(page: Page) -> None:
    """Fill in a launch whose grid follows the block size."""
    run = add_pane(page, "Run")
    run.get_by_label("Grid").fill("cdiv(n_elements, BLOCK_SIZE)")


def test_a_setting_is_tried_next_to_the_present_one_and_applied_with_a_click(visit: Visit) -> None:
    page = visit()
    shown = add_pane(page, "Explain")
    shown.get_by_role("button", name="Try num_warps 4 → 8").click()

    tried = shown.get_by_role("row", name="num_warps 4 → 8")
    expect(tried.locator(".delta").last).to_have_text(re.compile(r"[^\d]\d+"))
    expect(shown.get_by_role("row", name="current")).to_contain_text("100 %")
    expect(shown).to_contain_text("Nothing is timed")
    assert "best" not in shown.inner_text().lower()
    assert violations(page) == []
    tried.get_by_role("button", name="Apply").click()
    expect(shown.get_by_role("button", name="Try num_warps 8 → 16")).to_be_visible()
    expect(page.get_by_label("num_warps", exact=True)).to_have_value("8")


def test_types_that_allow_wide_accesses_are_offered_where_accesses_are_narrow(visit: Visit) -> None:
    page = visit()
    page.get_by_label("n_elements", exact=True).fill("i32")
    shown = add_pane(page, "Explain")
    shown.get_by_role("button", name="Try n_elements divisible by 16").click()
    shown.get_by_role("button", name="Apply n_elements divisible by 16").click()

    expect(page.get_by_label("n_elements", exact=True)).to_have_value("i32:16")
    expect(shown.get_by_role("button", name="n_elements divisible by 16")).to_have_count(0)


def test_a_setting_that_does_not_compile_says_why(visit: Visit) -> None:
    page = visit()
    start = "    tl.static_assert(BLOCK_SIZE > 512)\n    offsets ="
    write(page, source_of(page).replace("    offsets =", start, 1))
    compile_now(page)
    shown = add_pane(page, "Explain")
    shown.get_by_role("button", name="Try BLOCK_SIZE 1024 → 512").click()

    row = shown.get_by_role("row", name="BLOCK_SIZE 1024 → 512")
    expect(row).to_contain_text("The kernel does not compile")
    expect(row.get_by_role("button")).to_have_count(0)


def test_where_a_gpu_can_run_it_both_are_timed_with_the_launch_of_the_run_pane(
    visit: Visit,
) -> None:
    page = visit()
    keys: list[str] = []

    def run(route: Route) -> None:
        body = json.loads(route.request.post_data or "")
        assert body["device"] == "gpu"
        assert "checks" not in body
        keys.append(body["compilation_key"])
        ran = route.fetch(post_data=json.dumps(body | {"device": "cpu", "timing": None}))
        middle = 10.0 if len(keys) == 1 else 8.0
        timing = {"median_us": middle, "interval_us": [middle - 0.5, middle + 0.5]}
        route.fulfill(response=ran, json=ran.json() | {"timing": timing})

    page.route("**/v1/devices", lambda route: route.fulfill(json={"devices": [H100]}))
    page.route("**/v1/launches*", run)
    run_vector_add(page)
    shown = add_pane(page, "Explain")
    expect(shown).to_contain_text("Timed on NVIDIA H100, with the launch in the Run pane")
    shown.get_by_role("button", name="Try num_stages 3 → 4").click()

    row = shown.get_by_role("row", name="num_stages 3 → 4")
    expect(row.locator("td").last).to_have_text(re.compile(r"(10|8)\.00 µs \("))
    assert len(set(keys)) == 2


def test_another_block_is_not_timed_with_a_grid_that_does_not_follow_it(visit: Visit) -> None:
    page = visit(refused=True)
    page.route("**/v1/devices", lambda route: route.fulfill(json={"devices": [H100]}))
    run = add_pane(page, "Run")
    run.get_by_label("Grid").fill("4")
    shown = add_pane(page, "Explain")
    expect(shown).to_contain_text("Timed on NVIDIA H100")
    page.route("**/v1/launches*", lambda route: route.fulfill(status=503, json={"title": "Away"}))
    shown.get_by_role("button", name="Try BLOCK_SIZE 1024 → 512").click()

    row = shown.get_by_role("row", name="BLOCK_SIZE 1024 → 512")
    expect(row).to_contain_text("not timed: the grid does not depend on BLOCK_SIZE")
