"""URLs of stores: which are accepted, and how a wrong one is refused, without its password."""

import re

import pytest

from store.server_url import checked_store_url


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:6379/0",
        "rediss://user:word@store:6380/1?ssl_ca_certs=/etc/store.pem",
        "unix:///run/valkey.sock?db=0",
        "redis://store",
        "redis://store:6379/",
        "redis://store:6379?db=2",
        "redis+sentinel://one:26379,two/mymaster",
        "rediss+sentinel://user:word@one,two:26380/mymaster/2?sentinel_password=other",
        "redis+sentinel://[::1]:26379/mymaster/0",
    ],
)
def test_urls_of_servers_and_sentinels_are_accepted(url: str) -> None:
    assert checked_store_url(url) == url


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("localhost:6379", "must begin with one of redis://, rediss://"),
        ("http://store", "must begin with one of"),
        ("redis://:word@store:port/0", "is not a URL of a Redis server"),
        ("redis://user:wo/rd@store:6379/0", "is not a URL of a Redis server"),
        ("redis://:word@store:6379/abc", "needs the number of a database, or nothing"),
        ("rediss://:word@store:6379/1/2", "as in redis://:password@host:6379/0"),
        ("redis://:word@store:6379/-1", "needs the number of a database"),
        ("redis+sentinel://:word@one:26379", "the master's name"),
        ("redis+sentinel:///mymaster/0", "needs hosts"),
        ("redis+sentinel://:word@one/mymaster/first", "a database number"),
        ("redis+sentinel://:word@one,,two/mymaster/0", "a host before each comma"),
        ("redis+sentinel://:word@one:99999/mymaster/0", "a port between 1 and 65535"),
        ("redis+sentinel://:word@one/mymaster/0?sentinel=1", "a parameter 'sentinel'"),
        ("redis+sentinel://:word@one/mymaster/0?ssl_ca_certs=/x", "needs rediss+sentinel://"),
        ("redis://:word@store:6379/0?bogus=1", "a parameter is wrong"),
        ("rediss://:word@store/0?ssl_cert_reqs=some", "a parameter is wrong"),
    ],
)
def test_a_wrong_url_is_refused_with_what_is_wrong(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)) as refusal:
        checked_store_url(url)

    assert "word" not in str(refusal.value).replace("password", "")
