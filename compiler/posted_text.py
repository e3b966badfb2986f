"""A posted Python text as Python reads it: it is Unicode already, whatever its file is stored in.

A coding line (PEP 263) declares how the bytes of a file are read, so it has no meaning in a text.
One that names no encoding of Python's is refused, as Python refuses the file. Reads text only.
"""

import re
from encodings.aliases import aliases

_BYTE_ORDER_MARK = "\ufeff"
_CODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)  # as Python looks for it
_BLANK = re.compile(r"[ \t\f]*(?:#.*)?$")
_WITHOUT_ALIASES = frozenset(
    {"cp1006", "cp720", "cp737", "cp856", "cp874", "cp875", "koi8_t", "koi8_u", "mac_arabic",
     "mac_croatian", "mac_farsi", "mac_romanian", "palmos", "punycode", "raw_unicode_escape",
     "unicode_escape", "utf_8_sig"}
)  # fmt: skip
_ENCODINGS = _WITHOUT_ALIASES.union(aliases, aliases.values())
_REFUSED = frozenset(
    {"base64_codec", "bz2_codec", "hex_codec", "quopri_codec", "rot_13", "uu_codec", "zlib_codec",
     "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"}
)  # fmt: skip
_SMALL = {"ascii": "\x7f", "latin_1": "\xff"}
"""The last character of each encoding that Python has built in and that lacks some."""


def python_text(posted: str, path: str | None = None) -> str:
    """Return a text without a byte order mark, each of its lines ending in a line feed.

    Raises `SyntaxError`, which names `path`, where it declares an encoding that Python refuses.
    """
    text = posted.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(text.split("\n", 2)[:2], 1):
        if match := _CODING.match(line):
            if why := _fault(match[1], text, marked=posted.startswith(_BYTE_ORDER_MARK)):
                column = match.start(1) + 1
                raise SyntaxError(why, (path, number, column, line, number, match.end(1) + 1))
            break
        if not _BLANK.match(line):
            break
    return text


def lines_of(text: str) -> list[str]:
    """Return the lines of a text as Python's `linecache` has those of its file."""
    return [f"{line}\n" for line in text.removesuffix("\n").split("\n")] if text else []


def _fault(declared: str, text: str, *, marked: bool) -> str | None:
    """Return the error of a text's encoding, which a byte order mark may precede."""
    name = re.sub(r"[-.]+", "_", declared.lower())
    meant = aliases.get(name, name)
    if name not in _ENCODINGS or meant in _REFUSED:
        return f"unknown encoding: {declared}"
    if marked and meant not in {"utf_8", "utf_8_sig"}:
        return f"encoding problem: {declared} with BOM"
    lacked = max(text) if meant in _SMALL else ""
    if lacked > _SMALL.get(meant, ""):
        return f"encoding problem: {declared} has no {lacked!r}, which this text holds"
    return None
