"""Accounts of callers by day. A caller sees its own accounts, an admin those of all."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from service.caller import require
from service.http.openapi import answer_of
from service.http.problems import ProblemRaised
from service.state import state_of

ALL = "*"
MAX_AMOUNTS: Final = 50_000
"""Those of 285 callers who use all kinds on each of 35 days; 2 MB of JSON."""
router = APIRouter(tags=["system"])


class DayOfUsage(BaseModel):
    """Amounts that one caller used on one day."""

    model_config = ConfigDict(frozen=True)

    day: str = Field(description="Of UTC.")
    caller: str = Field(description="The id of the API key, or `anonymous`.")
    requests: int = Field(description="Requests that were answered, hits included.")
    received_bytes: int = Field(description="Of the bodies of requests.")
    sent_bytes: int = Field(description="Of the bodies of answers.")
    cpu_seconds: float = Field(description="Of the processes that ran its jobs.")
    gpu_seconds: float = Field(description="For which its jobs had a GPU for themselves.")


class UsageAnswer(BaseModel):
    """The last 35 days, newest first, without days on which nothing was used."""

    model_config = ConfigDict(frozen=True)

    days: list[DayOfUsage]


EXAMPLE = {
    "days": [
        {
            "day": "2026-11-26",
            "caller": "1f0c9f2f6c1f4f7e",
            "requests": 1200,
            "received_bytes": 2400000,
            "sent_bytes": 31200000,
            "cpu_seconds": 61.4,
            "gpu_seconds": 12.7,
        }
    ]
}
Of = Annotated[
    str | None,
    Query(max_length=64, description="Id of an API key, or `*` for all; only admins see others."),
]


@router.get(
    "/v1/usage",
    summary="Get what callers used, by day",
    responses=answer_of(UsageAnswer, {"one day": EXAMPLE}),
)
async def get_usage(request: Request, caller: Of = None) -> UsageAnswer:
    """Answer requests, bytes, CPU and GPU seconds of the last 35 days, a few seconds late.

    A job that several callers want is charged to the one whose turn it took.
    """
    state = state_of(request)
    own = await state.callers.identify(request, "compile", "launch")
    if caller not in {None, own.id}:
        require(own, "admin")
    if caller == ALL:
        if (amounts := await state.usage.amounts()) > MAX_AMOUNTS:
            detail = (
                f"The usage of all callers has {amounts} entries, and an answer holds at most "
                f"{MAX_AMOUNTS}; ask for one caller at a time"
            )
            raise ProblemRaised("too_large", detail, limit=MAX_AMOUNTS)
        rows = await state.usage.of_all()
    else:
        rows = await state.usage.of(caller or own.id)
    return UsageAnswer(
        days=[
            DayOfUsage(
                day=row.day,
                caller=row.caller,
                requests=int(row.used.requests),
                received_bytes=int(row.used.received_bytes),
                sent_bytes=int(row.used.sent_bytes),
                cpu_seconds=round(row.used.cpu_seconds, 3),
                gpu_seconds=round(row.used.gpu_seconds, 3),
            )
            for row in rows
        ]
    )
