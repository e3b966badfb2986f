"""`tritond key create` as operators write it."""

import pytest

from service.command import _parser


def test_a_key_needs_no_namespace() -> None:
    words = ["key", "create", "--name", "ops", "--scope", "admin"]

    assert not _parser().parse_args(words).namespace


def test_a_namespace_that_is_given_is_not_empty() -> None:
    words = ["key", "create", "--name", "ops", "--scope", "admin", "--namespace", ""]

    with pytest.raises(SystemExit):
        _parser().parse_args(words)
