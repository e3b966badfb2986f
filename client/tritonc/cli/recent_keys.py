"""Keys and ids that this user saw lately, so that a prefix or `@last` stands for a whole one.

They are in one small file of the user's cache folder, newest last. Only results of commands are
written there; a file that cannot be read or written is not an error, as it only saves typing.
"""

import os
import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tritonc._sync.client import Client
from tritonc.own_list import KINDS
from tritonc.service_errors import ProblemError

LAST = "@last"
MAX_KEYS = 500
MAX_BYTES = 1 << 20
MAX_ID = 64
_ID = re.compile(r"[0-9a-f]{32,64}")
_PREFIX = re.compile(r"[0-9a-f]+")
_MAX_SHOWN = 4


@dataclass(frozen=True, slots=True)
class RecentKeys:
    """The file, and the service that the keys are of."""

    path: Path | None
    url: str

    @classmethod
    def of(cls, environment: Mapping[str, str], url: str) -> "RecentKeys":
        """Return those in XDG_CACHE_HOME, by default ~/.cache; none without a home folder."""
        home, folder = environment.get("HOME"), environment.get("XDG_CACHE_HOME")
        cache = Path(folder) if folder else Path(home) / ".cache" if home else None
        return cls(cache and cache / "tritonc" / "recent", url)

    def known(self) -> list[str]:
        """Return the keys of this service, oldest first."""
        return list(self._names())

    def name_of(self, key: str) -> str:
        """Return the name of the file that a key was made from, empty if it is not known."""
        return self._names().get(key, "")

    def _names(self) -> dict[str, str]:
        words = (line.split("\t") for line in self._lines())
        return {row[1]: row[2] for row in words if len(row) == 3 and row[0] == self.url}

    def add(self, keys: Iterable[str], name: str = "") -> None:
        """Add keys as the newest ones, made from the file `name`."""
        name = name if name.isprintable() else ""
        added = [f"{self.url}\t{key}\t{name}" for key in keys if _ID.fullmatch(key)]
        if not added or self.path is None or not self.url.isprintable():
            return
        again = {line.split("\t")[1] for line in added}
        kept = [line for line in self._lines() if again.isdisjoint(line.split("\t"))]
        text = "\n".join([*kept, *added][-MAX_KEYS:]) + "\n"
        with suppress(OSError):  # it only saves typing
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            written = self.path.with_name(f"recent.{os.getpid()}")
            written.write_text(text, encoding="utf-8")
            written.replace(self.path)

    def resolved(self, word: str) -> str:
        """Return the key that `word` means: the last one, one that starts with it, or itself.

        Raises ArgumentTypeError if several start with it, or nothing is the last.
        """
        if word == LAST:
            return self._last()
        if not is_prefix(word):
            return word
        matching = [key for key in self.known() if key.startswith(word)]
        if not matching:
            return word
        if len(matching) > 1:
            listed = ", ".join(key[: len(word) + 8] for key in matching[-4:])
            raise ArgumentTypeError(f"{word}: several recent keys start with this: {listed}")
        return matching[0]

    def _last(self) -> str:
        known = self.known()
        if not known:
            raise ArgumentTypeError(f"{LAST}: no command has produced a result from {self.url} yet")
        return known[-1]

    def _lines(self) -> list[str]:
        if self.path is None:
            return []
        try:
            with self.path.open("rb") as file:
                text = file.read(MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return []
        return text.splitlines()[-MAX_KEYS:]


def remember(args: Namespace, keys: Iterable[str], name: str = "") -> None:
    """Add the results of a command; a notebook has no file of them."""
    recent: RecentKeys | None = getattr(args, "recent", None)
    if recent is not None:
        recent.add(keys, name)


def is_prefix(word: str) -> bool:
    """Return whether a word may be the beginning of a key or id, and is not a whole one."""
    is_whole = len(word) in (32, MAX_ID) or len(word) > MAX_ID
    return bool(_PREFIX.fullmatch(word)) and not is_whole


def whole_key(word: str, recent: RecentKeys, client: Client) -> str:
    """Return the key or id that `word` means, `word` itself if it is not a prefix of any.

    Results of this machine come first, then those that the service lists for this caller. Raises
    ArgumentTypeError if several start with it, or none does.
    """
    key = recent.resolved(word)
    if not is_prefix(key):
        return key
    matching = [each for kind in KINDS for each in _listed(client, kind, key)]
    if not matching:
        message = f"{word}: none of your results starts with this; "
        message += "`tritonc list` shows those that are kept"
        raise ArgumentTypeError(message)
    if len(matching) > 1:
        listed = ", ".join(each[: len(word) + 8] for each in matching[:_MAX_SHOWN])
        raise ArgumentTypeError(f"{word}: several of your results start with this: {listed}")
    return matching[0]


def _listed(client: Client, kind: str, prefix: str) -> list[str]:
    """Return ids of the caller's own that begin with a prefix; none if the key may not list."""
    try:
        page = client.list(kind, prefix=prefix, limit=_MAX_SHOWN)
    except ProblemError as error:
        if error.slug != "forbidden":
            raise
        return []
    return [item.id for item in page]
