"""The GPU's clock and why it is slowed down, where NVML tells. Imported in launchers only.

Reads only: no clock is ever set.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cuda.bindings import nvml

_REASONS = {
    0x04: "sw_power_cap",
    0x08: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
}
_SM_CLOCK = 1


class Clocks:
    """Reads of one GPU; every answer is None, or empty, where NVML does not work."""

    def __init__(self, uuid: str) -> None:
        self._handle: Any = None
        self.driver: str | None = None
        with _without_nvml():
            nvml.init_v2()
            self.driver = str(nvml.system_get_driver_version())
            self._handle = nvml.device_get_handle_by_uuid(uuid)

    def mhz(self) -> int | None:
        """Return the clock of the multiprocessors now."""
        with _without_nvml():
            if self._handle is not None:
                return int(nvml.device_get_clock_info(self._handle, _SM_CLOCK))
        return None

    def reasons(self) -> set[str]:
        """Return why the clock is below what it could be now."""
        with _without_nvml():
            if self._handle is not None:
                bits = int(nvml.device_get_current_clocks_event_reasons(self._handle))
                return {name for bit, name in _REASONS.items() if bits & bit}
        return set()


@contextmanager
def _without_nvml() -> Iterator[None]:
    """Go on where there is no NVML or it refuses: containers often lack it, kernels run without."""
    try:
        yield
    except (nvml.NvmlError, RuntimeError, OSError):
        return
