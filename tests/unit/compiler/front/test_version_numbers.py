"""Version numbers that modules compare at import have Python's order."""

from __future__ import annotations

import pytest

from compiler.front.stubs.version_stub import InvalidVersion, Version, parse

ASCENDING = (
    "1.0.dev1", "1.0a2", "1.0b1", "1.0rc1", "1.0", "1.0+cpu", "1.0.post1", "1.1", "2.9", "2.10",
    "3.0.0", "1!0.1",
)  # fmt: skip


def test_releases_are_ordered_by_number_and_phase() -> None:
    shuffled = [ASCENDING[index * 5 % len(ASCENDING)] for index in range(len(ASCENDING))]

    assert sorted(shuffled, key=parse) == list(ASCENDING)


def test_trailing_zeros_say_nothing() -> None:
    assert Version("3.0") == Version("3.0.0")
    assert hash(Version("3.0")) == hash(Version("3.0.0"))


def test_the_parts_of_a_version_can_be_read() -> None:
    version = parse("2.13.1rc2+cu130")

    assert (version.major, version.minor, version.micro) == (2, 13, 1)
    assert version.base_version == "2.13.1"
    assert version.local == "cu130"
    assert version.is_prerelease


def test_a_text_that_is_no_version_is_refused() -> None:
    with pytest.raises(InvalidVersion, match="Invalid version: 'newest'"):
        parse("newest")
