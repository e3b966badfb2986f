"""The launches of a kernel: the search for those that keep its contract, and their buffers."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ttir_to_numpy.mlir_types import TRITON_NAMES, element_of, pointee_of
from compiler.ttir_to_numpy.runtime.launching import dtype_named
from launch.recheck.access_memory import WatchedBuffer
from launch.recheck.contract_values import ContractText, LegalLaunch
from launch.recheck.launch_search import LaunchSearch, ScalarType
from launch.recheck.recheck_messages import RecheckedKernel, RecheckOrder


def launch_search(
    order: RecheckOrder,
    kernel: RecheckedKernel,
    types: Mapping[str, str],
    constants: frozenset[int],
    contract: ContractText,
) -> LaunchSearch:
    """Return the search for launches of a kernel; `constants` are in its text."""
    scalars = {
        name: ScalarType(int(kind[1:]))
        for name, kind in types.items()
        if kind[:1] == "i" and kind[1:].isdigit() and kind != "i1"
    }
    element_bits = {}
    for name, kind in types.items():
        pointee = pointee_of(kind)
        if pointee is not None:
            is_integer = pointee[:1] == "i" and pointee[1:].isdigit()
            element_bits[name] = int(pointee[1:]) if is_integer else 0
    numbers = {*contract.numbers, *kernel.constants.values(), *constants}
    return LaunchSearch(
        contract,
        scalars,
        element_bits,
        kernel.constants,
        frozenset(number for number in numbers if 1 < number < 1 << 32),
        order.most_size,
        order.most_elements,
    )


def buffers_of(types: Mapping[str, str], launch: LegalLaunch) -> list[WatchedBuffer]:
    """Return the buffers of a launch; one whose extent the contract does not have is endless."""
    buffers = []
    for name, kind in types.items():
        pointee = pointee_of(kind)
        if pointee is not None:
            width = (
                8
                if pointee_of(pointee) is not None
                else int(dtype_named(TRITON_NAMES[element_of(pointee)]).itemsize)
            )
            buffers.append(WatchedBuffer(name, launch.extents.get(name, 1 << 62), width))
    return buffers
