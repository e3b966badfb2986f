"""One case: a request at its limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.cost_fuzz.prepared import Prepared, digest_of
from tests.cost_fuzz.sending import Sent

MAX_BODY_BYTES = 8 << 20
MAX_BATCH_BYTES = 16 << 20


@dataclass(frozen=True)
class Case:
    """A request that a deployment makes from what it holds."""

    name: str
    operation: str
    """Its method and path, as in the OpenAPI document."""
    make: Callable[[Prepared], Sent]
    clients: int = 1
    """The number of clients that send it at once."""


def posting(operation: str, path: str, body: Any, items: int = 0) -> Sent:
    """Return a request with a JSON body; one that is stored has its digest in the path."""
    method = operation.partition(" ")[0]
    encoded = json.dumps(body, separators=(",", ":")).encode()
    if operation == "PUT /v1/states/{digest}":
        path = f"/v1/states/{digest_of(encoded)}"
    return Sent(method, path, encoded, items=items)
