"""Reads just enough of a cubin (ELF, 64 bit, little endian) to see whether two hold equal code."""

from __future__ import annotations

import struct

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_MAGIC = b"\x7fELF\x02\x01"


def code_of(cubin: bytes) -> dict[bytes, bytes]:
    """Return the bytes of every section with code (`.text.<function>`), by name.

    Raises `ValueError` when `cubin` is no such file.
    """
    try:
        return dict(_sections(cubin))
    except struct.error as error:
        message = f"the cubin is cut short: {error}"
        raise ValueError(message) from error


def _sections(cubin: bytes) -> list[tuple[bytes, bytes]]:
    header = _HEADER.unpack_from(cubin)
    if not header[0].startswith(_MAGIC):
        message = "not a 64-bit little-endian ELF file"
        raise ValueError(message)
    start, count, names = header[6], header[12], header[13]
    found = [_SECTION.unpack_from(cubin, start + i * _SECTION.size) for i in range(count)]
    if names >= count:
        message = "no section holds the names of the sections"
        raise ValueError(message)
    _, _, _, _, offset, size, *_ = found[names]
    table = cubin[offset : offset + size]
    code = []
    for at, _, _, _, offset, size, *_ in found:
        name = table[at : table.find(b"\0", at)]
        if name.startswith(b".text."):
            code.append((name, cubin[offset : offset + size]))
    return code
