"""The search settings of a sweep of launches: how to find the fastest variant.

Shape, and what contradicts the rest of the request; how it is done is for `variant_search.py`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from compiler.rejection import FieldError, RequestRejected
from launch.request.request_part import RequestPart, read


class SearchRequest(RequestPart):
    """The method of finding the fastest variant of each problem size on a GPU.

    Every variant is timed once. With `halving`, the faster ones are timed again with more repeats,
    round after round, until `finalists` are left; `exhaustive` takes these from the first round.
    They are timed once more, side by side: all of them in turn, `passes` times.
    """

    kind: Literal["halving", "exhaustive"] = Field(
        default="halving", description="exhaustive: one round for all, then the finalists"
    )
    repeats: Annotated[int, Field(ge=3, le=10_000)] = Field(
        default=100, description="timed runs of each variant in the first round"
    )
    max_ms: Annotated[float, Field(gt=0, le=60_000)] = Field(
        default=100, description="that these may take at most, warming up included"
    )
    keep: Annotated[float, Field(ge=0.1, le=0.9)] = Field(
        default=0.5,
        description="share of the variants that go on to the next round, which has 1 / keep times "
        "the repeats",
    )
    finalists: Annotated[int, Field(ge=1, le=64)] = Field(
        default=8,
        description="variants of each problem size that are timed side by side; those that may be "
        "as fast as the fastest come with them, as many again at most",
    )
    passes: Annotated[int, Field(ge=2, le=20)] = Field(
        default=6, description="how often each finalist is timed in turn with the others"
    )
    spills: Literal["prune", "run"] = Field(
        default="prune", description="whether variants that spill registers are not run"
    )


def read_search(raw: Any, *, kind: str, base: Mapping[str, Any]) -> SearchRequest | None:
    """Return the search of a sweep of `kind` (compilations or launches).

    Raises RequestRejected for an invalid search, and for any search of a sweep whose variants do
    not have one time each.
    """
    if raw is None:
        return None
    if kind != "launches":
        message = (
            "there is nothing to time: `base` is a compilation. Make it a launch (a compilation "
            "with arguments and a grid), or leave `search` out"
        )
        raise RequestRejected(FieldError("/search", message))
    search = read(SearchRequest, raw, "/search")
    if base.get("cases"):
        message = (
            "a search times one run of each variant; put what the cases change into an axis "
            "`arguments`: each of its problem sizes has a winner"
        )
        raise RequestRejected(FieldError("/base/cases", message))
    return search
