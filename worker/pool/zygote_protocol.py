"""JSON messages, with descriptors, between the worker and its zygote. Standard library only."""

import json
import socket
from collections.abc import Sequence
from typing import Any

_MAX_MESSAGE_BYTES = 64 << 10
_MAX_DESCRIPTORS = 20
"""Four pipes, and the parts of a shared body."""
_CLOSE_ON_EXEC = 0x40000000  # MSG_CMSG_CLOEXEC, which Python does not name


def send(control: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send one message. Raises OSError (BlockingIOError when the other side does not read)."""
    socket.send_fds(control, [json.dumps(message).encode()], descriptors)


def receive(control: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Return the next message and its descriptors (close-on-exec).

    None when the other side is gone.

    Raises OSError (BlockingIOError when nothing is there).
    """
    try:
        data, descriptors, _, _ = socket.recv_fds(
            control, _MAX_MESSAGE_BYTES, _MAX_DESCRIPTORS, _CLOSE_ON_EXEC
        )
    except ConnectionResetError:
        return None, []
    return (json.loads(data) if data else None), descriptors
