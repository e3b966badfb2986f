"""The messages of a running kernel: its prints and failed assertions."""

import sys
from typing import Any

import numpy as np

from launch.buffers.element_types import Array
from launch.checks import finding
from launch.checks.finding import Stopped
from launch.checks.owner_table import PossibleRace
from launch.cpu.instance_locations import InstanceLocations
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances


class DevicePrints:
    """Prints to standard output, and ends a launch at an assertion."""

    def __init__(self, programs: ProgramInstances, locations: InstanceLocations) -> None:
        self._programs, self._locations = programs, locations

    def show(self, prefix: str, hexadecimal: bool, *values: Any) -> None:
        """Print a line for each value, the program's indices first.

        Only one program may run at a time.
        """
        program = self._programs.program_at(self._programs.first_active())
        begin = f"{program} {prefix}" if prefix else f"{program}"
        formatter: Any = {"all": _hexadecimal} if hexadecimal else None
        for value in values:
            lanes = value.address if isinstance(value, Pointer) else value
            sys.stdout.write(f"{begin} {np.array2string(lanes[0], formatter=formatter)}\n")
        if not values:
            sys.stdout.write(f"{begin}\n")

    def check(self, condition: Array | bool, message: str) -> None:
        """End the launch unless `condition` holds for every active lane."""
        words = f"tl.device_assert failed: {message}" if message else "tl.device_assert failed"
        self._refuse(condition, words)

    def assume(self, condition: Array | bool) -> None:
        """End the launch unless a condition that the kernel promises the compiler holds."""
        self._refuse(condition, "the condition of tl.assume does not hold")

    def _refuse(self, condition: Array | bool, words: str) -> None:
        holds = np.atleast_1d(condition)  # constants are not arrays
        fails = ~holds.reshape(len(holds), -1).all(axis=1)
        if self._programs.active is not None:
            fails = fails & self._programs.active
        if fails.any():
            if self._programs.count > 1:
                raise PossibleRace
            first = self._programs.first_active() if fails.size == 1 else int(fails.argmax())
            location = self._locations.here(self._programs.program_at(first))
            raise Stopped(finding.assertion_failed(words, location))


class NoDevicePrints(DevicePrints):
    """Neither prints nor checks: for a run whose values are not the kernel's own."""

    def show(self, prefix: str, hexadecimal: bool, *values: Any) -> None:
        """Print nothing."""

    def _refuse(self, condition: Array | bool, words: str) -> None:
        """Let every condition hold."""


def _hexadecimal(value: Any) -> str:
    if isinstance(value, np.floating):
        return float(value).hex()
    return f"0x{int(value):0{value.dtype.itemsize * 2}x}"
