"""Enables torch's fake CUDA guard in a process without a GPU, so that autograd can run.

Autograd asks C++ for the guard and hooks of each tensor's device, and aborts the process without
them. torch has a guard that does nothing, but registers it only in CUDA builds. This module
registers it in CPU builds, too. It uses exported symbols and method tables, and needs no compiler.
It hides the GPUs from a CUDA build, as nothing may call a driver.
"""

import ctypes
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

_CUDA = 1
"""c10::DeviceType::CUDA."""
_DEVICE_TYPES = 20
_REGISTER = "_ZN3c104impl19registerDeviceGuardENS_10DeviceTypeEPKNS0_24DeviceGuardImplInterfaceE"
_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
_HOOKS = "_ZN2at6detail12getCUDAHooksEv"
_DEFAULT_HOOKS = "_ZTVN2at18CUDAHooksInterfaceE"
_ATTENTION = "_ZN2at6native22_fused_sdp_choice_stubE"
_ATTENTION_ON_CUDA = (
    "_ZN2at6native22_fused_sdp_choice_cudaERKNS_6TensorES3_S3_RKSt8optionalIS1_EdbS4_IdEb"
)
_DEVICES_OF_STUB = 8
"""The words of a stub to search: a function for each type of device."""
_METHODS = 64
_HEAD = 2
"""Words before the first method of a C++ vtable: offset to top, and type information."""
_WORD = ctypes.sizeof(ctypes.c_void_p)
_YES = (2, 3, 4, 6)
"""Slots of at::AcceleratorHooksInterface: isBuilt, isAvailable, hasPrimaryContext, deviceCount."""
_NOTHING = (5, 7, 8, 9, 10)
"""Its init, setCurrentDevice, getCurrentDevice, exchangeDevice, maybeExchangeDevice."""

_kept: list[Any] = []  # tables and callbacks, as C++ holds their addresses until the process ends
_devices = [1]


class FakeGuardError(RuntimeError):
    """The guard does not work with this torch, so nothing can be recorded."""


def install() -> None:
    """Give torch one CUDA device that does nothing, once in a process, before any other use.

    Raises `FakeGuardError` if torch differs from what is expected. Record nothing then.
    """
    try:
        libraries = Path(torch.__file__).parent / "lib"
        core = ctypes.CDLL(str(libraries / "libc10.so"))
        cpu = ctypes.CDLL(str(libraries / "libtorch_cpu.so"))
        _install_guard(core)
        _answer_hooks(cpu)
        if torch.version.cuda is not None:
            _forget_attention(cpu, ctypes.CDLL(str(libraries / "libtorch_cuda.so")))
    except (OSError, AttributeError, ValueError) as error:
        raise FakeGuardError(f"torch {torch.__version__} has no fake CUDA guard: {error}") from None
    if str(torch._C._accelerator_getAccelerator()) != "cuda":
        raise FakeGuardError(f"torch {torch.__version__} ignores the fake CUDA hooks")


def start_without_threads() -> None:
    """Start autograd's engine while torch counts no device, so that it never starts threads."""
    _devices[0] = 0
    try:
        with torch.autograd.set_multithreading_enabled(False):
            torch.ones((), requires_grad=True).backward()
    finally:
        _devices[0] = 1


def _install_guard(core: ctypes.CDLL) -> None:
    """Register a copy of torch's fake guard that counts one device.

    torch replaces a guard that counts no devices by its fake one. The only method that it calls
    before is `deviceCount`, which shows the method's slot.
    """
    registry = (ctypes.c_void_p * _DEVICE_TYPES).in_dll(core, _REGISTRY)
    register = getattr(core, _REGISTER)
    register.restype, register.argtypes = None, [ctypes.c_byte, ctypes.c_void_p]
    asked: list[int] = []
    table = (ctypes.c_void_p * _METHODS)(*[_noting(asked, slot) for slot in range(_METHODS)])
    empty = (ctypes.c_void_p * 1)(ctypes.addressof(table))
    _kept.extend((table, empty))
    register(_CUDA, ctypes.addressof(empty))
    torch._C._ensureCUDADeviceGuardSet()
    registered = registry[_CUDA]
    if len(asked) != 1 or registered in (None, ctypes.addressof(empty)):
        registry[_CUDA] = None
        raise FakeGuardError(f"torch {torch.__version__} did not register its fake CUDA guard")
    own = _copy_of_table(registered, _METHODS // 2)
    own[_HEAD + asked[0]] = _callback(lambda: _devices[0])
    guard = (ctypes.c_void_p * 8)(ctypes.addressof(own) + _HEAD * _WORD)
    _kept.append(guard)
    register(_CUDA, ctypes.addressof(guard))
    torch._C._ensureCUDADeviceGuardSet = lambda: None  # FakeTensorMode calls it each time


def _answer_hooks(cpu: ctypes.CDLL) -> None:
    """Make torch's CUDA hooks report one device, and do nothing else.

    This replaces the hooks of a CUDA build, which call the driver, by those of a CPU build.
    """
    hooks = getattr(cpu, _HOOKS)
    hooks.restype, hooks.argtypes = ctypes.c_void_p, []
    instance = ctypes.c_void_p.from_address(hooks())
    default = ctypes.addressof(ctypes.c_char.in_dll(cpu, _DEFAULT_HOOKS)) + _HEAD * _WORD
    if torch.version.cuda is None and instance.value != default:
        raise FakeGuardError(f"torch {torch.__version__} has other CUDA hooks than its default")
    own = ctypes.c_void_p(default)
    table = _copy_of_table(ctypes.addressof(own), _METHODS - _HEAD)
    for answer, slots in ((1, _YES), (0, _NOTHING)):
        for slot in slots:
            table[_HEAD + slot] = _callback(partial(int, answer))
    instance.value = ctypes.addressof(table) + _HEAD * _WORD


def _forget_attention(cpu: ctypes.CDLL, cuda: ctypes.CDLL) -> None:
    """Remove a CUDA build's choice of an attention kernel, which reads the GPU's properties."""
    stub = (ctypes.c_void_p * _DEVICES_OF_STUB).in_dll(cpu, _ATTENTION)
    chooser = ctypes.cast(getattr(cuda, _ATTENTION_ON_CUDA), ctypes.c_void_p).value
    places = [place for place in range(_DEVICES_OF_STUB) if stub[place] == chooser]
    if len(places) != 1:
        raise FakeGuardError(f"torch {torch.__version__} has no known choice of attention kernels")
    stub[places[0]] = None


def _copy_of_table(address: int, words: int) -> Any:
    """Return a copy of the method table of the object at `address`."""
    methods = ctypes.c_void_p.from_address(address).value
    if methods is None:
        raise FakeGuardError(f"torch {torch.__version__} has an object without a vtable")
    table = (ctypes.c_void_p * (_METHODS + _HEAD))()
    ctypes.memmove(table, methods - _HEAD * _WORD, _WORD * words)
    _kept.append(table)
    return table


def _noting(asked: list[int], slot: int) -> int | None:
    def note() -> int:
        asked.append(slot)
        return 0

    return _callback(note)


def _callback(answer: Callable[[], int]) -> int | None:
    made = ctypes.CFUNCTYPE(ctypes.c_long)(answer)
    _kept.append(made)
    return ctypes.cast(made, ctypes.c_void_p).value
