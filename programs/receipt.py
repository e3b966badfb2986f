"""A program's receipt: what was asked, what ran and what came out, for others to judge again.

A worker writes its part, `ReceiptWork`. The service adds the record and the tapes, and signs.
Only data: this module does not know how programs run.
"""

import base64
from typing import Any, Final, Literal

import orjson
from pydantic import Field, JsonValue

from compiler.compilation import Record

PAYLOAD_TYPE: Final = "application/vnd.tritond.receipt+json"
RECEIPT_VERSION: Final = 1
MAX_VALUES: Final = 1_000
MAX_KERNELS: Final = 1_000
MAX_TAPE_BYTES: Final = 4 << 20
"""Limit of the tapes within a receipt; it has only the digests of longer ones."""


class ReceiptValue(Record):
    """One output of one call, or an input that the call changed."""

    case: int
    trial: int
    program: Literal["candidate", "reference"]
    call: int
    path: str
    dtype: str
    shape: list[int]
    sha256: str | None = Field(
        description="of the elements in C order; null: they stayed on a GPU, or some were never "
        "written"
    )


class ReceiptWork(Record):
    """The worker's part of a receipt."""

    finished_at: str = Field(description="by the worker's clock, in UTC")
    triton: str
    job: dict[str, JsonValue] = Field(
        description="what was asked: sources, entries, inputs, tolerance, checks and `seed`"
    )
    kernels: dict[str, dict[str, str]] = Field(
        default_factory=dict, description="by compilation key: the digest of each stage"
    )
    values: list[ReceiptValue] = Field(
        default_factory=list, description=f"of all cases and trials, the first {MAX_VALUES:,}"
    )


class ReceiptSignature(Record):
    """A signature of a receipt's payload."""

    keyid: str
    sig: str = Field(description="base64")


class Receipt(Record):
    """A signed receipt in the DSSE format: https://github.com/secure-systems-lab/dsse."""

    payloadType: str = PAYLOAD_TYPE  # noqa: N815
    payload: str = Field(description="the receipt as JSON, in base64")
    signatures: list[ReceiptSignature]


def signed_bytes(payload: bytes) -> bytes:
    """Return the bytes that the signature of `payload` is of, as DSSE defines them."""
    kind = PAYLOAD_TYPE.encode()
    return b" ".join([b"DSSEv1", b"%d" % len(kind), kind, b"%d" % len(payload), payload])


def receipt_payload(
    record: bytes, work: bytes, tapes: dict[str, tuple[str, bytes | None]], version: str
) -> bytes:
    """Return the payload: the program's `record`, the worker's part, and the tapes.

    `tapes` has the digest and the text of each; None for a text that has left the cache.
    """
    room = MAX_TAPE_BYTES
    texts: dict[str, dict[str, Any]] = {}
    for whose, (digest, text) in tapes.items():
        fits = text is not None and len(text) <= room
        room -= len(text) if fits and text is not None else 0
        texts[whose] = {
            "digest": digest,
            "text": text.decode() if fits and text is not None else None,
        }
    members = {
        "version": RECEIPT_VERSION,
        "tritond": version,
        "program": orjson.loads(record),
        "tapes": texts,
        **orjson.loads(work),
    }
    return orjson.dumps(members)


def receipt_of(payload: bytes, keyid: str, signature: bytes) -> Receipt:
    """Return the receipt of a payload and its signature."""
    signed = ReceiptSignature(keyid=keyid, sig=base64.b64encode(signature).decode())
    return Receipt(payload=base64.b64encode(payload).decode(), signatures=[signed])
