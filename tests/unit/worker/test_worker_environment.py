"""A worker warns of API keys in its environment."""

import logging

import pytest

from worker.__main__ import _warn_of_keys


def test_a_worker_warns_of_keys(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TRITOND_ADMIN_KEY", "the-admin-key")

    with caplog.at_level(logging.WARNING, "worker"):
        _warn_of_keys()

    assert "a worker needs no TRITOND_ADMIN_KEY" in caplog.text
    assert "the-admin-key" not in caplog.text


def test_a_worker_without_keys_does_not_warn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("TRITOND_ADMIN_KEY", raising=False)

    _warn_of_keys()

    assert caplog.text == ""
