"""The settings of the service, from the environment."""

import os

import pytest
from pydantic import ValidationError

from compiler.request.compile_request import MAX_FILES, MAX_TEXT_CHARS
from service.__main__ import main
from service.settings import ServiceSettings, unknown_variables, wrong_settings


@pytest.fixture(autouse=True)
def _no_setting_from_outside(monkeypatch: pytest.MonkeyPatch):
    for name in list(os.environ):
        if name.startswith("TRITOND_"):
            monkeypatch.delenv(name)


def test_every_setting_has_a_default():
    settings = ServiceSettings()

    assert settings.host == "127.0.0.1"
    assert settings.max_wait_s == 60
    assert settings.max_body_bytes == 8 << 20
    assert settings.admin_key is None


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITOND_REDIS_URL", "unix:///run/valkey.sock")
    monkeypatch.setenv("TRITOND_MAX_WAIT_S", "2.5")

    settings = ServiceSettings()

    assert settings.redis_url == "unix:///run/valkey.sock"
    assert settings.max_wait_s == 2.5


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("max_source_bytes", MAX_TEXT_CHARS),
        ("max_posted_ir_bytes", MAX_TEXT_CHARS),
        ("max_files_bytes", MAX_TEXT_CHARS),
        ("max_files", MAX_FILES),
        ("max_module_files", MAX_FILES),
        ("max_program_files", MAX_FILES),
    ],
)
def test_no_setting_allows_more_than_a_request_may_hold(name: str, most: int):
    ServiceSettings.model_validate({name: most})

    with pytest.raises(ValidationError) as refused:
        ServiceSettings.model_validate({name: most + 1})

    said = f"TRITOND_{name.upper()}: Input should be less than or equal to {most}"
    assert wrong_settings(refused.value) == said


@pytest.mark.parametrize("name", ["TRITOND_ADMIN_KEY", "TRITOND_CACHE_URL", "TRITOND_PORT"])
def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(name, "")

    assert ServiceSettings() == ServiceSettings.model_construct()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TRITOND_PORT", "65536"),
        ("TRITOND_MAX_WAIT_S", "nan"),
        ("TRITOND_MAX_WAIT_S", "-1"),
        ("TRITOND_MAX_BODY_BYTES", "0"),
        ("TRITOND_MAX_QUEUE_LENGTH", "0"),
        ("TRITOND_MEMORY_CACHE_BYTES", "-1"),
    ],
)
def test_a_setting_out_of_range_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str):
    monkeypatch.setenv(name, value)

    with pytest.raises(ValidationError, match=name.removeprefix("TRITOND_").lower()):
        ServiceSettings()


def test_the_admin_key_is_not_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITOND_ADMIN_KEY", "s3cret-of-the-operator")

    assert "s3cret" not in repr(ServiceSettings())


def test_wrong_ones_are_reported_by_the_names_of_their_variables(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITOND_PORT", "eighty")
    monkeypatch.setenv("TRITOND_MAX_WAIT_S", "-1")

    with pytest.raises(ValidationError) as raised:
        ServiceSettings()

    port, wait = wrong_settings(raised.value).split("; ")
    assert port.startswith("TRITOND_PORT: Input should be a valid integer")
    assert wait == "TRITOND_MAX_WAIT_S: Input should be greater than or equal to 0"


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("TRITOND_MAX_BODIES_BYTES_PER_CALLER", "1024", "set 268435456 or more"),
        ("TRITOND_MAX_TENSOR_BYTES", str(1 << 30), "set 1073741824 or more"),
        ("TRITOND_MAX_BODIES_BYTES", "1024", "set 335544320 or more"),
        ("TRITOND_TRUSTED_PROXIES", "*", "'\\*' is not an address or a network such as 10"),
        ("TRITOND_TRUSTED_PROXIES", "10.0.0.1, proxy", "'proxy' is not an address"),
        ("TRITOND_ADMIN_KEY", "admin", "a key has at least 16 characters; choose a random one"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, instead: str
):
    monkeypatch.setenv(name, value)

    with pytest.raises(ValidationError, match=instead):
        ServiceSettings()


def test_proxies_are_addresses_and_networks(monkeypatch: pytest.MonkeyPatch):
    assert ServiceSettings().proxies == ()

    monkeypatch.setenv("TRITOND_TRUSTED_PROXIES", "10.0.0.1, 192.0.2.0/24,::1")

    assert ServiceSettings().proxies == ("10.0.0.1", "192.0.2.0/24", "::1")


@pytest.mark.parametrize(
    ("name", "value", "cause"),
    [
        ("TRITOND_SERIOUS_FLAGS", "foo", "'foo' is not a flag of programs; choose from no_kernel"),
        ("TRITOND_FLASHINFER_TRACE", "/nofile", "/nofile has no folder `definitions`"),
        ("TRITOND_RECEIPT_KEY_FILE", "/etc/hosts", "every user may read /etc/hosts; run: chmod"),
    ],
)
def test_the_service_does_not_start_with_a_setting_it_cannot_use(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, cause: str
):
    monkeypatch.setenv(name, value)

    with pytest.raises(SystemExit) as ended:
        main()

    assert str(ended.value.code).startswith(f"tritond api: {name}: {cause}")


def test_a_variable_that_is_not_a_setting_is_warned_of():
    names = ["TRITOND_SLOTS", "TRITOND_MAX_WAIT", "TRITOND_FOO", "tritond_port", "PATH"]

    assert unknown_variables(names) == [
        "TRITOND_FOO is not a setting",
        "TRITOND_MAX_WAIT is not a setting; did you mean TRITOND_MAX_WAIT_S?",
    ]


def test_a_size_with_a_unit_is_told_the_number(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITOND_MAX_BODY_BYTES", "8MB")

    with pytest.raises(ValidationError) as raised:
        ServiceSettings()

    words = "write a number of bytes without a unit, such as 8388608 for 8 MiB"
    assert wrong_settings(raised.value) == f"TRITOND_MAX_BODY_BYTES: {words}"
