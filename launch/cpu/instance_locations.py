"""Finds the user's line of a running kernel from the frames of the stack."""

import sys
from collections.abc import Sequence

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


class InstanceLocations:
    """The positions of a run form's lines, computed only for reports."""

    def __init__(self, locations: Sequence[SourceLocation | None]) -> None:
        self._locations = locations

    def here(self, program: ProgramId) -> KernelLocation:
        """Return the innermost line of the user's files that is on the stack of the caller."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == RUN_FILE:
                location = self._locations[frame.f_lineno - 1]
                file = None if location is None else file_in_kernel(location.file)
                if location is not None and file is not None:
                    return KernelLocation(file, location.line, program, location.column)
            frame = frame.f_back  # type: ignore[assignment]
        return KernelLocation(None, None, program)
