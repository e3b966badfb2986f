"""`%%tritonc program`: a cell is posted as the program, and its verdict is shown."""

from functools import partial

import pytest
from tritonc import jupyter
from tritonc._sync.client import Client

from tests.unit.client.fake_tritond import FakeTritond

ANSWER = {
    "id": "p1",
    "state": "completed",
    "verdict": "mismatch",
    "kernels": [{"name": "double", "line": 7, "launches": 2, "compilation_key": "k1"}],
}


@pytest.fixture
def tritond(monkeypatch: pytest.MonkeyPatch) -> FakeTritond:
    fake = FakeTritond()
    monkeypatch.setenv("TRITOND_URL", "http://t.test")
    monkeypatch.setattr(jupyter, "Client", partial(Client, transport=fake))
    return fake


@pytest.mark.parametrize("words", ["program", "program run"])
def test_the_cell_is_the_program(tritond: FakeTritond, words: str):
    tritond.will_answer(ANSWER)

    shown = jupyter.tritonc(f"{words} --entry function:add --trials 3", "def add(): ...")

    assert tritond.posted["source"] == "def add(): ..."
    assert tritond.posted["entry"] == {"kind": "function", "name": "add"}
    assert tritond.posted["trials"] == 3
    assert "verdict: mismatch" in repr(shown)
    assert "<td>double</td><td>7</td><td>2</td>" in shown._repr_html_()


def test_a_tape_is_shown(tritond: FakeTritond):
    tritond.will_answer(ANSWER | {"verdict": None})
    tritond.will_send(b"launch double")

    shown = jupyter.tritonc("program tape", "x = 1")

    assert tritond.posted["stop_after"] == "tape"
    assert "launch double" in repr(shown)
