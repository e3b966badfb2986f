"""What a request asked for, remembered so that it need not be read again."""

from service.compilations.cache import RequestAlias, RequestAliases

FIRST, SECOND, THIRD = (RequestAlias(key, ("ptx",)) for key in "abc")


def test_a_meaning_is_found_again():
    meanings = RequestAliases(limit=2)
    meanings.put(b"1", FIRST)

    assert meanings.get(b"1") == FIRST
    assert meanings.get(b"2") is None


def test_the_least_recently_used_goes_first():
    meanings = RequestAliases(limit=2)
    meanings.put(b"1", FIRST)
    meanings.put(b"2", SECOND)
    meanings.get(b"1")
    meanings.put(b"3", THIRD)

    assert meanings.get(b"1") == FIRST
    assert meanings.get(b"2") is None
    assert meanings.get(b"3") == THIRD


def test_with_a_limit_of_zero_nothing_is_kept():
    meanings = RequestAliases(limit=0)
    meanings.put(b"1", FIRST)

    assert meanings.get(b"1") is None
