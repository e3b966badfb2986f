"""The maximum sizes of a request's parts, each with a name that errors and settings share.

Sizes only: `resolution` resolves the meaning of the parts.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from compiler.inspection import InspectRequest
from compiler.rejection import FieldError, RequestRejected, pointer
from compiler.request.compile_request import CompileRequest
from compiler.request.signature import positions

_FAR = 4
"""Multiple of its limit beyond which a value's length is not reported."""


class RequestTooLarge(RequestRejected):
    """A part of the request is larger than its limit allows."""

    slug = "too_large"


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of one compilation, or program; sizes are of UTF-8."""

    source_bytes: int = 1 << 20
    ir_bytes: int = 4 << 20
    files: int = 64
    module_files: int = 512
    """Limit of a source that is a `module` of its package."""
    program_files: int = 512
    """Limit of a program, which may include its package."""
    files_bytes: int = 4 << 20
    """Limit of all files together."""
    parameters: int = 256
    specialization_bytes: int = 64 << 10
    """Limit of signature, hints, constexprs and specialization_data, each of them, as JSON."""


def check(request: CompileRequest | InspectRequest, limits: RequestLimits) -> None:
    """Measure the parts of a request.

    Raises RequestTooLarge, and RequestRejected for too many of something.
    """
    _check_size("/source", "the source", [request.source or ""], limits.source_bytes)
    if request.files:
        _check_size("/files", "the files", request.files.values(), limits.files_bytes)
    if isinstance(request, CompileRequest):
        _check_compilation(request, limits)
    _check_counts(request, limits)


def _check_compilation(request: CompileRequest, limits: RequestLimits) -> None:
    if request.ir is not None:
        _check_size("/ir/text", "the IR", [request.ir.text], limits.ir_bytes)
    for name in ("signature", "hints", "constexprs", "specialization_data"):
        value = getattr(request, name)
        if value is not None:
            _check_json_size(f"/{name}", name, value, limits.specialization_bytes)


def _check_counts(request: CompileRequest | InspectRequest, limits: RequestLimits) -> None:
    errors = []
    most, where = limits.files, ""
    if request.module is not None:
        most, where = limits.module_files, " with `module`"
    if request.files and len(request.files) > most:
        message = f"{len(request.files)} files; the limit is {most}{where}"
        errors.append(FieldError(pointer("files"), message))
    if isinstance(request, CompileRequest):
        count = _count(request.signature, request.constexprs or {})
        if count > limits.parameters:
            message = f"{count} parameters; the limit is {limits.parameters}"
            errors.append(FieldError(pointer("signature"), message))
    if errors:
        raise RequestRejected(*errors)


def _count(signature: Any, constexprs: dict[str, Any]) -> int:
    if isinstance(signature, str):
        return len(positions(signature)) + len(constexprs)
    return len(constexprs.keys() | (signature if isinstance(signature, dict) else {}).keys())


def _check_json_size(at: str, name: str, value: Any, limit: int) -> None:
    """Refuse a value whose JSON is longer than `limit`; one far longer is not written out."""
    if is_longer(value, _FAR * limit):
        message = f"{name}: more than {_FAR * limit:,} bytes; the limit is {limit:,} bytes"
        raise RequestTooLarge(FieldError(at, message))
    _check_size(at, name, [json.dumps(value)], limit)


def is_longer(value: Any, limit: int) -> bool:
    """Return whether the JSON of `value` is longer than about `most` bytes."""
    size, left = 0, [value]
    while left and size <= limit:
        item = left.pop()
        if isinstance(item, dict):
            left += item
            left += item.values()
        elif isinstance(item, list):
            left += item
        elif isinstance(item, str):
            size += len(item)
        elif isinstance(item, int):
            size += item.bit_length() // 4  # a digit is less than four bits
        size += 3
    return size > limit


def _check_size(at: str, what: str, texts: Iterable[str], limit: int) -> None:
    # four bytes are the most that a character takes: nearly always there is nothing to encode
    texts = list(texts)
    if 4 * sum(map(len, texts)) <= limit:
        return
    size = sum(len(text.encode(errors="surrogatepass")) for text in texts)
    if size > limit:
        message = f"{what}: {size:,} bytes; the limit is {limit:,} bytes"
        raise RequestTooLarge(FieldError(at, message))
