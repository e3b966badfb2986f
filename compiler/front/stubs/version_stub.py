"""Replaces `packaging.version`, which modules ask whether Triton or torch is new enough.

Of Python's version numbers (PEP 440) it keeps what comparing them needs. It is here even where
packaging is installed: a source must find the same in every environment.
"""

from __future__ import annotations

import math
import re
from functools import total_ordering
from typing import Any

_FORM = re.compile(
    r"\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>\d*))?"
    r"(?:-(?P<post_n1>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_n2>\d*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_n>\d*))?(?:\+(?P<local>[a-z\d]+(?:[-_.][a-z\d]+)*))?\s*",
    re.IGNORECASE,
)
_PHASES = {"a": 0, "b": 1, "c": 2, "r": 2, "p": 2}


class InvalidVersion(ValueError):
    """Raised for a text that is not a version number."""


@total_ordering
class Version:
    """A version number, compared as PEP 440 orders them."""

    def __init__(self, version: str) -> None:
        match = _FORM.fullmatch(version)
        if match is None:
            message = f"Invalid version: {version!r}"
            raise InvalidVersion(message)
        self._text = version.strip()
        self.release = tuple(int(number) for number in match["release"].split("."))
        self.local = match["local"]
        self.is_devrelease = match["dev"] is not None
        self.is_postrelease = (match["post"] or match["post_n1"]) is not None
        self.is_prerelease = match["pre"] is not None or self.is_devrelease
        self._key = self._order(match)

    @property
    def major(self) -> int:
        """The first number."""
        return self.release[0]

    @property
    def minor(self) -> int:
        """The second number, or 0."""
        return (*self.release, 0)[1]

    @property
    def micro(self) -> int:
        """The third number, or 0."""
        return (*self.release, 0, 0)[2]

    @property
    def base_version(self) -> str:
        """The numbers alone."""
        return ".".join(map(str, self.release))

    def _order(self, match: re.Match[str]) -> tuple[Any, ...]:
        numbers = list(self.release)
        while len(numbers) > 1 and numbers[-1] == 0:
            numbers.pop()
        post = int(match["post_n1"] or match["post_n2"] or 0) if self.is_postrelease else -1
        dev = int(match["dev_n"] or 0) if self.is_devrelease else math.inf
        if match["pre"]:
            pre = (_PHASES[match["pre"][0].lower()], int(match["pre_n"] or 0))
        else:
            pre = (-1, 0) if self.is_devrelease and not self.is_postrelease else (3, 0)
        local = [
            (1, int(part), "") if part.isdigit() else (0, 0, part)
            for part in re.split(r"[-_.]", (self.local or "").lower())
            if part
        ]
        return int(match["epoch"] or 0), numbers, pre, post, dev, local

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key == other._key

    def __lt__(self, other: Version) -> bool:
        return bool(self._key < other._key)

    def __hash__(self) -> int:
        return hash(repr(self._key))

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Version('{self._text}')>"


def parse(version: str) -> Version:
    """Return the version in a text. Raises `InvalidVersion`."""
    return Version(version)
