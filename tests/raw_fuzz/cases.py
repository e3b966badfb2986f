"""Cases: valid requests with random changes, which make most of them invalid.

A case depends only on its seed and its number, so it can be sent again.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from dataclasses import dataclass

MAX_BYTES = 100_000
NPY = b"\x93NUMPY\x01\x00\x36\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} \n\0\0\0\0"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "fuzz", "version": "1"},
    },
}
STATE = {"version": 1, "request": {"language": "python", "source": "x"}, "panes": ["ptx"]}
PATHS = [
    "/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/learn",
    "/v1/system",
    "/v1/targets",
    "/v1/workers",
    "/v1/compilations/none",
    "/v1/compilations/none?wait=0",
    "/v1/compilations/none/artifacts/ptx",
    "/v1/compilations/none/events",
    "/v1/launches/none",
    "/v1/tensors/sha256:0",
    "/v1/blobs/sha256:0",
    "/v1/batches/none",
    "/v1/sweeps/none?format=csv",
    "/v1/states/sha256:0",
    "/e/sha256:0",
    "/api/compilers",
    "/api/languages",
    "/tasks/none",
]
POSTED: list[tuple[str, str, object]] = [
    ("POST", "/v1/compilations?wait=0", {"source": "def", "target": "none"}),
    ("POST", "/v1/compilations", {"source": 1, "signature": {"x": "*fp32"}, "options": []}),
    ("POST", "/v1/inspect?wait=0", {"sources": []}),
    ("POST", "/v1/launches", {"compilation": {}, "grid": [1, "cdiv(n, 2)"], "arguments": {}}),
    ("POST", "/v1/launches/query", {"ids": []}),
    ("POST", "/v1/batches", {"compilations": [{}, 1, None]}),
    ("POST", "/v1/sweeps", {"base": {}, "space": {"product": {"a": [1, 2]}}, "where": ["a > b"]}),
    ("POST", "/v1/programs", {"program": {"source": "x"}}),
    ("POST", "/evaluate", {"task_id": "x", "kernel_code": ""}),
    ("POST", "/mcp", INITIALIZE),
    ("POST", "/api/compiler/none/compile", {"source": "x", "options": {}}),
    ("PUT", "/v1/states/sha256:0", STATE),
    ("DELETE", "/v1/tensors/sha256:0", None),
    ("OPTIONS", "/v1/system", None),
]
FIELDS = [
    b"Content-Length: 5",
    b"Content-Length: 99999999999999999999",
    b"Content-Length: -1",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: x",
    b"Host: evil.example",
    b"Host:",
    b"Expect: 100-continue",
    b"Connection: close, upgrade",
    b"Connection: upgrade\r\nUpgrade: h2c",
    b"Connection: upgrade\r\nUpgrade: websocket",
    b"Authorization: Bearer x",
    b"Authorization: Basic eDp5",
    b"Prefer: wait=0",
    b"Prefer: wait=\xff",
    b"Origin: null",
    b"Origin: http://\xe9",
    b"Sec-Fetch-Site: cross-site",
    b"Accept: */*;q=\x80",
    b"Accept-Encoding: zstd;q=2",
    b"If-None-Match: *",
    b'If-None-Match: W/"\xff',
    b"Range: bytes=-1",
    b"Content-Type: application/json; charset=\xfe",
    b"Content-Encoding: zstd",
    b"Cookie: " + b"a" * 999,
    b"X-Forwarded-For: ::1, \x7f",
    b'X-Request-ID: "',
    b"Last-Event-ID: -",
    b"Idempotency-Key: \xff",
    b" folded",
    b"no colon",
    b": no name",
    b"a\x00b: c",
    b"A: " + b"b" * 70_000,
    b"a:b\r\n" * 200 + b"c:d",
]
TARGETS = [
    b"http://evil.example/healthz",
    b"http://localhost/healthz",
    b"http://localhost",
    b"ftp://localhost/",
    b"*",
    b"//evil.example/",
    b"/%00",
    b"/%ff%fe",
    b"/%",
    b"/v1/../v1/system",
    b"/" + b"a" * 9_000,
    b"/\xff",
    b"/v1/compilations/%2e%2e",
    b"/?" + b"a=b&" * 999,
    b"/v1/system?wait=%",
    b"/healthz#x",
    b"localhost:80",
    b"/v1/sweeps/x?sort=%00",
    b"/v1/compilations/" + b"%41" * 2_000,
    b"http://[::1",
    b"http://user@localhost/",
]
BYTES = [
    b"\r\n",
    b"\n",
    b"\r",
    b"\x00",
    b"\xff",
    b" ",
    b"\t",
    b":",
    b";",
    b"0\r\n\r\n",
    b"\r\n\r\n",
    b"%",
    b'"',
    b"{",
    b"[" * 5_000,
    b"\xed\xa0\x80",
    b"1e999",
    b"9" * 400,
]


@dataclass(frozen=True)
class Case:
    """The bytes of one connection, in pieces."""

    number: int
    pieces: tuple[bytes, ...]


def case(seed: int, number: int) -> Case:
    """Return one case."""
    chance = random.Random(f"{seed}:{number}")
    sent = b"".join(_request(chance) for _ in range(chance.choice([1, 1, 1, 2, 3, 12])))
    for _ in range(chance.choice([0, 1, 1, 2, 3, 8])):
        sent = chance.choice(CHANGES)(sent, chance)[:MAX_BYTES]
    cuts = sorted(chance.randrange(len(sent) + 1) for _ in range(chance.choice([0, 0, 0, 1, 3])))
    edges = [0, *cuts, len(sent)]
    pieces = (sent[start:end] for start, end in itertools.pairwise(edges))
    return Case(number, tuple(filter(None, pieces)))


def _request(chance: random.Random) -> bytes:
    method, path, body = "GET", chance.choice(PATHS), b""
    fields = [b"Host: localhost"]
    if chance.random() < 0.6:
        method, path, posted = chance.choice(POSTED)
        body = b"" if posted is None else json.dumps(posted).encode()
        fields.append(b"Content-Type: application/json")
    if chance.random() < 0.05:
        method, path, body = "PUT", "/v1/tensors/sha256:0", NPY
    if chance.random() < 0.3:
        fields.insert(chance.randrange(len(fields) + 1), chance.choice(FIELDS))
    if body and chance.random() < 0.4:
        fields.append(b"Transfer-Encoding: chunked")
        body = _chunked(body, chance)
    elif body:
        fields.append(b"Content-Length: %d" % len(body))
    head = [f"{method} {path} HTTP/1.1".encode(), *fields, b"", b""]
    return b"\r\n".join(head) + body


def _chunked(body: bytes, chance: random.Random) -> bytes:
    sent, size = [], chance.choice([1, 7, 64, 4096])
    extension = chance.choice([b"", b"", b";a=b", b";" + b"e" * chance.randrange(9_000)])
    for start in range(0, len(body), size):
        part = body[start : start + size]
        sent.append(b"%x%s\r\n%s\r\n" % (len(part), extension, part))
    trailer = chance.choice(
        [b"", b"", b"a: b\r\n", b"Host: evil\r\n", b"t: x\r\n" * chance.randrange(3_000)]
    )
    return b"".join([*sent, b"0\r\n", trailer, b"\r\n"])


def _change_byte(sent: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(sent) + 1)
    return sent[:at] + bytes([chance.randrange(256)]) + sent[at + 1 :]


def _insert(sent: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(sent) + 1)
    return sent[:at] + chance.choice(BYTES) + sent[at:]


def _delete(sent: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(sent) + 1)
    return sent[:at] + sent[at + chance.choice([1, 2, 10, 100]) :]


def _repeat(sent: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(sent) + 1)
    return (
        sent[:at]
        + sent[at : at + chance.randrange(1, 60)] * chance.choice([2, 20, 500])
        + sent[at:]
    )


def _cut_off(sent: bytes, chance: random.Random) -> bytes:
    return sent[: chance.randrange(len(sent) + 1)]


def _change_line(sent: bytes, chance: random.Random) -> bytes:
    lines = sent.split(b"\r\n")
    lines.insert(chance.randrange(1, len(lines) + 1), chance.choice(FIELDS))
    return b"\r\n".join(lines)


def _change_target(sent: bytes, chance: random.Random) -> bytes:
    method, _, rest = sent.partition(b" ")
    return method + b" " + chance.choice(TARGETS) + b" " + rest.partition(b" ")[2]


def _change_word(sent: bytes, chance: random.Random) -> bytes:
    word, other = chance.choice(
        [
            (b"GET", b"HEAD"),
            (b"POST", b"GET"),
            (b"GET", b"POST"),
            (b"1.1", b"1.0"),
            (b"1.1", b"2.0"),
            (b"POST", b"CONNECT"),
            (b"PUT", b"PATCH"),
            (b"\r\n", b"\n"),
            (b": ", b":\t"),
            (b"localhost", b"LOCALHOST:1"),
        ]
    )
    return sent.replace(word, other)


def _random_bytes(sent: bytes, chance: random.Random) -> bytes:
    return chance.randbytes(chance.randrange(1, 400)) if chance.random() < 0.2 else sent


CHANGES: list[Callable[[bytes, random.Random], bytes]] = [
    _change_byte,
    _change_byte,
    _insert,
    _delete,
    _repeat,
    _cut_off,
    _change_line,
    _change_line,
    _change_target,
    _change_word,
    _random_bytes,
]
