"""Finds the user's line of a running kernel from the frames of the stack."""

import sys
from collections.abc import Sequence

from compiler.diagnostic import file_in_kernel
from compiler.lines.place import Spot
from compiler.ttir_to_numpy.batched_codegen import RUN_FILE
from launch.checks.finding import KernelPlace
from launch.cpu.programs import ProgramId


class InstancePlaces:
    """The positions of a run form's lines, computed only for reports."""

    def __init__(self, places: Sequence[Spot | None]) -> None:
        self._places = places

    def here(self, program: ProgramId) -> KernelPlace:
        """Return the innermost line of the user's files that is on the stack of the caller."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == RUN_FILE:
                place = self._places[frame.f_lineno - 1]
                file = None if place is None else file_in_kernel(place.file)
                if place is not None and file is not None:
                    return KernelPlace(file, place.line, program, place.column)
            frame = frame.f_back  # type: ignore[assignment]
        return KernelPlace(None, None, program)
