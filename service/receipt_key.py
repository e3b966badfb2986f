"""The Ed25519 key that signs receipts: read from its file, which is made if it does not exist."""

import base64
import hashlib
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

MAX_KEY_BYTES = 4096
_OF_OTHERS = 0o007
_ID_CHARS = 16


class InvalidReceiptKey(ValueError):
    """A key file that cannot be used; the message has no secret."""


@dataclass(frozen=True, slots=True)
class ReceiptKey:
    """The key of a deployment. All of its services read the same file."""

    private: Ed25519PrivateKey = field(repr=False)

    @property
    def public(self) -> str:
        """The public half: its 32 bytes in base64."""
        raw = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return base64.b64encode(raw).decode()

    @property
    def id(self) -> str:
        """The first hex digits of the public half's SHA-256."""
        return hashlib.sha256(base64.b64decode(self.public)).hexdigest()[:_ID_CHARS]

    def sign(self, message: bytes) -> bytes:
        """Return the signature of `message`."""
        return self.private.sign(message)

    def described(self) -> dict[str, str]:
        """Return the public half, as `GET /v1/system` answers it."""
        return {"algorithm": "Ed25519", "id": self.id, "public": self.public}


def receipt_key(path: Path | None) -> ReceiptKey | None:
    """Return the key in the file at `path`, None without a path. Raises InvalidReceiptKey."""
    if path is None:
        return None
    try:
        if not path.exists():
            _make(path)
        with path.open("rb") as file:
            mode, text = os.fstat(file.fileno()).st_mode, file.read(MAX_KEY_BYTES)
    except OSError as error:
        raise InvalidReceiptKey(f"{path}: {error.strerror}") from None
    if mode & _OF_OTHERS:
        raise InvalidReceiptKey(f"every user may read {path}; run: chmod 600 {path}")
    try:
        private = load_pem_private_key(text, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        private = None
    if not isinstance(private, Ed25519PrivateKey):
        message = f"{path} is not an Ed25519 key; create one: openssl genpkey -algorithm ed25519"
        raise InvalidReceiptKey(message)
    return ReceiptKey(private)


def _make(path: Path) -> None:
    """Write a new key, readable by its owner alone; one that another process made first stays."""
    text = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another service of this deployment has made the key meanwhile: it counts
    finally:
        draft.unlink()
