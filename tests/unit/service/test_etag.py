"""Client validators that give a 304."""

import pytest

from service.http.validators import is_current, wants_nothing_that_exists

ETAG = '"sha256:ab"'


@pytest.mark.parametrize("sent", [ETAG, f"W/{ETAG}", f'"other", {ETAG}', f' "other" ,W/{ETAG} '])
def test_a_validator_in_the_list_is_current_weak_or_not(sent: str):
    assert is_current(sent, ETAG)


@pytest.mark.parametrize("sent", ["", '"other"', "sha256:ab", '"sha256:ab-zstd"', "*"])
def test_another_one_is_not(sent: str):
    assert not is_current(sent, ETAG)


def test_a_star_asks_for_nothing_that_exists():
    assert wants_nothing_that_exists(" * ")
    assert not wants_nothing_that_exists(ETAG)
