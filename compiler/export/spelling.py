"""Triton's scalar types as C, Rust and ctypes spell them."""

from __future__ import annotations

from typing import NamedTuple


class Spelling(NamedTuple):
    """One type in each language. fp16 and bf16 are passed as their bits, fp8 as its byte."""

    c: str
    rust: str
    ctypes: str


_SPELLINGS = {
    "fp32": Spelling("float", "f32", "c_float"),
    "fp64": Spelling("double", "f64", "c_double"),
    "fp16": Spelling("uint16_t", "u16", "c_uint16"),
    "bf16": Spelling("uint16_t", "u16", "c_uint16"),
    "i1": Spelling("uint8_t", "u8", "c_uint8"),
    "u1": Spelling("uint8_t", "u8", "c_uint8"),
}


def spelling(kind: str) -> Spelling:
    """Return how a Triton scalar type is spelled."""
    if kind in _SPELLINGS:
        return _SPELLINGS[kind]
    if kind.startswith("fp8"):
        return Spelling("uint8_t", "u8", "c_uint8")
    sign, bits = kind[0], int(kind[1:])
    unsigned = "u" if sign == "u" else ""
    return Spelling(f"{unsigned}int{bits}_t", f"{sign}{bits}", f"c_{unsigned}int{bits}")
