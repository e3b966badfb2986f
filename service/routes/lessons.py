"""The lessons of the page, as data: texts, hints, and the requests that judge a kernel.

`make page` writes them from the page's sources.
"""

from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from service.http.openapi import answer_of
from service.http.validators import Caching, validated
from service.state import state_of

_LESSONS = files("service").joinpath("lessons.json").read_bytes()
router = APIRouter(prefix="/v1", tags=["lessons"])


class LessonLaunch(BaseModel):
    """One launch that judges a kernel."""

    sizes: str
    is_hidden: bool = Field(description="true for sizes that the page does not show")
    body: dict[str, Any] = Field(
        description="of POST /v1/launches, without `compilation.source`: set the kernel's"
    )


class LessonText(BaseModel):
    """One lesson. Its kernel is right if each launch has the verdict `passed`."""

    name: str = Field(description="of the kernel")
    chapter: str
    title: str
    text: list[str] = Field(description="paragraphs; texts in backticks are code")
    goal: str
    start: str = Field(description="the source to begin with")
    hints: list[str] = Field(description="from a first step to nearly the whole solution")
    solution: str
    launches: list[LessonLaunch]
    proof: dict[str, Any] | None = Field(
        description="of POST /v1/proofs, without `source`, where the kernel must be `proved`, too"
    )
    sweep: dict[str, Any] | None = Field(
        description="of POST /v1/sweeps, without `base.compilation.source`, where every row of its "
        "autotuner must have passed, too"
    )
    configurations: int | None = Field(description="the fewest that its autotuner must have")


class LessonList(BaseModel):
    """All lessons, in their order."""

    lessons: list[LessonText]


_SHOWN = {
    "the first of the lessons": {
        "lessons": LessonList.model_validate_json(_LESSONS).model_dump()["lessons"][:1]
    }
}


@router.get(
    "/lessons",
    summary="List the lessons on writing kernels",
    responses=answer_of(LessonList, _SHOWN),
)
async def get_lessons(request: Request) -> Response:
    """Answer every lesson with its text, hints, solution, and the requests that judge a kernel."""
    state = state_of(request)
    await state.callers.identify(request, "compile", "launch")
    return await validated(request, _LESSONS, Caching.REVALIDATED, {})
