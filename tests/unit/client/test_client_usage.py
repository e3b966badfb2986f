"""`tritonc usage`: a caller's days as a table, or as the service's JSON."""

import json
from typing import Any

import pytest

from tests.unit.client.fake_tritond import FakeTritond, run

DAY: dict[str, Any] = {
    "day": "2026-11-26",
    "caller": "1f0c9f2f",
    "requests": 1200,
    "received_bytes": 2400000,
    "sent_bytes": 31200000,
    "cpu_seconds": 61.4,
    "gpu_seconds": 0.0,
}


def test_own_usage_is_a_table_of_days(tritond: FakeTritond, capsys: pytest.CaptureFixture[str]):
    tritond.will_answer({"days": [DAY, DAY | {"day": "2026-11-25", "requests": 7}]})

    assert run(tritond, "usage") == 0
    assert capsys.readouterr().out == (
        " day (UTC)  requests  bytes received  bytes sent  CPU seconds  GPU seconds\n"
        "2026-11-26     1,200       2,400,000  31,200,000         61.4          0.0\n"
        "2026-11-25         7       2,400,000  31,200,000         61.4          0.0\n"
    )
    assert str(tritond.requests[0].url) == "http://env.test/v1/usage"


def test_an_admin_sees_whose_usage_it_is(tritond: FakeTritond, capsys: pytest.CaptureFixture[str]):
    tritond.will_answer({"days": [DAY]})

    assert run(tritond, "usage", "--caller", "*") == 0
    assert "1f0c9f2f" in capsys.readouterr().out
    assert tritond.requests[0].url.params["caller"] == "*"


def test_usage_as_json_is_the_answer(tritond: FakeTritond, capsys: pytest.CaptureFixture[str]):
    tritond.will_answer({"days": [DAY]})

    assert run(tritond, "usage", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"days": [DAY]}


def test_no_usage_is_said(tritond: FakeTritond, capsys: pytest.CaptureFixture[str]):
    tritond.will_answer({"days": []})

    assert run(tritond, "usage") == 0
    assert capsys.readouterr().err == "nothing was used in the last 35 days\n"
