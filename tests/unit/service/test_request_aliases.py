"""What a request asked for, remembered so that it need not be read again."""

from service.compilations.answer_memory import RequestAlias, RequestAliases

FIRST, SECOND, THIRD = (RequestAlias(key, ("ptx",)) for key in "abc")


def test_an_alias_is_found_again():
    aliases = RequestAliases(limit=2)
    aliases.put(b"1", FIRST)

    assert aliases.get(b"1") == FIRST
    assert aliases.get(b"2") is None


def test_the_least_recently_used_goes_first():
    aliases = RequestAliases(limit=2)
    aliases.put(b"1", FIRST)
    aliases.put(b"2", SECOND)
    aliases.get(b"1")
    aliases.put(b"3", THIRD)

    assert aliases.get(b"1") == FIRST
    assert aliases.get(b"2") is None
    assert aliases.get(b"3") == THIRD


def test_with_a_limit_of_zero_nothing_is_kept():
    aliases = RequestAliases(limit=0)
    aliases.put(b"1", FIRST)

    assert aliases.get(b"1") is None
