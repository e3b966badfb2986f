"""`tritond key create` as operators write it."""

from datetime import UTC, datetime, timedelta

import pytest

from service.command import _parser


def test_a_key_needs_no_namespace() -> None:
    words = ["key", "create", "--name", "ops", "--scope", "admin"]

    assert not _parser().parse_args(words).namespace


def test_a_namespace_that_is_given_is_not_empty() -> None:
    words = ["key", "create", "--name", "ops", "--scope", "admin", "--namespace", ""]

    with pytest.raises(SystemExit):
        _parser().parse_args(words)


def test_a_key_expires_after_days_or_on_a_date() -> None:
    words = ["key", "create", "--name", "ops", "--scope", "admin", "--expires"]

    later = _parser().parse_args([*words, "90d"]).expires
    date = _parser().parse_args([*words, "2999-01-31"]).expires

    assert datetime.fromisoformat(later) - datetime.now(UTC) > timedelta(days=89)
    assert date == "2999-01-31T00:00:00+00:00"


@pytest.mark.parametrize("when", ["0d", "2020-01-01", "soon", "90000000d"])
def test_a_key_does_not_expire_before_it_is_made(when: str) -> None:
    words = ["key", "create", "--name", "ops", "--scope", "admin", "--expires", when]

    with pytest.raises(SystemExit):
        _parser().parse_args(words)
