"""Orders as launchers read them: what is too big to be sent is known before a GPU is waited for."""

import os
from dataclasses import dataclass
from typing import Any, Protocol

from worker.pool import frame


class Order(Protocol):
    """An order for a launcher."""

    def to_frame(self) -> tuple[dict[str, Any], bytes]:
        """Return the header and the body of its frame."""


@dataclass(frozen=True, slots=True)
class EncodedOrder:
    """A frame, and the nonce that the answers to it have. To be sent once."""

    nonce: bytes
    data: bytes


def encode(job: Order) -> EncodedOrder:
    """Return a job as it is sent. Raises FrameError when it is too big."""
    return framed(*job.to_frame())


def framed(header: dict[str, Any], body: bytes = b"") -> EncodedOrder:
    """Return an order of this header and body. Raises FrameError when it is too big."""
    nonce = os.urandom(frame.NONCE_BYTES)
    return EncodedOrder(nonce, frame.encode(nonce, header, body))
