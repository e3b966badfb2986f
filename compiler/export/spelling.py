"""Names of the user's as identifiers of other languages: legal, not reserved, and distinct.

Triton's scalar types as C, Rust and ctypes spell them.
"""

import re
from collections.abc import Iterable
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


RESERVED = frozenset(
    # C and C++
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t "
    "char32_t class co_await co_return co_yield compl concept const const_cast consteval "
    "constexpr constinit continue decltype default delete do double dynamic_cast else enum "
    "explicit export extern false float for friend goto if inline int long mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert "
    "static_cast struct switch template this thread_local throw true try typedef typeid typename "
    "typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq "
    "_Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal32 _Decimal64 _Decimal128 _Generic "
    "_Imaginary _Noreturn _Static_assert _Thread_local "
    # Rust, where a parameter may not hide a tuple variant
    "abstract as async await become box crate dyn final fn gen impl in let loop macro match mod "
    "move mut override priv pub ref Self self super trait type unsafe unsized use where yield "
    "Some Ok Err "
    # Python
    "def del elif except from global import is lambda nonlocal pass raise with None True False "
    # macros of C compilers and headers
    "linux unix complex I NULL errno assert stdin stdout stderr main INFINITY NAN EOF "
    # the exports' own
    "kernel stream grid grid_x grid_y grid_z shared config attributes pointers result image "
    "blocks bytes count values addresses global_scratch profile_scratch cu ctypes struct check "
    "Image CUBIN CUBIN_BYTES memset size_t hasattr len CUDA_SUCCESS CUdeviceptr CUresult "
    "CUlaunchAttribute CUlaunchConfig cuLaunchKernelEx cuMemAllocAsync cuMemFreeAsync "
    "_check _address _fp16 _bf16".split()
)


def identifier(name: str) -> str:
    """Return `name` as an identifier that is legal in C, Rust and Python."""
    legal = "".join(
        c if c.isascii() and (c.isalnum() or c == "_") else f"u{ord(c):x}" for c in name
    )
    legal = re.sub(r"__+", "_", legal)  # C++ keeps these for itself
    if legal in {"", "_"} or legal[0].isdigit():  # Rust reads an underscore alone as a pattern
        legal = f"k{legal}"
    return f"{legal}_" if legal in RESERVED else legal


def identifiers(names: Iterable[str]) -> list[str]:
    """Return an identifier for each of `names`, all of them distinct."""
    identifiers_so_far: list[str] = []
    for name in names:
        wanted = identifier(name.replace(".", "_"))
        chosen, number = wanted, 1
        while chosen in identifiers_so_far:
            number += 1
            chosen = f"{wanted}_{number}"
        identifiers_so_far.append(chosen)
    return identifiers_so_far


def camel(name: str) -> str:
    """Return `name` as the name of a type: `add_kernel` becomes `AddKernel`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_") if part) or "Kernel"
