"""A shared link shows another person the same page; a reload loses nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Visit, compiled
from tests.page.pages import SOURCE, add_pane, compile_now, pane
from tests.waiting import wait_until

FORMS = {
    "curl": '"state":"succeeded"',
    "Python": '"state": "succeeded"',
    "tritonc": "add_kernel",
    "JSON": "",
}


def permalink(page: Page) -> str:
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_label("Permalink")).not_to_have_value("")
    link = page.get_by_label("Permalink").input_value()
    page.get_by_role("button", name="Close", exact=True).click()
    return link


def test_a_second_browser_sees_the_same(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Keep for comparison").click()
    page.get_by_label("BLOCK_SIZE", exact=True).fill("256")
    page.get_by_label("num_warps", exact=True).select_option("2")
    compile_now(page)
    add_pane(page, "SASS")

    other = visit(permalink(page))

    expect(other.get_by_label("BLOCK_SIZE", exact=True)).to_have_value("256")
    expect(other.get_by_label("num_warps", exact=True)).to_have_value("2")
    expect(pane(other, "SASS").locator(".cm-line").first).to_be_visible()
    expect(pane(other, "Comparison").get_by_role("row", name="BLOCK_SIZE 1024 256")).to_be_visible()


def test_the_same_state_has_the_same_link(visit: Visit) -> None:
    assert permalink(visit()) == permalink(visit())


def test_a_draft_survives_a_reload(visit: Visit) -> None:
    page = visit()
    page.get_by_label("BLOCK_SIZE", exact=True).fill("128")
    page.locator(SOURCE).focus()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("# mine\n")
    draft = "localStorage.getItem('tritond-drafts') ?? ''"
    wait_until(lambda: "# mine" in page.evaluate(draft), "the draft is kept")
    page.reload()
    compiled(page)

    expect(page.locator(f"{SOURCE} .cm-line").first).to_have_text("# mine")
    expect(page.get_by_label("BLOCK_SIZE", exact=True)).to_have_value("128")


def test_a_shared_state_survives_a_reload_and_an_edit_leaves_it_as_it_is(visit: Visit) -> None:
    page = visit()
    link = permalink(page)
    page.reload()
    compiled(page)
    assert page.url == link
    page.locator(SOURCE).focus()
    page.keyboard.insert_text("# another\n")
    wait_until(lambda: page.evaluate("location.hash") == "", "what was edited has no link yet")

    other = visit(link)
    expect(other.locator(SOURCE)).not_to_contain_text("# another")


def test_a_link_to_nothing_says_so(visit: Visit) -> None:
    page = visit("#sha256:" + "0" * 64, waits=False, refused=True)

    expect(page.get_by_role("status").nth(1)).to_contain_text("This link is unknown or expired")
    expect(page.locator("#state")).to_contain_text("add_kernel for cuda:90 succeeded")


@pytest.mark.parametrize(("form", "reported"), FORMS.items())
def test_the_request_can_be_taken_away_and_run(
    visit: Visit, tmp_path: Path, form: str, reported: str
) -> None:
    page = visit()
    page.get_by_label("num_warps", exact=True).select_option("8")
    page.get_by_role("button", name="Share").click()
    page.get_by_label("Request as").select_option(form)
    taken = page.get_by_label("Request", exact=True).input_value()

    if form == "JSON":
        assert json.loads(taken)["options"] == {"num_warps": 8}
        return
    program = [sys.executable, "-c"] if form == "Python" else ["bash", "-c"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [*program, taken], cwd=tmp_path, env={"PATH": path}, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert reported in done.stdout + done.stderr  # the place where tritonc names its artifacts
