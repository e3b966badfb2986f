"""Finds operations in a kernel's IR that are less precise than the kernel's data.

It reads the text of TTIR, from before or after Triton's passes, line by line and once, since the
text may be hostile. A cause alone proves nothing, because a kernel may not need more precision;
`precision` weighs it against the measured error.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from compiler.diagnostic import KERNEL_FOLDER
from compiler.lines.mlir import MlirLocations, trailing_location
from compiler.lines.source_location import SourceLocation
from launch.checks.ir_values import BITS, FunctionScan, Reduced

MAX_TEXT_BYTES = 4 << 20
"""The largest text that is searched."""
MAX_CAUSES = 32
_SIGNS = (b"f16", b"f8E", b"f64", b"tf32")
"""A text without any of these keeps every float in fp32."""
_FUNCTION = re.compile(r"\s*tt\.func\b[^@]{0,100}@(\"[^\"]{1,1000}\"|[\w.$-]{1,1000})\(")


class CauseKind(StrEnum):
    """The ways to lose precision, the most severe first."""

    DOT_ACCUMULATOR = "dot_accumulator"
    ACCUMULATOR = "accumulator"
    REDUCTION = "reduction"
    ATOMIC = "atomic"
    ROUNDED = "rounded"
    TF32 = "tf32"
    IMPRECISE_DOT = "imprecise_dot"


@dataclass(frozen=True, slots=True)
class Cause:
    """One operation that computes with `bits` mantissa bits, including the hidden bit."""

    kind: CauseKind
    dtype: str
    """MLIR's name of the type, or `tf32`."""
    bits: int
    location: SourceLocation | None
    """The location in the user's file; None if unknown."""

    @property
    def file(self) -> str | None:
        """The path of the user's file, as in the request."""
        return self.location.file.removeprefix(KERNEL_FOLDER) if self.location else None


def questionable(ir: bytes) -> bytes:
    """Return `ir` if it may contain causes, b"" if it cannot.

    The worker's own process does only this quick check with the text.
    """
    if len(ir) > MAX_TEXT_BYTES or not any(sign in ir for sign in _SIGNS):
        return b""
    return ir


def causes_in(text: str) -> list[Cause]:
    """Return the causes in the IR `text`, the most severe first, each location once."""
    functions = _functions(text)
    locations = MlirLocations(text)
    least = min((scan.least_loaded for scan in functions.values()), default=64)
    callers = _callers(functions)
    found: dict[Cause, None] = {}
    for name, scan in functions.items():
        for kind, dtype, where in _of(scan, least, functions):
            for location in _locations(name, where, locations, callers):
                if len(found) < MAX_CAUSES:
                    found[Cause(kind, dtype, BITS[dtype], location)] = None
    order = list(CauseKind)
    return sorted(found, key=lambda cause: (cause.bits, order.index(cause.kind)))


def _functions(text: str) -> dict[str, FunctionScan]:
    """Return the scan of each function of a module; lines outside functions get a separate one."""
    functions: dict[str, FunctionScan] = {}
    scan = functions.setdefault("", FunctionScan())
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if match := _FUNCTION.match(line):
            scan = functions.setdefault(match[1].strip('"'), FunctionScan())
        scan.read(line.strip())
    return functions


class _Sighting(NamedTuple):
    kind: CauseKind
    dtype: str
    line: str
    """The line of the IR, including the location at its end."""


def _of(
    scan: FunctionScan, least_loaded: int, functions: Mapping[str, FunctionScan]
) -> Iterator[_Sighting]:
    """Yield the precision losses of a function.

    `least_loaded` are the mantissa bits of the least precise floats that the kernel reads. Rounding
    to these is expected, unless the kernel rounds more precise floats that it read.
    """
    for kind, dtype, line in scan.sightings:
        yield _Sighting(CauseKind(kind), dtype, line)
    for cast in scan.casts:
        if cast.used and (cast.loaded or least_loaded > BITS[cast.dtype]):
            yield _Sighting(CauseKind.ROUNDED, cast.dtype, cast.line)
    for callee, dtype, line in scan.carried_into:
        if callee in functions and functions[callee].adds_low:
            yield _Sighting(CauseKind.ACCUMULATOR, dtype, line)
    for reduced in scan.reduced:
        if reduced.adds or _adds(reduced, functions):
            yield _Sighting(CauseKind.REDUCTION, reduced.dtype, reduced.line)


def _adds(reduced: Reduced, functions: Mapping[str, FunctionScan]) -> bool:
    """Return True if a reduction's combine function adds or multiplies values."""
    seen: set[str] = set()
    left = list(reduced.callees)
    while left:
        name = left.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        if functions[name].adds_low:
            return True
        left += [callee for callee, _ in functions[name].calls]
    return False


_Callers = Mapping[str, Sequence[tuple[str, str]]]
"""The callers of each function, with the line of the call."""


def _callers(functions: Mapping[str, FunctionScan]) -> _Callers:
    callers: dict[str, list[tuple[str, str]]] = {}
    for name, scan in functions.items():
        for callee, line in scan.calls:
            callers.setdefault(callee, []).append((name, line))
    return callers


def _locations(
    function: str, line: str, ir_locations: MlirLocations, callers: _Callers
) -> list[SourceLocation | None]:
    """Return the user's source lines of an IR line, one for each chain of calls.

    Lines of Triton's library map to the user's lines that call it.
    """
    found: dict[SourceLocation, None] = {}
    seen: set[str] = set()
    left = [(function, line)]
    while left and len(found) < MAX_CAUSES:
        name, at = left.pop()
        if own := _users(at, ir_locations):
            found[own] = None
        elif name not in seen:
            seen.add(name)
            left += reversed(callers.get(name, ()))
    return list(found) or [None]


def _users(line: str, ir_locations: MlirLocations) -> SourceLocation | None:
    """Return the innermost user location at the end of an IR line."""
    words = trailing_location(line)
    locations = ir_locations.locations(words) if words is not None else ()
    return next(
        (location for location in locations if location.file.startswith(KERNEL_FOLDER)), None
    )
