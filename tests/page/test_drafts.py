"""No work is lost: drafts, undo, Back, and what others share."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from tests.page.conftest import Visit, compiled
from tests.page.lessons import ADD_IN_BLOCKS, open_lesson, run, solved, write_body
from tests.page.pages import SOURCE, pane, source_of, write
from tests.page.test_sharing import permalink
from tests.waiting import wait_until

MINE = (
    "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    "def mine(a_ptr, N: tl.constexpr):\n    tl.store(a_ptr + tl.arange(0, N), 1.0)\n"
)


def write_mine(page: Page) -> None:
    write(page, MINE)
    page.get_by_label("N", exact=True).fill("32")
    expect(page.locator("#state.succeeded")).to_contain_text("mine for")


def test_an_example_leaves_a_way_back_to_the_text_and_its_forms(visit: Visit) -> None:
    page = visit()
    write_mine(page)
    page.get_by_label("Examples", exact=True).select_option("Softmax")
    expect(page.locator("#state.succeeded")).to_contain_text("softmax_kernel for")
    page.get_by_role("button", name="Back to mine").click()

    expect(page.locator("#state.succeeded")).to_contain_text("mine for")
    assert source_of(page) == MINE
    expect(page.get_by_label("N", exact=True)).to_have_value("32")
    page.keyboard.press("Control+y")
    expect(page.get_by_label("n_columns", exact=True)).to_have_value("i32:16")


def test_a_draft_outlives_its_tab_and_what_was_opened_after_it(visit: Visit) -> None:
    page = visit()
    write_mine(page)
    kept = "localStorage.getItem('tritond-drafts') ?? ''"
    wait_until(lambda: "def mine" in page.evaluate(kept), "the draft is kept")
    page.get_by_label("Examples", exact=True).select_option("Softmax")
    expect(page.locator("#state.succeeded")).to_contain_text("softmax_kernel for")
    other = page.context.new_page()
    page.close()
    other.goto(page.url)
    compiled(other)

    expect(other.locator(SOURCE)).to_contain_text("def add_kernel")
    examples = other.get_by_label("Examples", exact=True)
    examples.focus()
    examples.select_option(label="mine, just now")
    expect(other.locator("#state.succeeded")).to_contain_text("mine for")
    expect(other.get_by_label("N", exact=True)).to_have_value("32")


def test_a_text_pasted_over_one_of_a_kernel_of_the_same_name_leaves_its_draft(visit: Visit) -> None:
    page = visit()
    write_mine(page)
    write(page, f"# another\n{MINE}")
    kept = "localStorage.getItem('tritond-drafts') ?? ''"
    wait_until(lambda: "# another" in page.evaluate(kept), "the draft is kept")
    page.reload()
    compiled(page)
    expect(page.locator(SOURCE)).to_contain_text("# another")
    examples = page.get_by_label("Examples", exact=True)
    examples.focus()
    examples.select_option(label="mine, 8 lines, just now")

    expect(page.locator(SOURCE)).not_to_contain_text("# another")
    assert source_of(page) == MINE


def test_deleting_the_whole_text_leaves_its_draft(visit: Visit) -> None:
    page = visit()
    write_mine(page)
    page.locator(SOURCE).focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(page.locator("#state")).to_contain_text("The editor is empty.")
    page.reload()
    compiled(page)

    assert source_of(page) == MINE


def test_back_leads_from_an_edit_to_the_shared_state_and_forward_to_the_edit(visit: Visit) -> None:
    page = visit()
    link = permalink(page)
    page.goto(page.url.split("#")[0] + "learn")
    page.goto(link)
    compiled(page)
    shared = source_of(page)
    page.locator(SOURCE).focus()
    page.keyboard.insert_text("# edited\n")
    kept = "localStorage.getItem('tritond-drafts') ?? ''"
    wait_until(lambda: "# edited" in page.evaluate(kept), "the draft is kept")
    page.go_back()
    expect(page.locator(SOURCE)).not_to_contain_text("# edited")
    assert (page.url, source_of(page)) == (link, shared)

    page.go_forward()
    expect(page.locator(SOURCE)).to_contain_text("# edited")


def test_a_short_link_leads_to_the_same(visit: Visit) -> None:
    page = visit()
    page.get_by_label("BLOCK_SIZE", exact=True).fill("64")
    page.get_by_role("button", name="Share").click()
    short = page.get_by_label("Short link")
    expect(short).to_have_value(re.compile("#[0-9a-f]{32}$"))

    other = visit(short.input_value())
    expect(other.get_by_label("BLOCK_SIZE", exact=True)).to_have_value("64")


def test_a_shared_lesson_shows_the_lesson_and_leaves_the_reader_s_own_work(visit: Visit) -> None:
    page = open_lesson(visit, "add_ten_in_blocks")
    write_body(page, ADD_IN_BLOCKS)
    link = permalink(page)
    reader = open_lesson(visit, "add_ten_in_blocks")
    write_body(reader, "    return  # mine")
    reader.get_by_label("Lesson", exact=True).select_option("outer_sum")
    expect(reader.locator(SOURCE)).to_contain_text("def outer_sum(")
    reader.goto("about:blank")
    reader.goto(link)

    expect(reader.locator(SOURCE)).to_contain_text("offsets < N0")
    expect(reader.get_by_label("Lesson", exact=True)).to_have_value("add_ten_in_blocks")
    expect(reader.get_by_role("article")).to_contain_text("Constant add in blocks")
    write(reader, source_of(reader) + "# theirs\n")
    run(reader)
    expect(solved(reader)).to_be_visible()
    expect(reader.get_by_text("0 of 22 solved")).to_be_visible()
    reader.get_by_role("button", name="Back to mine").click()
    expect(reader.locator(SOURCE)).to_contain_text("return  # mine")
    expect(reader.locator(SOURCE)).not_to_contain_text("# theirs")


def test_a_shared_kernel_of_no_lesson_opens_in_the_explorer(visit: Visit) -> None:
    link = permalink(visit())
    page = visit(link.replace("#", "learn#"))

    expect(page.locator(SOURCE)).to_contain_text("def add_kernel")
    assert page.url == link


def test_a_key_is_asked_for_once_and_then_all_goes_on_by_itself(visit: Visit) -> None:
    page = visit(refused=True)

    def check(route: Route) -> None:
        if route.request.headers.get("authorization") == "Bearer secret":
            route.continue_(headers={**route.request.headers, "authorization": ""})
        else:
            problem = '{"slug": "unauthorized", "title": "A key is needed", "detail": "Send one"}'
            route.fulfill(status=401, content_type="application/json", body=problem)

    page.route("**/v1/**", check)
    page.reload()
    compiled(page, "failed")
    expect(page.get_by_label("API key")).to_be_focused()
    page.keyboard.type("secret")

    compiled(page)
    expect(pane(page, "PTX").locator(".cm-line").first).to_be_visible()
