"""Finds operations in a kernel's IR that are less precise than the kernel's data.

It reads each operation of TTIR, from before or after Triton's passes, once. A cause alone proves
nothing, because a kernel may not need more precision; `precision` weighs it against the measured
error.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from compiler.diagnostic import KERNEL_FOLDER, Failure
from compiler.lines.source_location import SourceLocation
from compiler.messages.wire import Send
from compiler.target import STANDARD_TARGET, parse_target
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.task import read_ir
from launch.checks.ir_values import BITS, FunctionScan, Reduced
from launch.messages import Cause, CauseKind, CausesOrder, CausesReport

MAX_CAUSES = 32
_ORDER = list(CauseKind)
_STAGE = "ttir"


def causes(order: CausesOrder, body: bytes, _: Send) -> CausesReport:
    """Report the causes in the TTIRs of `body`; one that MLIR cannot read has none."""
    causes_seen: dict[Cause, None] = {}
    at = 0
    for size_bytes in order.sizes_bytes:
        text = bytes(body[at : at + size_bytes]).decode(errors="replace")
        at += size_bytes
        try:
            # MLIR's dialects of TTIR are those of every target
            module = read_ir(text, parse_target(STANDARD_TARGET), _STAGE)
        except (Untranslatable, Failure, RecursionError):
            continue
        causes_seen |= dict.fromkeys(causes_in(module))
    return CausesReport(causes=sorted(causes_seen, key=_severity)[:MAX_CAUSES])


def _severity(cause: Cause) -> tuple[int, int]:
    return cause.bits, _ORDER.index(cause.kind)


def causes_in(module: Operation) -> list[Cause]:
    """Return the causes in a module, the most severe first, each location once."""
    functions = _functions(module)
    least = min((scan.least_loaded for scan in functions.values()), default=64)
    callers = _callers(functions)
    causes: dict[Cause, None] = {}
    for name, scan in functions.items():
        for kind, dtype, operation in _of(scan, least, functions):
            for location in _locations(name, operation, callers):
                if len(causes) < MAX_CAUSES:
                    causes[_cause(kind, dtype, location)] = None
    return sorted(causes, key=_severity)


def _cause(kind: CauseKind, dtype: str, place: SourceLocation | None) -> Cause:
    if place is None:
        return Cause(kind=kind, dtype=dtype, bits=BITS[dtype])
    file = place.file.removeprefix(KERNEL_FOLDER)
    return Cause(
        kind=kind, dtype=dtype, bits=BITS[dtype], file=file, line=place.line, column=place.column
    )


def _functions(module: Operation) -> dict[str, FunctionScan]:
    """Return the scan of each function of a module."""
    functions: dict[str, FunctionScan] = {}
    for operation in module.regions[0][0].operations:
        if operation.name == "tt.func":
            scan = functions.setdefault(operation.text("sym_name"), FunctionScan())
            scan.read_regions(operation)
    return functions


class _Sighting(NamedTuple):
    kind: CauseKind
    dtype: str
    operation: Operation


def _of(
    scan: FunctionScan, least_loaded: int, functions: Mapping[str, FunctionScan]
) -> Iterator[_Sighting]:
    """Yield the precision losses of a function.

    `least_loaded` are the mantissa bits of the least precise floats that the kernel reads. Rounding
    to these is expected, unless the kernel rounds more precise floats that it read.
    """
    for kind, dtype, operation in scan.sightings:
        yield _Sighting(CauseKind(kind), dtype, operation)
    for cast in scan.casts:
        if cast.used and (cast.loaded or least_loaded > BITS[cast.dtype]):
            yield _Sighting(CauseKind.ROUNDED, cast.dtype, cast.operation)
    for callee, dtype, call in scan.carried_into:
        if callee in functions and functions[callee].adds_low:
            yield _Sighting(CauseKind.ACCUMULATOR, dtype, call)
    for reduced in scan.reduced:
        if reduced.adds or _adds(reduced, functions):
            yield _Sighting(CauseKind.REDUCTION, reduced.dtype, reduced.operation)


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


_Callers = Mapping[str, Sequence[tuple[str, Operation]]]
"""The callers of each function, with the call."""


def _callers(functions: Mapping[str, FunctionScan]) -> _Callers:
    callers: dict[str, list[tuple[str, Operation]]] = {}
    for name, scan in functions.items():
        for callee, call in scan.calls:
            callers.setdefault(callee, []).append((name, call))
    return callers


def _locations(
    function: str, operation: Operation, callers: _Callers
) -> list[SourceLocation | None]:
    """Return the user's source lines of an operation, one for each chain of calls.

    Lines of Triton's library map to the user's lines that call it.
    """
    locations: dict[SourceLocation, None] = {}
    seen: set[str] = set()
    left = [(function, operation)]
    while left and len(locations) < MAX_CAUSES:
        name, at = left.pop()
        if own := _users(at):
            locations[own] = None
        elif name not in seen:
            seen.add(name)
            left += reversed(callers.get(name, ()))
    return list(locations) or [None]


def _users(operation: Operation) -> SourceLocation | None:
    """Return the innermost user location of an operation."""
    return next(
        (place for place in operation.locations if place.file.startswith(KERNEL_FOLDER)), None
    )
