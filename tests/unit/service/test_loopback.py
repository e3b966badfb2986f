"""Addresses that only this machine can reach."""

import pytest

from service.caller import is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_needs_no_key(host: str):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "", "10.0.0.1", "192.168.1.1", "::ffff:0.0.0.0", "example.org",
     "localhost.evil", "127.0.0.1.nip.io", "127.1", "2130706433"],
)  # fmt: skip
def test_any_other_address_does(host: str):
    assert not is_loopback(host)
