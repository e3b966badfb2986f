"""The worker checks names from a child that ran user code before they become file names."""

from __future__ import annotations

import pytest

from worker.compile.derive import read_cache_key
from worker.compile.reports import Malformed

HASH = "0" * 64


@pytest.mark.parametrize("name", ["add_kernel", "größe", "_k1"])
def test_a_function_has_the_name_of_one(name: str) -> None:
    report = read_cache_key({"name": name, "source_hashes": [HASH]})

    assert report.name == name


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", "a\n", "1a", "a" * 201])
def test_no_other_name_is_taken(name: str) -> None:
    with pytest.raises(Malformed, match="name"):
        read_cache_key({"name": name, "source_hashes": [HASH]})


@pytest.mark.parametrize(
    "hashes", [[], [""], ["0" * 63], [HASH, "G" * 64], [HASH + "\n"], [HASH] * 17]
)
def test_no_other_hashes_are_taken(hashes: list[str]) -> None:
    with pytest.raises(Malformed, match="source_hashes"):
        read_cache_key({"name": "k", "source_hashes": hashes})
