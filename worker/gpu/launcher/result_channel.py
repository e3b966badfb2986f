"""The way of frames from a launcher to its worker: a socket that carries large outputs as memory.

A frame whose header has `shared` has no body: the memory comes with it as a descriptor, sealed.
Runs in launchers.
"""

import socket
from typing import Any

from worker.gpu.launcher.output_memory import SharedOutput
from worker.pool import frame

CHUNK_BYTES = 16 << 20
"""Outputs that are not shared are sent in pieces of this size."""


class ResultChannel:
    """Sends frames through a socket that the worker has given."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._socket = socket.socket(fileno=descriptor)

    def send(self, nonce: bytes, header: dict[str, Any], body: bytes | SharedOutput = b"") -> None:
        """Send one frame. Raises OSError when the worker is gone."""
        if isinstance(body, SharedOutput):
            encoded = frame.encode(nonce, header | {"shared": body.size_bytes})
            sent = socket.send_fds(self._socket, [encoded], [body.descriptor])
            self._socket.sendall(encoded[sent:])
        else:
            self._socket.sendall(frame.encode(nonce, header, body))
