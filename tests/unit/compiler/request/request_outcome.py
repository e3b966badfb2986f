"""The outcome of a posted body: a job or a refusal."""

import json
from typing import Any

import orjson

from compiler.job import CompileJob
from compiler.rejection import RequestRejected
from compiler.request import limits
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import resolve
from service.http.body import parse_body
from service.http.problems import ProblemRaised
from tests.unit.compiler.vector_add import TOOLCHAIN, VECTOR_ADD

MANY = 100_000


def outcome(body: bytes) -> CompileJob | RequestRejected | ProblemRaised:
    """Return the outcome of a body; other exceptions propagate."""
    try:
        request = parse_body(body, CompileRequest)
        limits.check(request, limits.RequestLimits())
        return resolve(request, TOOLCHAIN, "")
    except (RequestRejected, ProblemRaised) as refusal:
        return refusal


def varied(name: str, value: Any) -> bytes:
    return json.dumps(VECTOR_ADD | {name: value}).encode()


def raw(name: str, value: bytes) -> bytes:
    return orjson.dumps(VECTOR_ADD)[:-1] + b',"' + name.encode() + b'":' + value + b"}"
