"""Whole keys and ids from what a user types: `@last`, or a prefix of a recent or listed result."""

from argparse import ArgumentTypeError

from tritonc._sync.client import Client
from tritonc.cli.recent_keys import RecentKeys, is_prefix
from tritonc.own_list import KINDS
from tritonc.service_errors import ProblemError

MOST_SHOWN = 4


def whole_key(word: str, recent: RecentKeys, client: Client) -> str:
    """Return the key or id that `word` means, `word` itself if it is not a prefix of any.

    Results of this machine come first, then those that the service lists for this caller. Raises
    ArgumentTypeError if several begin so, or none does.
    """
    key = recent.resolved(word)
    if not is_prefix(key):
        return key
    found = [each for kind in KINDS for each in _listed(client, kind, key)]
    if not found:
        message = f"{word}: no result of yours begins so; `tritonc list` shows those that are kept"
        raise ArgumentTypeError(message)
    if len(found) > 1:
        listed = ", ".join(each[: len(word) + 8] for each in found[:MOST_SHOWN])
        raise ArgumentTypeError(f"{word}: several of your results begin so: {listed}")
    return found[0]


def _listed(client: Client, kind: str, prefix: str) -> list[str]:
    """Return ids of the caller's own that begin with a prefix; none if the key may not list."""
    try:
        page = client.list(kind, prefix=prefix, limit=MOST_SHOWN)
    except ProblemError as error:
        if error.slug != "forbidden":
            raise
        return []
    return [item.id for item in page]
