"""Results in a shell and a notebook are short, and hostile text in them is never markup."""

import re
from typing import Any

import pytest
from tritonc import Batch, Compilation, Launch, Sweep

from tests.unit.client.fake_tritond import compilation, failure, launch
from tests.unit.client.sweeps.answered_sweeps import ROW, sweep

EVIL = "<script>alert(1)</script>\x1b[2J"


def batch(*results: dict[str, Any]) -> dict[str, Any]:
    items = [
        {"index": index, "status": 200, "state": one["state"], "result": one, "problem": None}
        for index, one in enumerate(results)
    ]
    return {"id": "b1", "counts": {"succeeded": 1, "failed": 1}, "items": items}


def test_a_result_is_one_line_in_a_shell():
    assert (
        repr(Compilation.from_json(compilation()))
        == "<Compilation add_kernel for cuda:90: succeeded, 32 registers, key 0123456789abcdef>"
    )
    assert (
        repr(Launch.from_json(launch()))
        == "<Launch ab12: verdict: passed on the CPU device (61 ms)>"
    )
    assert (
        repr(Batch.from_json(batch(compilation(), failure())))
        == "<Batch b1: 1 succeeded, 1 failed>"
    )
    assert repr(Sweep.from_json(sweep())) == "<Sweep 5eep: completed, 1 succeeded>"


def test_what_is_not_known_yet_is_left_out():
    queued = Compilation.from_json(compilation("queued", kernel=None, resources=None))

    assert repr(queued) == "<Compilation kernel for cuda:90: queued, key 0123456789abcdef>"


HTML: dict[str, Any] = {
    "compilation": Compilation.from_json(failure(kernel=EVIL)),
    "launch": Launch.from_json(launch("failed", id=EVIL, problem={"detail": EVIL})),
    "batch": Batch.from_json(batch(compilation(kernel=EVIL), failure()) | {"id": EVIL}),
    "sweep": Sweep.from_json(
        sweep(id=EVIL, rows=[ROW | {"state": EVIL, "values": {"target": EVIL}}])
    ),
}


@pytest.mark.parametrize("kind", HTML)
def test_a_notebook_shows_texts_and_nothing_else(kind: str):
    html = HTML[kind]._repr_html_()

    assert "<script" not in html
    assert "\x1b" not in html
    assert set(re.findall(r"</?(\w+)", html)) <= {
        "div", "pre", "table", "thead", "tbody", "tr", "th", "td", "p",
    }  # fmt: skip


def test_a_notebook_shows_the_table_of_a_sweep():
    html = Sweep.from_json(sweep())._repr_html_()

    assert '<th scope="col">BLOCK</th>' in html
    assert "<td>64</td><td>cuda:90</td><td>32</td><td>50 %</td>" in html


def test_a_notebook_shows_resources_and_errors_of_a_compilation():
    assert "<td>registers</td><td>32</td>" in Compilation.from_json(compilation())._repr_html_()
    assert "&#x27;maks&#x27; is not defined" in Compilation.from_json(failure())._repr_html_()
