"""Launchers inherit a few variables of the worker by name, and none that may be secret."""

import pytest

from worker.gpu.supervisor.launcher_process import LauncherCommand


@pytest.mark.parametrize(
    "name",
    [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AZURE_STORAGE_ACCOUNT_KEY",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "TRITOND_BLOBS_URL",
        "TRITOND_REDIS_URL",
    ],
)
def test_a_launcher_gets_no_credentials(monkeypatch, name):
    monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")

    environment = LauncherCommand().environ()

    assert environment["CUDA_VISIBLE_DEVICES"] == "0"
    assert name not in environment
    assert "secret" not in environment.values()
