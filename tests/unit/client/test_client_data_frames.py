"""`to_pandas` of sweeps and launches; a stand-in takes the place of pandas, which is not here."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from tritonc.launch import Launch
from tritonc.sweeps.sweep import Sweep

ROW = {"index": 0, "values": {"options.num_warps": 4}, "state": "succeeded", "registers": 32}
SWEEP = Sweep.from_json(
    {
        "id": "s1",
        "state": "completed",
        "axes": [{"name": "options.num_warps", "values": [4]}],
        "counts": {},
        "rows": [ROW],
    }
)


@pytest.fixture
def pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in whose frame is the list of its records."""
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))


@pytest.mark.usefixtures("pandas")
def test_a_sweep_has_a_column_for_each_axis():
    [record] = SWEEP.to_pandas()

    assert (record["num_warps"], record["registers"], record["median_us"]) == (4, 32, None)


@pytest.mark.usefixtures("pandas")
def test_a_launch_has_a_row_for_each_case():
    cases: list[dict[str, Any]] = [
        {"verdict": "passed", "name": "small", "timing": {"median_us": 2.5}},
        {"verdict": "mismatch", "outputs": {"y": {"summary": {"dtype": "fp32", "nan": 1}}}},
    ]
    launch = Launch.from_json({"id": "l1", "state": "completed", "cases": cases})

    first, second = launch.to_pandas()

    assert (first["name"], first["verdict"], first["median_us"]) == ("small", "passed", 2.5)
    assert (second["verdict"], second["y.dtype"], second["y.nan"]) == ("mismatch", "fp32", 1)
    assert "small" in launch._repr_html_()


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        SWEEP.to_pandas()
