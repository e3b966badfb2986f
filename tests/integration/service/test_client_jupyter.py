"""`%%tritonc` in a real IPython, with a real service."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
from tritonc import Client

from tests.integration.service.bodies import good
from tests.integration.service.running import Deployment

VECTOR_ADD = good("vector_add")["source"]
COMPILE = (
    "compile --target cuda:90 --signature x_ptr=*fp32 y_ptr=*fp32 output_ptr=*fp32 "
    "n_elements=i32 --constexpr BLOCK_SIZE=256"
)
LAUNCH = (
    "launch --device cpu --constexpr BLOCK_SIZE=256 --grid 'cdiv(n_elements, BLOCK_SIZE)' "
    "--argument 'x_ptr=fp32[1000]:uniform(seed=1)' 'y_ptr=fp32[1000]:ones' "
    "'output_ptr=fp32[1000]:output' n_elements=1000"
)


class Tags(HTMLParser):
    """The tags of an HTML text, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def ipython() -> Iterator[InteractiveShell]:
    """Yield a shell without a history, which leaves no trace in this process."""
    quiet = Config()
    quiet.HistoryManager.enabled = False
    main = sys.modules["__main__"]
    shell = InteractiveShell(config=quiet)
    sys.modules["__main__"] = main
    shell.run_line_magic("load_ext", "tritonc")
    yield shell
    shell.atexit_operations()
    atexit.unregister(shell.atexit_operations)


@pytest.fixture
def shell(
    ipython: InteractiveShell, system: Deployment, monkeypatch: pytest.MonkeyPatch
) -> InteractiveShell:
    monkeypatch.setenv("TRITOND_URL", system.url)
    return ipython


def test_a_cell_is_compiled_and_its_stages_stand_in_panes(shell: InteractiveShell) -> None:
    shown = shell.run_cell_magic("tritonc", f"{COMPILE} --emit ptx ttir sass", VECTOR_ADD)

    html = Tags(shown._repr_html_())
    assert html.tags.count("details") == 3
    assert "add_kernel for cuda:90: registers" in repr(shown)
    assert ".visible .entry add_kernel(" in html.text
    assert "LDG" in html.text
    line = 1 + next(i for i, text in enumerate(VECTOR_ADD.split("\n")) if "tl.store" in text)
    stores = [row for row in html.text.splitlines() if "st.global" in row]
    assert stores
    assert all(row.startswith(str(line)) for row in stores)


def test_an_error_stands_at_its_line(shell: InteractiveShell) -> None:
    broken = VECTOR_ADD.replace("tl.load(x_ptr", "tl.laod(x_ptr")
    line = 1 + next(i for i, text in enumerate(broken.split("\n")) if "tl.laod" in text)

    shown = shell.run_cell_magic("tritonc", COMPILE, broken)

    assert f"<cell>:{line}:" in repr(shown)
    assert f"&lt;cell&gt;:{line}:" in shown._repr_html_()


def test_a_launch_has_its_verdict_and_trace(shell: InteractiveShell) -> None:
    shown = shell.run_cell_magic("tritonc", f"{LAUNCH} --step 0,0,0", VECTOR_ADD)

    html = Tags(shown._repr_html_())
    assert "verdict: not_checked" in repr(shown)
    assert "load" in html.text
    assert "store" in html.text
    assert html.tags.count("tr") == 4  # the head, two loads, a store


def test_trace_and_return_are_shown(shell: InteractiveShell) -> None:
    shown = shell.run_cell_magic("tritonc", f"{LAUNCH} --trace --return output_ptr", VECTOR_ADD)

    assert repr(shown).startswith("output_ptr: fp32[1000]\n")
    assert "3 accesses" in repr(shown)
    assert Tags(shown._repr_html_()).tags.count("tr") == 4


def test_a_sweep_is_a_table(shell: InteractiveShell) -> None:
    line = COMPILE.replace("compile", "sweep").replace("BLOCK_SIZE=256", "BLOCK_SIZE=1")

    shown = shell.run_cell_magic("tritonc", f"{line} --space num_warps=1,2", VECTOR_ADD)

    assert [row.values["options.num_warps"] for row in shown.rows] == [1, 2]
    assert Tags(shown._repr_html_()).tags.count("tr") == 3
    refused = shell.run_cell_magic("tritonc", f"{line} --space num_warps=1,2 --csv", VECTOR_ADD)
    assert "leave out --id, --csv, --winners" in repr(refused)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("inspect", "add_kernel"),
        ("explain --target cuda:90 --constexpr BLOCK_SIZE=256", "registers"),
        ("diff --target cuda:90 --before num_warps=2 --after num_warps=4", "num_warps"),
        ("prove --contract {contract} --constexpr BLOCK_SIZE=256", "verdict: proved"),
    ],
)
def test_other_commands_print_their_report_of_a_cell(
    shell: InteractiveShell, tmp_path: Path, line: str, shown: str
) -> None:
    contract = tmp_path / "add.contract"
    sizes = "".join(f"{name}: n_elements\n" for name in ("x_ptr", "y_ptr", "output_ptr"))
    contract.write_text(f"{sizes}grid: cdiv(n_elements, BLOCK_SIZE)\n")

    report = shell.run_cell_magic("tritonc", line.format(contract=contract), VECTOR_ADD)

    assert shown in repr(report)
    assert "<stdin>" not in repr(report)


def test_a_report_has_no_escape_codes_where_colours_are_forced(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as the kernel of a notebook does

    line = "diff --target cuda:90 --before num_warps=2 --after num_warps=4"
    shown = shell.run_cell_magic("tritonc", line, VECTOR_ADD)

    assert "num_warps" in repr(shown)
    assert "\\x1b" not in repr(shown)


def test_without_a_contract_a_proof_shows_a_draft_and_how_to_pass_it(
    shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    shown = shell.run_cell_magic("tritonc", "prove --constexpr BLOCK_SIZE=256", VECTOR_ADD)

    assert "<cell> has no contract" in repr(shown)
    assert "x_ptr: " in repr(shown)
    assert "--contract PATH" in repr(shown)
    assert not list(tmp_path.iterdir())


def test_a_cell_is_judged_as_the_kernel_of_a_lesson(shell: InteractiveShell) -> None:
    with Client(os.environ["TRITOND_URL"]) as client:
        solution = client.lessons()["lessons"][0]["solution"]

    right = shell.run_cell_magic("tritonc", "learn add_ten", solution)
    wrong = shell.run_cell_magic("tritonc", "learn add_ten", solution.replace("x + 10", "x"))
    unnamed = shell.run_cell_magic("tritonc", "learn", solution)

    assert repr(right) == "right, at these sizes and at hidden ones\n"
    assert "mismatch" in repr(wrong)
    assert "%%tritonc learn NAME" in repr(unnamed)


def test_a_line_runs_what_needs_no_source(shell: InteractiveShell) -> None:
    assert "ptxas" in repr(shell.run_line_magic("tritonc", "targets"))
    assert "--contract" in repr(shell.run_line_magic("tritonc", "prove --help"))


def test_a_fault_is_reported_at_its_line(shell: InteractiveShell) -> None:
    unmasked = VECTOR_ADD.replace("offsets < n_elements", "offsets < n_elements + 9")

    shown = shell.run_cell_magic("tritonc", LAUNCH, unmasked)

    assert "verdict: out_of_bounds" in repr(shown)
    assert "<cell>:" in repr(shown)


def test_no_text_of_the_cell_is_markup(shell: InteractiveShell) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    cell = VECTOR_ADD.replace(
        "pid = tl.program_id", f'tl.static_print("{hostile}")\n    pid = tl.program_id'
    )
    cell = (
        cell
        if hostile in cell
        else cell.replace("    offsets", f'    tl.static_print("{hostile}")\n    offsets', 1)
    )

    shown = shell.run_cell_magic("tritonc", COMPILE, cell)

    assert hostile in repr(shown)
    assert not {"script", "img"} & set(Tags(shown._repr_html_()).tags)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "write %%tritonc compile"),
        ("sass KEY", "write %%tritonc compile"),
        ("compil --target cuda:90", "did you mean %%tritonc compile?"),
        ("expln --target cuda:90", "did you mean %%tritonc explain?"),
        ("compile", "--target"),
        ("compile --target cuda:90 --nonsense", "unrecognized arguments: --nonsense"),
        ("compile --target cuda:91", "cuda:91"),
        ("compile --target 'cuda:90", "No closing quotation"),
        ("launch", "--grid"),
        ("launch --grid cdiv(n, BLOCK)", "quote the expression"),
        ("launch --grid 1 --arg x_ptr=fp32[4]:nothing --device cpu", "--argument x_ptr"),
        ("launch other.py --grid 1", "the cell is the source"),
    ],
)
def test_wrong_words_are_reported_and_nothing_is_raised(
    shell: InteractiveShell, line: str, message: str
) -> None:
    assert message in repr(shell.run_cell_magic("tritonc", line, VECTOR_ADD))


def test_a_service_that_is_not_there_is_reported(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITOND_URL", "http://127.0.0.1:9")

    assert "127.0.0.1:9" in repr(shell.run_cell_magic("tritonc", COMPILE, VECTOR_ADD))
