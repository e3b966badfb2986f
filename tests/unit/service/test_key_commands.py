"""`tritond key create` as operators write it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.command import _parser, _where
from store.errors import StoreUnavailable


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


def test_where_the_store_is_answered_if_no_url_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITOND_REDIS_URL", raising=False)
    assert "TRITOND_REDIS_URL; that of `tritond up` is unix://" in _where(StoreUnavailable())

    monkeypatch.setenv("TRITOND_REDIS_URL", "redis://store:6379/0")
    assert not _where(StoreUnavailable())


@pytest.mark.parametrize(
    ("written", "why"),
    [("", "expected a folder"), ("file", "file is not a folder"), ("file/a", "Not a directory")],
)
def test_data_are_kept_in_a_folder(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    written: str,
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()

    with pytest.raises(SystemExit):
        _parser().parse_args(["up", "--data", written])

    assert why in capsys.readouterr().err
