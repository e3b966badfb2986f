"""Lists of the caller's own jobs, as the service answers them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tritonc.compile_body import string_list
from tritonc.exchange import Request
from tritonc.members import read_members

KINDS = ("compilations", "launches", "programs", "proofs", "batches", "sweeps")


@dataclass(frozen=True, slots=True)
class ListItem:
    """One job in short; what is not known, or does not apply, is None.

    `id` is the key of a compilation. `counts` are a launch's cases by verdict, a batch's items by
    state, or a sweep's rows that are `over`, of `total`, and those by state.
    """

    id: str
    url: str
    state: str
    created_at: str = ""
    kind: str | None = None
    kernel: str | None = None
    target: str | None = None
    verdict: str | None = None
    slug: str | None = None
    """Of the problem of a job that failed."""
    detail: str | None = None
    """The first line of that problem's detail, with the line of the source if it is known."""
    counts: Mapping[str, int] | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "ListItem":
        """Parse an item. Raises TypeError if it is malformed."""
        return read_members(cls, body)


@dataclass(frozen=True, slots=True)
class OwnList:
    """A page of jobs, newest first; `next` is `after` of the following page, None at the end."""

    items: tuple[ListItem, ...]
    next: str | None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "OwnList":
        """Parse a page. Raises KeyError or TypeError if it is malformed."""
        return cls(tuple(map(ListItem.from_json, body["items"])), body.get("next"))

    def __iter__(self) -> Iterator[ListItem]:
        """Return the items."""
        return iter(self.items)


def list_request(
    kind: str, state: Iterable[str], limit: int, after: str | None, prefix: str
) -> Request:
    """Return the request of a page."""
    filters = {"after": after, "prefix": prefix, "state": tuple(string_list(state))}
    asked = {"limit": str(limit)} | {name: value for name, value in filters.items() if value}
    return Request("GET", f"/v1/{quote(kind, safe='')}", query=asked, repeatable=True)
