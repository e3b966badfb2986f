# Generated from tritonc/_async/tensors.py by `make client`; change that file instead.
"""Uploaded tensors: the methods of `Client.tensors`."""

from collections.abc import Iterable
from urllib.parse import quote

import httpx

from tritonc._sync.http_connection import Connection
from tritonc.exchange import Request
from tritonc.service_errors import ProblemError
from tritonc.upload import Upload

NPY = {"Content-Type": "application/x-npy"}


class Tensors:
    """The caller's tensors, stored by the digest of their .npy files.

    Launches upload missing tensors automatically. Use these methods to manage the stored ones.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, upload: Upload) -> str:
        """Upload the tensor and return its digest."""
        path = _path(upload.digest)
        put = Request("PUT", path, content=upload.content, headers=NPY, repeatable=True)
        self._connection.send(put)
        return upload.digest

    def get(self, digest: str) -> bytes:
        """Return the .npy file."""
        get = Request("GET", _path(digest), repeatable=True, may_redirect=True, is_for_file=True)
        answer = self._connection.send(get)
        return answer.content

    def has(self, digest: str) -> bool:
        """Return whether the service has the tensor."""
        try:
            self._connection.send(Request("HEAD", _path(digest), repeatable=True))
        except ProblemError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return False
            raise
        return True

    def delete(self, digest: str) -> None:
        """Delete a tensor. Raises ProblemError (404) if it does not exist."""
        self._connection.send(Request("DELETE", _path(digest)))


def upload_missing(connection: Connection, uploads: Iterable[Upload]) -> None:
    """Upload the tensors that the service does not have yet."""
    tensors = Tensors(connection)
    for upload in uploads:
        if not tensors.has(upload.digest):
            tensors.put(upload)


def _path(digest: str) -> str:
    return f"/v1/tensors/{quote(digest, safe=':')}"
