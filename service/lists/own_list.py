"""One page of the caller's own jobs of a collection, newest first.

A page reads records, which may be large, so it ends early once it has read `MAX_LIST_READ_BYTES`;
`next` is where the following one begins.
"""

import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import orjson
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from service.http.problems import ProblemRaised
from service.state import ServiceState, state_of
from store.own_lists import Listed

MAX_ITEMS: Final = 100
READ_AT_ONCE: Final = 50
_CURSOR = re.compile(r"(\d{1,15}):([0-9a-f]{1,64})", re.ASCII)
_SUCCEEDED: Final = frozenset({"succeeded", "completed"})

State = Literal["queued", "running", "succeeded", "completed", "failed", "cancelled"]
PageLimit = Annotated[int, Query(ge=1, le=MAX_ITEMS, description="items of a page")]
After = Annotated[
    str | None, Query(max_length=200, description="`next` of the page before, for the following")
]
States = Annotated[
    list[State],
    Query(
        max_length=10,
        description="items in one of these states; `succeeded` and `completed` are the same here",
    ),
]


IdPrefix = Annotated[
    str, Query(pattern=r"^[0-9a-f]{0,64}$", description="items whose id begins so")
]


class ListItem(BaseModel):
    """One job of the caller in short. What is not known, or does not apply, is null."""

    id: str = Field(description="the key of a compilation")
    url: str
    state: State
    created_at: str = Field(description="when you first posted it: RFC 3339, in UTC")
    kind: str | None = Field(description="of the items of a batch, or the rows of a sweep")
    kernel: str | None
    target: str | None
    verdict: str | None = Field(description="of a launch, program or proof that is completed")
    slug: str | None = Field(description="of the `problem` of a job that failed")
    detail: str | None = Field(description="the first line of the problem's `detail`")
    counts: dict[str, int] | None = Field(
        description="cases by verdict; items of a batch by state, and those `left`; rows of a "
        "sweep that are `over`, of `total`, and those that are over by state"
    )


class OwnList(BaseModel):
    """A page of the caller's jobs, newest first: of the newest 1,000, as long as they are kept."""

    items: list[ListItem]
    next: str | None = Field(description="send it as `after` for the next page; null on the last")


Summary = Mapping[str, Any]
"""The members of an item except `id`, `url` and `created_at`; absent ones are null."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection of jobs, as far as its list needs it.

    `summaries` returns what the first of some ids are, None for each that is gone. It may leave out
    the last ones, but not all, to read no more than `MAX_LIST_READ_BYTES`.
    """

    name: str
    summaries: Callable[[ServiceState, Sequence[str]], Awaitable[Sequence[Summary | None]]]


def list_route(
    router: APIRouter, collection: Collection, scopes: Iterable[str], description: str
) -> None:
    """Add the list of a collection to its routes, for callers who have one of `scopes`."""

    async def list_own(
        request: Request,
        limit: PageLimit = 20,
        after: After = None,
        state: States = [],  # noqa: B006
        prefix: IdPrefix = "",
    ) -> Response:
        shared = state_of(request)
        caller = await shared.callers.identify(request, *scopes)
        at = None if after is None else _read_cursor(after)
        await shared.lists.flush()  # the caller sees what this process has just answered it
        states = with_synonyms(state)
        page = await _page(shared, collection, caller.id, limit, at, states, prefix)
        return Response(orjson.dumps(page), media_type="application/json")

    router.add_api_route(
        "",
        list_own,
        name=f"list_{collection.name}",
        summary=f"List your own {collection.name}, newest first",
        description=description,
        response_model=OwnList,
    )


async def _page(
    state: ServiceState,
    collection: Collection,
    caller: str,
    limit: int,
    after: Listed | None,
    states: frozenset[str],
    prefix: str,
) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    while True:
        listed = await state.lists.page(collection.name, caller, after, READ_AT_ONCE)
        if not listed:
            return {"items": items, "next": None}
        wanted = [job for job in listed if job.id.startswith(prefix)]
        summaries = await collection.summaries(state, [job.id for job in wanted]) if wanted else []
        gone = []
        for job, summary in zip(wanted, summaries, strict=False):
            if summary is None:
                gone.append(job.id)
            elif not states or summary["state"] in states:
                items.append(_item(collection.name, job, summary))
            after = job
            if len(items) == limit:
                break
        await state.lists.remove(collection.name, caller, gone)
        if len(items) == limit or len(summaries) < len(wanted):
            assert after is not None
            return {"items": items, "next": _cursor(after)}
        after = listed[-1]


def _item(collection: str, job: Listed, summary: Summary) -> dict[str, Any]:
    created = datetime.fromtimestamp(job.at_ms / 1000, UTC)
    own = {
        "id": job.id,
        "url": f"/v1/{collection}/{job.id}",
        "created_at": created.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    return {name: own.get(name, summary.get(name)) for name in ListItem.model_fields}


def with_synonyms(states: Sequence[str]) -> frozenset[str]:
    """Return the states asked for; one word of success means both."""
    asked = frozenset(states)
    return asked | _SUCCEEDED if asked & _SUCCEEDED else asked


def _cursor(job: Listed) -> str:
    return base64.urlsafe_b64encode(f"{job.at_ms}:{job.id}".encode()).decode().rstrip("=")


def _read_cursor(text: str) -> Listed:
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        decoded = ""
    match = _CURSOR.fullmatch(decoded)
    if match is None:
        detail = "after is not a cursor of this API; send `next` of the page before, unchanged"
        raise ProblemRaised("invalid_request", detail, parameter="after")
    return Listed(match[2], int(match[1]))
