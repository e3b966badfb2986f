"""Two versions of Triton: selected, named, and compared with each other.

`make test-page` installs a second one (200 MB, once) and names its Python in
TRITOND_TEST_OTHER_TRITON; without that, nothing here is collected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import OTHER_TRITON, TritondUp, Visit, compiled
from tests.page.pages import SOURCE, add_pane, compile_now, pane, write
from tests.page.test_editing import HEAD
from tests.page.test_sharing import permalink
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def with_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritondUp]:
    running = TritondUp(tmp_path_factory.mktemp("two"), TRITOND_TOOLCHAINS=OTHER_TRITON)
    yield running
    assert running.process.stop() == 0


@pytest.fixture(scope="module")
def version() -> str:
    """Return the version of the other Triton."""
    [found] = Path(OTHER_TRITON).parents[1].glob("lib/python3*/site-packages/triton-*.dist-info")
    return found.name.removeprefix("triton-").removesuffix(".dist-info")


@pytest.fixture
def page(visit: Visit, with_two: TritondUp, version: str) -> Page:
    page = visit(with_two.url)
    versions = page.get_by_label("Triton", exact=True)

    def is_offered() -> bool:
        if version in versions.get_by_role("option").all_inner_texts():
            return True
        page.reload()  # a service rereads its workers' toolchains at intervals
        compiled(page)
        return False

    wait_until(is_offered, f"Triton {version} is offered")
    return page


def choose(page: Page, version: str) -> None:
    page.get_by_label("Triton", exact=True).select_option(version)


def test_another_version_is_chosen_and_shared(visit: Visit, page: Page, version: str) -> None:
    choose(page, version)
    compile_now(page)
    resources = pane(page, "Resources")
    expect(resources).to_contain_text(f"Triton{version}")

    other = visit(permalink(page))
    expect(other.get_by_label("Triton", exact=True)).to_have_value(version)
    expect(pane(other, "Resources")).to_contain_text(f"Triton{version}")


def test_two_versions_are_compared(page: Page, version: str) -> None:
    page.get_by_role("button", name="Keep for comparison").click()
    choose(page, version)
    compile_now(page)
    shown = pane(page, "Comparison")

    row = re.compile(rf"^triton \d+\.\d+\.\d+ {re.escape(version)}")
    expect(shown.get_by_role("row", name=row)).to_be_visible()
    shown.get_by_label("Stage").select_option("ptx")
    expect(shown.locator(".diff-removed, .diff-added").first).to_be_attached()


def test_versions_of_the_library_and_of_ptxas_are_reported(page: Page, version: str) -> None:
    resources = pane(page, "Resources")
    expect(resources).to_contain_text(re.compile(r"Triton\d+\.\d+\.\d+"))
    before = resources.inner_text()
    choose(page, version)
    compile_now(page)

    expect(resources).to_contain_text(re.compile(r"ptxas\d+\.\d+"))
    assert resources.inner_text() != before


def test_what_is_offered_after_tl_is_of_the_version_that_is_chosen(
    page: Page, version: str
) -> None:
    choose(page, version)
    with page.expect_request(f"**/v1/language?*{version}*"):
        write(page, HEAD + "@triton.jit\ndef k(x_ptr):\n    tl.aran")
        page.keyboard.type("g")

    expect(page.locator(".cm-tooltip-autocomplete li").first).to_contain_text("arange")
    expect(page.locator(SOURCE)).to_contain_text("tl.arang")


def test_an_architecture_that_one_version_has_is_offered_for_it_alone(
    page: Page, version: str
) -> None:
    targets = page.get_by_label("Target", exact=True).get_by_role("option")
    newest = set(targets.all_inner_texts())
    choose(page, version)
    expect(targets.first).to_be_attached()

    assert set(targets.all_inner_texts()) != newest
    matrix = add_pane(page, "Matrix")
    matrix.get_by_role("button", name="Compile all").click()
    expect(matrix.get_by_role("status")).to_have_text("4 of 4 succeeded.")
