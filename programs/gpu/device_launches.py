"""Launches a tape's kernels on a GPU: cubins over a program's tensors, on torch's stream.

Each launch uses the tensors' current addresses, and keeps none. Only program launchers import this.

Runs may change the global variables of a kernel's module. The variables' contents at load time are
kept on the host, and compared with those at the end.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch
from cuda.bindings import driver as cu

from compiler.json_number import tagged_float
from programs.gpu.program_context import GpuProgramContext
from programs.gpu.program_order import DeviceKernel, ProgramOrder
from programs.replay.live_tensors import LiveTensors
from programs.replay.written_storages import LaunchReport, kernels_by_op
from programs.tape.schema import (
    LaunchValue,
    ReinterpretedArgument,
    Tape,
    TapeDescriptor,
    TapeLaunch,
    TensorRef,
)
from worker.gpu.launcher.device import check
from worker.gpu.launcher.fault import JobFailed
from worker.gpu.launcher.kernel_parameters import Packer, ParameterBlock, ScratchAddresses
from worker.gpu.launcher.loaded_kernel import LoadedKernel
from worker.gpu.timing_integrity.module_globals import BadModule, ModuleGlobals, read_globals

_MAX_KEPT_BYTES = 16 << 20
"""Limit of all variables of a module; larger ones are reported, but not compared."""
_Grid = tuple[int, int, int]


Choice = Callable[[int, LiveTensors], int]
"""Returns the variant that an autotuned launch runs, given the index of its op."""


class DeviceLaunches:
    """Runs the launches of one tape; each module is loaded once."""

    def __init__(self, context: GpuProgramContext, order: ProgramOrder, tape: Tape) -> None:
        """Raise `InvalidTape` if the numbers of launches and of kernels differ."""
        self._context, self._order, self._tape = context, order, tape
        self._names = kernels_by_op(tape, order.launches)
        self._modules: dict[str, LoadedKernel] = {}
        self._loaded: dict[tuple[str, _Grid], LoadedKernel] = {}
        self._variables: dict[str, ModuleVariables] = {}
        self.choice: Choice | None = None
        """None: run the first variant that was compiled."""
        self.chosen: dict[int, int] = {}
        """The variant that each autotuned launch runs, by op."""

    def run(self, index: int, tensors: LiveTensors, /, *_: object) -> LaunchReport:
        """Queue the launch at op `index`; see `launch`."""
        self.launch(index, self._variant(index, tensors), tensors)
        return LaunchReport()

    def variants(self, index: int) -> Sequence[str]:
        """Return the kernels of a launch's variants, "" for one that never runs."""
        return self._names[index]

    def module_state(self) -> dict[str, Any]:
        """Return the state that each kernel could keep between runs. Raises CudaError."""
        reports = {name: variables.report() for name, variables in self._variables.items()}
        return {name: report for name, report in reports.items() if report is not None}

    def launch(self, index: int, variant: int, tensors: LiveTensors) -> None:
        """Queue one variant of a launch on torch's current stream.

        It waits for nothing, and loads a kernel only on its first use. Raises `InvalidTape`,
        KernelFault, JobFailed, CudaError.
        """
        op, name = self._op(index), self._names[index][variant]
        grid = op.variants[variant].grid if op.variants else op.grid
        kernel = self._order.kernels[name]
        loaded = self._load(name, kernel, grid)
        if loaded.empty:
            return
        described = _Described(tensors, kernel.scalars)
        arguments = {path: described.argument(path, value) for path, value in op.args.items()}
        scratch, kept = self._scratch(kernel, grid)
        packer = Packer(described.addresses, scratch, self._context.maps.encode)
        parameters = ParameterBlock(packer.pack(kernel.abi, arguments))
        loaded.config.hStream = cu.CUstream(torch.cuda.current_stream().cuda_stream)
        loaded.launch(parameters.address)
        del kept  # torch may reuse it for work queued after the launch

    def _variant(self, index: int, tensors: LiveTensors) -> int:
        names = self._names[index]
        if len(names) == 1:
            return 0
        if index not in self.chosen:
            first = next(number for number, name in enumerate(names) if name)
            self.chosen[index] = self.choice(index, tensors) if self.choice else first
        return self.chosen[index]

    def _op(self, index: int) -> TapeLaunch:
        op = self._tape.ops[index]
        assert isinstance(op, TapeLaunch)
        return op

    def _load(self, name: str, kernel: DeviceKernel, grid: _Grid) -> LoadedKernel:
        if (loaded := self._loaded.get((name, grid))) is not None:
            return loaded
        device = self._context.device
        if name in self._modules:
            loaded = self._modules[name].at(device, kernel.abi, grid)
        else:
            loaded = self._modules[name] = self._context.load(kernel.cubin, kernel.abi, grid)
            self._variables[name] = ModuleVariables(loaded.module, kernel.cubin)
        self._loaded[name, grid] = loaded
        return loaded

    def _scratch(
        self, kernel: DeviceKernel, grid: _Grid
    ) -> tuple[ScratchAddresses, list[torch.Tensor]]:
        """Return zeroed scratch memory for all instances; address 0 if the kernel needs none."""
        kept, addresses = [], []
        for wanted in (kernel.abi.global_scratch, kernel.abi.profile_scratch):
            size_bytes = wanted.size_bytes * prod(grid) * kernel.abi.cluster[0]
            if size_bytes:
                device = self._context.torch_device
                kept.append(torch.zeros(size_bytes, dtype=torch.uint8, device=device))
            addresses.append(kept[-1].data_ptr() if size_bytes else 0)
        return ScratchAddresses(*addresses), kept


class ChosenLaunches:
    """The launches of a tape after the variant of each is chosen."""

    def __init__(self, launches: DeviceLaunches) -> None:
        self._launches = launches

    def launch(self, index: int, tensors: LiveTensors) -> None:
        """Queue a launch's chosen variant; see `DeviceLaunches.launch`."""
        self._launches.launch(index, self._launches.chosen.get(index, 0), tensors)


class _Described:
    """Arguments in the format of launches, with a separate allocation for each tensor."""

    def __init__(self, tensors: LiveTensors, scalars: Mapping[str, str]) -> None:
        self._tensors, self._scalars = tensors, scalars
        self.addresses: list[int] = []

    def argument(self, path: str, value: LaunchValue) -> dict[str, Any]:
        match value:
            case TensorRef():
                return self._buffer(value.id)
            case ReinterpretedArgument():
                return self._buffer(value.base.id)
            case TapeDescriptor():
                base = self._buffer(value.base.id)
                base |= {"shape": list(value.shape), "strides": list(value.strides)}
                return {"kind": "descriptor", "base": base, "padding": "zero"}
            case tuple():
                items = [self.argument(f"{path}.{n}", item) for n, item in enumerate(value)]
                return {"kind": "tuple", "items": items}
            case None:
                return {"kind": "none"}
            case bool():
                return self._scalar(path, value)
            case int():
                return self._scalar(path, {"int": str(value)})
            case float():
                return self._scalar(path, tagged_float(value))
        return {"kind": "constexpr"}

    def _buffer(self, id_: int) -> dict[str, Any]:
        """Describe a pointer to the beginning of a tensor, whatever its dtype."""
        tensor = self._tensors.get(id_)
        if tensor.device.type != self._tensors.device.type:
            message = "a kernel gets pinned memory, which programs can have on the CPU device alone"
            raise JobFailed("unsupported_op", message)
        self.addresses.append(tensor.data_ptr())
        number = len(self.addresses) - 1
        return {"kind": "buffer", "allocation": number, "offset": 0, "dtype": "u8"}

    def _scalar(self, path: str, value: Any) -> dict[str, Any]:
        """Describe a number; one without a type is a constant of its kernel."""
        return {"kind": "scalar", "value": value, "dtype": self._scalars.get(path, "")}


@dataclass(frozen=True, slots=True)
class _DeviceRange:
    address: int
    size_bytes: int

    def content(self) -> bytes:
        """Return the current contents, after all finished work. Raises CudaError."""
        content = np.empty(self.size_bytes, np.uint8)
        copied = cu.cuMemcpyDtoH(content.ctypes.data, self.address, self.size_bytes)
        check(copied, "reading a variable of a module")
        return content.tobytes()


class ModuleVariables:
    """The variables of one module, with their contents at load time. Raises CudaError."""

    def __init__(self, module: Any, cubin: bytes) -> None:
        self._problem: str | None = None
        self._globals = ModuleGlobals((), 0, uses_heap=False)
        try:
            self._globals = read_globals(cubin)
        except BadModule as bad:
            self._problem = str(bad)
        places = {
            variable.name: _place(module, variable.name) for variable in self._globals.variables
        }
        located = {name: place for name, place in places.items() if place is not None}
        is_small = sum(place.size_bytes for place in located.values()) <= _MAX_KEPT_BYTES
        self._places = located if is_small else {}
        self._before = {name: place.content() for name, place in self._places.items()}

    def report(self) -> dict[str, Any] | None:
        """Return the state that could last between runs; None if there is none.

        See `worker.gpu.timing_integrity.module_state.ModuleState.report`.
        """
        changed = {name: self._places[name].content() != was for name, was in self._before.items()}
        variables = [
            {
                "name": variable.plain_name,
                "size_bytes": variable.size_bytes,
                "changed": changed.get(variable.name),
            }
            for variable in self._globals.variables
            if changed.get(variable.name) is not False or not variable.is_of_compiler
        ]
        known = self._globals
        if not (self._problem or variables or known.unnamed_bytes or known.uses_heap):
            return None
        return {
            "problem": self._problem,
            "variables": variables,
            "unnamed_bytes": known.unnamed_bytes,
            "uses_heap": known.uses_heap,
        }


def _place(module: Any, name: str) -> _DeviceRange | None:
    """Return the place of a variable; None if the driver does not know it."""
    status, address, size_bytes = cu.cuModuleGetGlobal(module, name.encode())
    if status != cu.CUresult.CUDA_SUCCESS:
        return None
    return _DeviceRange(int(address), int(size_bytes))
