"""Finds the user's line of a running kernel from the frames of the stack."""

import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from types import GeneratorType
from typing import Any

from compiler.diagnostic import file_in_kernel
from compiler.lines.source_location import SourceLocation
from compiler.ttir_to_numpy.batched_codegen import RUN_FILE
from launch.checks.finding import KernelLocation
from launch.cpu.programs import ProgramId


def operation_here(operations: Sequence[int]) -> int:
    """Return the innermost operation on the stack of the caller, -1 for none.

    `operations` has one number for each line of the run form.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == RUN_FILE and operations[frame.f_lineno - 1] >= 0:
            return operations[frame.f_lineno - 1]
        frame = frame.f_back  # type: ignore[assignment]
    return -1


Suspended = Generator[None, None, Any]
"""A program of a run form that is written as a generator."""


class InstanceLocations:
    """The positions of a run form's lines, computed only for reports."""

    def __init__(self, locations: Sequence[SourceLocation | None]) -> None:
        self._locations = locations

    def here(self, program: ProgramId) -> KernelLocation:
        """Return the innermost line of the user's files that is on the stack of the caller."""
        return self._first(_lines_here(), program)

    def of(self, suspended: Suspended, program: ProgramId) -> KernelLocation:
        """Return the innermost line of the user's files at which a generator is suspended."""
        lines = [frame.f_lineno for frame in frames_of(suspended)]
        return self._first(reversed(lines), program)

    def _first(self, lines: Iterable[int], program: ProgramId) -> KernelLocation:
        for line in lines:
            location = self._locations[line - 1]
            file = None if location is None else file_in_kernel(location.file)
            if location is not None and file is not None:
                return KernelLocation(file, location.line, program, location.column)
        return KernelLocation(None, None, program)


def frames_of(suspended: Suspended) -> Iterator[Any]:
    """Yield the frames of a suspended program, outermost first."""
    inner: Any = suspended
    while isinstance(inner, GeneratorType) and inner.gi_frame is not None:
        yield inner.gi_frame
        inner = inner.gi_yieldfrom


def _lines_here() -> Iterator[int]:
    """Yield the lines of the run form on the stack, innermost first."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == RUN_FILE:
            yield frame.f_lineno
        frame = frame.f_back
