"""A large body is parsed in a thread of its caller, a small one where it came."""

import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, model_validator

from compiler.rejection import RequestRejected
from service.caller_threads import CallerThreads
from service.large_bodies import IN_LOOP_BYTES, parsed


class Posted(BaseModel):
    text: str
    thread: int = 0

    @model_validator(mode="before")
    @classmethod
    def _note_thread(cls, data: Any) -> Any:
        return data | {"thread": threading.get_ident()}


def body(size_bytes: int) -> bytes:
    return json.dumps({"text": "x" * size_bytes}).encode()


async def test_only_a_large_body_takes_a_thread():
    state: Any = SimpleNamespace(threads=CallerThreads())

    small = await parsed(state, body(100), Posted)
    large = await parsed(state, body(IN_LOOP_BYTES), Posted)

    assert small.thread == threading.get_ident() != large.thread
    assert len(large.text) == IN_LOOP_BYTES
    with pytest.raises(RequestRejected):
        await parsed(state, json.dumps({"text": ["x"] * IN_LOOP_BYTES}).encode(), Posted)
