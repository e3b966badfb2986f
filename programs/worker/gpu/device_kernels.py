"""The kernels in a launcher's order, each once. Pure."""

from collections.abc import Sequence
from typing import Any

from compiler.compilation import Compilation
from compiler.specialization import plain_type
from compiler.type_name import SCALARS
from programs.gpu.program_order import DeviceKernel
from programs.tape.schema import TapeLaunch
from programs.worker.kernel_jobs import KernelUse
from programs.worker.program_kernels import ProgramKernels


class DeviceKernels:
    """The kernels of a program under short names, as there may be 200,000 launches."""

    def __init__(self, kernels: ProgramKernels) -> None:
        self._kernels = kernels
        self._left_out = kernels.left_out
        self._names: dict[str, str] = {}
        self.named: dict[str, DeviceKernel] = {}

    def of_launch(self, launch: TapeLaunch, uses: Sequence[KernelUse]) -> list[str]:
        """Return the names of the kernels of a launch's variants, "" for one that cannot run."""
        variants = launch.variants or (None,)
        return [
            "" if variant is not None and variant.unprepared else self.name(use)
            for variant, use in zip(variants, uses, strict=True)
        ]

    def name(self, use: KernelUse) -> str:
        """Return the name of the kernel of a use, "" if it did not compile."""
        built = self._kernels.built(use)
        if built is None or built.cubin is None or use in self._left_out:
            return ""
        key = built.compilation.key
        if key not in self._names:
            name = self._names[key] = str(len(self._names))
            assert built.compilation.abi is not None
            scalars = scalars_of(built.compilation)
            self.named[name] = DeviceKernel(built.cubin, built.compilation.abi, scalars)
        return self._names[key]


def scalars_of(compilation: Compilation) -> dict[str, str]:
    """Return the types of a kernel's scalar parameters by path: `n`, or `pair.1` in a tuple."""
    found: dict[str, str] = {}
    for item in compilation.parameters:
        if item.role == "runtime":
            _add_scalars(found, item.name, plain_type(item.type))
    return found


def _add_scalars(found: dict[str, str], path: str, kind: Any) -> None:
    if isinstance(kind, list):
        for position, item in enumerate(kind):
            _add_scalars(found, f"{path}.{position}", item)
    elif kind in SCALARS:
        found[path] = kind
