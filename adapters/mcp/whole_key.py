"""Completes the beginning of a key or an id, from the caller's own lists, as tritonc does.

Runs in: service.
"""

import re
from collections.abc import Sequence
from typing import Final

from fastapi import Request

from adapters.mcp.short_answer import ToolAnswer, answer
from service.http.inner_request import ask_itself

_WHOLE: Final = frozenset({32, 64})
"""The characters of an id, and of a compilation's key."""
_BEGINNING: Final = re.compile(r"[0-9a-f]{4,63}")
_MAX_SHOWN: Final = 4


async def whole_key(request: Request, word: str, collections: Sequence[str]) -> str | ToolAnswer:
    """Return the only key or id in `collections` that begins with `word`, or a refusal.

    What cannot be the beginning of one is returned as it is.
    """
    if len(word) in _WHOLE or not _BEGINNING.fullmatch(word):
        return word
    matching: list[str] = []
    for collection in collections:
        query: dict[str, str | int | float] = {"prefix": word, "limit": _MAX_SHOWN}
        listed = await ask_itself(request, "GET", f"/v1/{collection}", query=query)
        if not listed.is_problem:  # the caller's key may lack the scope to list some
            matching += [item["id"] for item in listed.json["items"]]
    if len(matching) == 1:
        return matching[0]
    if not matching:
        shown = f"None of your results starts with {word!r}."
        step = "use the whole key or id, or compile or run it again"
    else:
        shown = f"Several of your results start with {word!r}: {', '.join(matching[:_MAX_SHOWN])}."
        step = "use one of these"
    return answer(shown, next_step=step, is_refusal=True, fault="request", slug="not_found")
