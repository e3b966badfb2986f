"""What a child that ran user code says becomes file names: it is checked."""

from __future__ import annotations

import pytest

from worker.derive import CacheKeyReport
from worker.report import Malformed, read_report

HASH = "0" * 64


@pytest.mark.parametrize("name", ["add_kernel", "größe", "_k1"])
def test_a_function_has_the_name_of_one(name: str) -> None:
    report = read_report(CacheKeyReport, {"name": name, "source_hash": HASH})

    assert report.name == name


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", "a\n", "1a", "a" * 201])
def test_no_other_name_is_taken(name: str) -> None:
    with pytest.raises(Malformed, match="name"):
        read_report(CacheKeyReport, {"name": name, "source_hash": HASH})


@pytest.mark.parametrize("source_hash", ["", "0" * 63, "G" * 64, HASH + "\n"])
def test_no_other_hash_is_taken(source_hash: str) -> None:
    with pytest.raises(Malformed, match="source_hash"):
        read_report(CacheKeyReport, {"name": "k", "source_hash": source_hash})
