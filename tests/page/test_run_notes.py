"""A run's findings appear at lines of the editor; each case has a verdict."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Locator, Page, Route, expect

from tests.page.conftest import Visit, compiled
from tests.page.pages import SOURCE, add_pane, asked, compile_now, held, pane, source_of, write
from tests.page.test_everywhere import violations

RECORDED: dict[str, Any] = {
    "verdict": "passed",
    "device": {"target": "cuda:90", "model": "NVIDIA H200", "driver": None, "interpreter": False},
    "timing": {
        "median_us": 5.44, "interval_us": [5.12, 5.76], "mean_us": 5.5, "min_us": 5.12,
        "p20_us": 5.3, "p80_us": 5.7, "std_us": 0.2, "repeats": 120, "noisy": False,
    },
    "profile": {
        "samples": 318,
        "lines": [
            {"file": "user.py", "line": 10, "samples": 170, "samples_percent": 53.46,
             "inclusive_samples": 214, "instructions": 139264, "top_stall": "long_scoreboard"},
            {"file": "user.py", "line": 12, "samples": 40, "samples_percent": 12.58,
             "inclusive_samples": 40, "instructions": 4096, "top_stall": "lg_throttle"},
            {"file": None, "line": None, "samples": 8, "samples_percent": 2.52,
             "inclusive_samples": 8, "instructions": 512, "top_stall": None},
        ],
        "sass": [], "sass_left_out": 0,
    },
}  # fmt: skip
"""Times and profile of an H200, from docs/reference/launches-gpu.md.

There is no GPU here, so the test puts them into the answer of a CPU launch.
"""


def notes(page: Page) -> Locator:
    return page.locator(".left .editor .note")


def note_below(page: Page, text: str) -> Locator:
    """Return the note below the source line that holds `text`."""
    line = page.locator(f"{SOURCE} .cm-line").filter(has_text=text)
    return line.locator("xpath=following-sibling::*[1][contains(@class, 'note')]")


def fill_in(page: Page, elements: int) -> Locator:
    """Open the pane *Run* with `elements` of the first example."""
    run = add_pane(page, "Run")
    for name in ("x_ptr", "y_ptr", "output_ptr"):
        run.get_by_role("group", name=name).get_by_label("shape").fill(str(elements))
    run.get_by_role("group", name="n_elements").get_by_label("value").fill(str(elements))
    return run


def start(run: Locator, verdict: str) -> None:
    run.get_by_role("button", name="Run", exact=True).click()
    expect(run.get_by_role("status")).to_have_text(verdict)


def test_verdict_and_findings_stand_at_their_lines_until_the_next_run(visit: Visit) -> None:
    page = visit()
    source = source_of(page)
    write(page, source.replace(", mask=mask)", ")"))
    run = fill_in(page, 1000)
    start(run, "out of bounds")

    expect(note_below(page, "def add_kernel")).to_have_text("out of bounds")
    expect(note_below(page, "x = tl.load(x_ptr")).to_contain_text("reads x_ptr[1000]")
    expect(note_below(page, "y = tl.load(y_ptr")).to_contain_text("reads y_ptr[1000]")
    expect(note_below(page, "tl.store(output_ptr")).to_contain_text("writes output_ptr[1000]")
    expect(notes(page)).to_have_count(4)
    width = page.locator(".left .editor").bounding_box()["width"]
    assert all(note.bounding_box()["width"] < width for note in notes(page).all())
    assert violations(page) == []
    write(page, source)
    start(run, "passed")
    expect(notes(page)).to_have_text(["passed"])


def test_what_differs_first_stands_at_the_line_that_wrote_it(visit: Visit) -> None:
    page = visit()
    add_pane(page, "See")
    write(page, source_of(page).replace("x + y", "x - y"))
    run = fill_in(page, 1000)
    with page.expect_request("**/v1/launches*") as launched:
        start(run, "mismatch")

    expect(note_below(page, "tl.store(output_ptr")).to_contain_text(
        "program (0, 0, 0) writes output_ptr[0] = "
    )
    expect(note_below(page, "tl.store(output_ptr")).to_contain_text("(1000 differ)")
    # one launch is judged and drawn
    expect(pane(page, "See").get_by_role("status")).to_have_text("3 accesses.")
    asked = json.loads(launched.value.post_data or "")
    assert asked["trace"]["values"]
    assert "return x_ptr + y_ptr" in asked["reference"]["source"]


def test_one_launch_is_both_judged_and_drawn(visit: Visit) -> None:
    page = visit()
    add_pane(page, "See")
    run = fill_in(page, 1000)
    posted: list[str] = []
    page.on("request", lambda each: posted.append(each.url) if each.method == "POST" else None)
    start(run, "passed")
    expect(pane(page, "See").get_by_role("status")).to_have_text("3 accesses.")

    assert len([url for url in posted if "/v1/launches" in url]) == 1


def test_cases_have_a_verdict_each_and_one_is_looked_at(visit: Visit) -> None:
    page = visit()
    write(page, source_of(page).replace("mask = offsets < n_elements", "mask = offsets < 700"))
    run = fill_in(page, 500)
    run.get_by_role("button", name="Add a case").click()
    case = run.get_by_role("group", name="case 2")
    for name in ("x_ptr", "y_ptr", "output_ptr"):
        case.get_by_label(f"{name} shape").fill("700")
    case.get_by_label("n_elements").fill("700")
    case.get_by_label("name", exact=True).fill("seven hundred")
    run.get_by_role("button", name="Add a case").click()
    run.get_by_role("button", name="Remove case 3").click()
    start(run, "out of bounds")

    expect(run.get_by_role("row", name="as above out of bounds")).to_be_visible()
    expect(run.get_by_role("row", name="seven hundred passed 0")).to_be_visible()
    expect(note_below(page, "def add_kernel")).to_have_text("out of bounds")
    run.get_by_role("button", name="seven hundred", exact=True).click()
    expect(run).to_contain_text("matches the reference")
    expect(notes(page)).to_have_text(["passed"])
    assert violations(page) == []

    page.reload()
    again = pane(page, "Run").get_by_role("group", name="seven hundred")
    expect(again.get_by_label("n_elements")).to_have_value("700")


def test_who_types_into_the_launch_is_not_interrupted_by_an_inspection(visit: Visit) -> None:
    page = visit()
    run = fill_in(page, 500)
    inspections = held(page, "inspect", times=1)
    write(page, source_of(page).replace("mask = offsets < n_elements", "mask = offsets < 700"))
    inspection = asked(page, inspections)
    shape = run.get_by_role("group", name="y_ptr").get_by_label("shape")
    shape.press("Control+a")
    page.keyboard.type("70")
    inspection.continue_()
    compiled(page)
    page.keyboard.type("0")

    expect(shape).to_be_focused()
    expect(shape).to_have_value("700")


def test_the_case_that_is_chosen_is_drawn_with_its_own_heat_map(visit: Visit) -> None:
    page = visit()
    see = add_pane(page, "See")
    write(page, source_of(page).replace("x + y", "x + y * (n_elements < 600)"))
    page.get_by_label("BLOCK_SIZE", exact=True).fill("512")
    run = fill_in(page, 500)
    run.get_by_role("button", name="Add a case").click()
    case = run.get_by_role("group", name="case 2")
    for name in ("x_ptr", "y_ptr", "output_ptr"):
        case.get_by_label(f"{name} shape").fill("700")
    case.get_by_label("n_elements").fill("700")
    run.get_by_label("Grid").fill("cdiv(n_elements, BLOCK_SIZE)")
    start(run, "mismatch")

    # the worst case is shown first
    expect(run.get_by_role("img", name=re.compile("Where output_ptr differs"))).to_be_visible()
    expect(see.get_by_role("status")).to_have_text("6 accesses.")
    run.get_by_role("button", name="as above").click()
    expect(run.get_by_role("img")).to_have_count(0)
    expect(see.get_by_role("status")).to_have_text("3 accesses.")


def test_lines_that_were_profiled_are_as_hot_as_they_are_and_times_have_an_interval(
    visit: Visit,
) -> None:
    page = visit()
    run = fill_in(page, 1000)
    asked: list[Any] = []

    def as_recorded(route: Route) -> None:
        body = json.loads(route.request.post_data or "")
        asked.append(body)
        cpu = {name: value for name, value in body.items() if name not in {"timing", "profile"}}
        answer = route.fetch(post_data=json.dumps(cpu | {"device": "cpu"}))
        route.fulfill(response=answer, json=answer.json() | RECORDED)

    page.route("**/v1/launches*", as_recorded)
    run.get_by_label("Device").select_option("auto")
    run.get_by_label("profile by line").check()
    start(run, "passed")

    assert asked[0]["profile"] == "lines"
    expect(run).to_contain_text("median 5.44 µs (5.12 to 5.76 µs), 120 repeats")
    hot = page.locator(f"{SOURCE} .cm-line.hot")
    expect(hot).to_have_count(2)
    expect(hot.first).to_contain_text("x = tl.load(x_ptr")
    expect(hot.first).to_contain_text("53.5 % long scoreboard")
    expect(hot.first).to_have_class(re.compile("hot-5"))
    expect(hot.last).to_have_class(re.compile("hot-2"))
    assert violations(page) == []


def test_notes_go_with_what_is_compiled_anew(visit: Visit) -> None:
    page = visit()
    run = fill_in(page, 1000)
    start(run, "passed")
    page.get_by_label("Examples", exact=True).select_option(index=2)
    compile_now(page)

    expect(notes(page)).to_have_count(0)
