"""Parsing of posted bodies: a large one in a thread of its caller, where it holds up no other.

Threads cost a small request more than its parsing does.
"""

from typing import Final, TypeVar

from pydantic import BaseModel

from service.http.body import parse_body
from service.state import ServiceState

IN_LOOP_BYTES: Final = 256 << 10
"""Some 5 ms of parsing; larger bodies are parsed in threads."""
_Model = TypeVar("_Model", bound=BaseModel)


async def parsed(state: ServiceState, body: bytes, model: type[_Model]) -> _Model:
    """Return `parse_body(body, model)`, and raise what it raises."""
    if len(body) <= IN_LOOP_BYTES:
        return parse_body(body, model)
    return await state.threads.run(parse_body, body, model)
