"""The machine that user code finds when it asks at import: one that has the request's target.

Nothing runs on it. Without it, code that asks for the current device would be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from triton.backends import backends
from triton.runtime import driver

from compiler.front.environment import Assumptions, StandInUsed
from compiler.target import BACKENDS, BY_NAME, CudaMultiprocessor

_REGISTERS = 65_536
"""Registers of a block, on every architecture here."""
_MULTIPROCESSORS = {
    "cuda:70": ("V100", 80), "cuda:75": ("T4", 40), "cuda:80": ("A100", 108),
    "cuda:86": ("A40", 84), "cuda:89": ("L40S", 142), "cuda:90": ("H100", 132),
    "cuda:100": ("B200", 148), "cuda:120": ("RTX 5090", 170), "hip:gfx90a": ("MI210", 104),
    "hip:gfx942": ("MI300X", 304), "hip:gfx950": ("MI355X", 256),
}  # fmt: skip
"""A GPU of an architecture and the number of its multiprocessors, from its data sheet."""


class _Properties(dict[str, int]):
    """A device's properties; asking for one that is not known ends the statement."""

    def __init__(self, target: Any, device: Driver) -> None:
        name = f"{target.backend}:{target.arch}"
        row = BY_NAME.get(name)
        limits = row.multiprocessor if row is not None else None
        super().__init__(max_num_regs=_REGISTERS, warpSize=target.warp_size)
        if isinstance(limits, CudaMultiprocessor):
            self["max_shared_mem"] = limits.shared_bytes_per_block
        elif limits is not None:
            self["max_shared_mem"] = limits.lds_bytes_per_workgroup
        if name in _MULTIPROCESSORS:
            self["multiprocessor_count"] = _MULTIPROCESSORS[name][1]
        self._name, self._device = name, device

    def __missing__(self, name: str) -> int:
        words = f"the {name} of a {self._name} is not known"
        if self._device.assumptions is not None:
            self._device.assumptions.ask(words)
        raise StandInUsed(words)


class DeviceProperties:
    """The result of `torch.cuda.get_device_properties` for a GPU that has the target.

    Asking for one that no data sheet fixes ends the statement.
    """

    def __init__(self, target: Any, name: str, device: Driver) -> None:
        known = _Properties(target, device)
        self._device, self._target = device, target
        self.major, self.minor = _capability(target)
        self.name = name
        self.warp_size = target.warp_size
        if "multiprocessor_count" in known:
            self.multi_processor_count = known["multiprocessor_count"]
        row = BY_NAME.get(f"{target.backend}:{target.arch}")
        limits = row.multiprocessor if row is not None else None
        if isinstance(limits, CudaMultiprocessor):
            self.regs_per_multiprocessor = _REGISTERS
            self.shared_memory_per_block_optin = limits.shared_bytes_per_block
            self.shared_memory_per_multiprocessor = limits.shared_bytes
            self.max_threads_per_multi_processor = limits.warps * target.warp_size
        if target.backend == "hip":
            self.gcnArchName = str(target.arch)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        words = f"the {name} of a {self._target.backend}:{self._target.arch} is not known"
        if self._device.assumptions is not None:
            self._device.assumptions.ask(words)
        raise StandInUsed(words)


class Utilities:
    """The device's properties, as Triton's driver reports them."""

    def __init__(self, device: Driver) -> None:
        self._device = device

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """Return the properties of a GPU that has the target."""
        del device
        self._device.note_question_of_size()
        return _Properties(self._device.target, self._device)


class Driver:
    """Triton's driver for one device that is never launched on."""

    def __init__(self, target: Any) -> None:
        self.target = target
        self.assumptions: Assumptions | None = None
        self.utils = Utilities(self)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # code asks whether the driver of its backend is active already
        vendor = BACKENDS[self.target.backend].vendor
        return backends[vendor].driver if vendor in backends else Driver

    def get_current_target(self) -> Any:
        """Return the `GPUTarget` that is compiled for."""
        self.note_question()
        return self.target

    def get_current_device(self) -> int:
        """Return the only device's number."""
        self.note_question()
        return 0

    def note_question(self, like: str = "") -> None:
        """Record that user code asked for the device, while it is being loaded."""
        if self.assumptions is not None:
            kind, arch = self.target.backend, self.target.arch
            self.assumptions.assume(f"this needs a GPU; a {kind}:{arch}{like} is assumed")

    def note_question_of_size(self) -> None:
        """Record that user code asked for the device's properties, while it is being loaded."""
        gpu, count = _MULTIPROCESSORS.get(f"{self.target.backend}:{self.target.arch}", ("", 0))
        self.note_question(f" like the {gpu}, with {count} multiprocessors," * bool(gpu))

    def get_current_stream(self, device: int = 0) -> int:
        """Return the default stream."""
        del device
        return 0

    def get_active_torch_device(self) -> str:
        """Return the name of the only device."""
        return "cuda:0"

    @staticmethod
    def is_active() -> bool:
        """Return whether there is such a device: yes."""
        return True


def pretend(target: Any) -> None:
    """Make Triton's runtime, and torch's stand-in, report one device with `target`."""
    driver.set_active(Driver(target))
    for name, installed in backends.items():
        is_its = name == BACKENDS[target.backend].vendor
        installed.driver.is_active = staticmethod(lambda is_its=is_its: is_its)


@contextmanager
def noting_assumptions(assumptions: Assumptions) -> Iterator[None]:
    """Record questions about the device within the block in `assumptions`."""
    device = getattr(driver, "_active", None)
    if not isinstance(device, Driver):
        yield
        return
    device.assumptions = assumptions
    try:
        yield
    finally:
        device.assumptions = None


def forget() -> None:
    """Have no device again."""
    driver.set_active(None)


def versions() -> dict[str, str | None]:
    """Return the contents of `torch.version` in a build for the target's backend."""
    target = _target()
    backend = None if target is None else target.backend
    return {name: row.torch_version if name == backend else None for name, row in BACKENDS.items()}


def answers() -> dict[str, Any]:
    """Return what `torch.cuda` reports of the machine, without what only a real device knows."""
    target = _target()
    if target is None:
        return {"is_available": lambda: False, "device_count": lambda: 0}
    name = f"{BACKENDS[target.backend].vendor.upper()} {target.arch}"
    known = {
        "is_available": True,
        "is_initialized": False,
        "is_bf16_supported": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_capability": _capability(target),
        "get_device_name": name,
    }
    answered = {question: _noting(answer) for question, answer in known.items()}
    return answered | {"get_device_properties": _properties_of(target, name)}


def _properties_of(target: Any, name: str) -> Callable[..., DeviceProperties]:
    def properties(*_: Any, **__: Any) -> DeviceProperties:
        device = getattr(driver, "_active", None)
        assert isinstance(device, Driver)
        device.note_question_of_size()
        return DeviceProperties(target, name, device)

    return properties


def _noting(answer: Any) -> Callable[..., Any]:
    def answered(*_: Any, **__: Any) -> Any:
        device = getattr(driver, "_active", None)
        if isinstance(device, Driver):
            device.note_question()
        return answer

    return answered


def has_triton() -> dict[str, Any]:
    """Return what torch reports about Triton: that it is there."""
    names = ("has_triton", "has_triton_package", "has_triton_tma", "has_triton_tma_device")
    return dict.fromkeys(names[:2], lambda: True) | dict.fromkeys(names[2:], _has_tma)


def _has_tma() -> bool:
    target = _target()
    row = None if target is None else BY_NAME.get(f"{target.backend}:{target.arch}")
    return row is not None and "tensor_maps" in row.features


def _target() -> Any:
    """Return the target that was pretended; None where no kernel was to be compiled yet."""
    active = getattr(driver, "_active", None)
    return active.target if isinstance(active, Driver) else None


def _capability(target: Any) -> tuple[int, int]:
    if target.backend == "cuda":
        major, minor = divmod(int(target.arch), 10)
        return major, minor
    digits = str(target.arch).removeprefix("gfx")  # gfx942 is 9.4, gfx1100 is 11.0
    return int(digits[:-2]), int(digits[-2], 16)
