"""Differences of two compilations: resources, instructions, and the text of each stage.

Both must belong to the caller. A worker compares them, so a request waits as for a derivation.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from compiler.compilation import Compilation
from compiler.derivation import DIFF
from compiler.stages import COMPARED
from compiler.target import parse_target
from service.compilations.derivations import (
    DerivationRequest,
    Found,
    compared,
    read_finished,
)
from service.http.openapi import wait_parameter
from service.http.problems import ProblemRaised
from service.routes.derived import answer_derivation

router = APIRouter(prefix="/v1/compilations", tags=["artifacts"])

_EXAMPLE: dict[str, Any] = {
    "a": "3f0c…",
    "b": "9a41…",
    "same": False,
    "state": {"a": "succeeded", "b": "succeeded"},
    "problem": {"a": None, "b": None},
    "kernel": {"a": "add_kernel", "b": "add_kernel"},
    "target": {"a": "cuda:90", "b": "cuda:90"},
    "toolchain": {},
    "options": {"num_warps": {"a": 4, "b": 8}},
    "parameters": {},
    "resources": {"registers": {"a": 32, "b": 24}},
    "instructions": {
        "a": {"total": 52, "code_bytes": 832, "by_class": {"global_load": 8}},
        "b": {"total": 44, "code_bytes": 704, "by_class": {"global_load": 4}},
        "delta": {
            "total": -8,
            "by_class": {"global_load": -4},
            "by_opcode": {"LDG.E.128": -4},
        },
        "by_line": [
            {
                "file": "user.py",
                "a_line": 11,
                "b_line": 12,
                "delta": {"total": -4, "by_class": {"global_load": -4}},
            }
        ],
    },
    "stages": [
        {
            "stage": "ptx",
            "same": False,
            "only_in": None,
            "added": 1,
            "removed": 1,
            "registers_differ": False,
            "diff": "--- a/ptx\n+++ b/ptx\n@@ -12,1 +12,1 @@\n-.reqntid 128\n+.reqntid 256\n",
            "truncated": False,
        }
    ],
}


@router.get(
    "/{key}/diff/{other}",
    summary="Compare two compilations, ignoring names and locations",
    responses={
        200: {"content": {"application/json": {"example": _EXAMPLE}}},
        202: {"description": "Not ready yet; ask again"},
    },
    openapi_extra={"parameters": [wait_parameter()]},
)
async def get_diff(
    request: Request,
    key: str,
    other: str,
    stages: Annotated[
        Sequence[str], Query(description="stages to compare, comma-separated or repeated")
    ] = (),
) -> Response:
    """Answer how the results of `other` differ from those of `key`, and how the requests differ."""
    wanted = _wanted(stages)

    async def find(asked: DerivationRequest) -> tuple[Sequence[Compilation], Found]:
        first = await read_finished(asked.state, asked.caller, key)
        second = await read_finished(asked.state, asked.caller, other)
        return (first, second), await compared(asked, first, second, _there(wanted, first, second))

    return await answer_derivation(request, DIFF, find)


def _wanted(stages: Sequence[str]) -> tuple[str, ...]:
    named = [stage for stage in ",".join(stages).split(",") if stage]
    for stage in named:
        if stage not in COMPARED:
            known = ", ".join(COMPARED)
            detail = (
                f"stages: {stage[:100]!r} has no text to compare; the stages with one are {known}"
            )
            raise ProblemRaised("invalid_request", detail, parameter="stages")
    return tuple(stage for stage in COMPARED if stage in named)


def _there(wanted: tuple[str, ...], first: Compilation, second: Compilation) -> tuple[str, ...]:
    """Return the stages to compare: those wanted, or all, as far as one of both has them.

    Raises ProblemRaised (404) for one that is wanted and that neither has.
    """
    reached = {*first.artifacts, *second.artifacts}
    reached |= {"sass"} if "cubin" in reached else set()
    for stage in wanted:
        if stage not in reached:
            needs = "cubin" if stage == "sass" else stage
            targets = [parse_target(each.target) for each in (first, second)]
            if not any(needs in target.stages for target in targets):
                both = " nor ".join(dict.fromkeys(str(target) for target in targets))
                raise ProblemRaised("no_such_stage", f"Neither {both} has a stage {stage!r}")
            detail = f"Neither compilation reached {stage!r}"
            raise ProblemRaised("stage_not_reached", detail)
    return wanted or tuple(stage for stage in COMPARED if stage in reached)
