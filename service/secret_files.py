"""Secrets from files: TRITOND_ADMIN_KEY_FILE names the file with TRITOND_ADMIN_KEY.

So orchestrators mount them, and they are in no process's visible environment at its start.
"""

from collections.abc import MutableMapping
from pathlib import Path

SECRETS = ("TRITOND_ADMIN_KEY", "TRITOND_REDIS_URL", "TRITOND_CACHE_URL")
FILE = "_FILE"
MAX_BYTES = 64 << 10


class InvalidSecretFile(Exception):
    """A variable that names a file without a usable secret; the message has no secret."""


def read_secret_files(environment: MutableMapping[str, str]) -> None:
    """Replace each secret's `_FILE` variable by the secret. Raises InvalidSecretFile."""
    for name in SECRETS:
        path = environment.pop(name + FILE, "")
        if not path:
            continue
        if environment.get(name):
            raise InvalidSecretFile(f"{name} and {name}{FILE} are both set; keep one")
        try:
            with Path(path).open("rb") as file:
                secret = file.read(MAX_BYTES).decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise InvalidSecretFile(f"{name}{FILE}: {path}: {reason}") from error
        if not secret:
            raise InvalidSecretFile(f"{name}{FILE}: {path} is empty")
        environment[name] = secret
