"""Records one program: runs its Python on fake tensors, and returns the tape as JSON.

Runs user code, so only sandboxed children call it, after `recorder_warming.prepare()`. The user
code may have forged what it returns.

An op on fake tensors raises the errors that it raises on real ones, as a program may catch them:
`try: x.view(6)`, `except RuntimeError: x.reshape(6)`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from programs.recorder.program_entry import ProgramFiles, record_entry, seed_python_random
from programs.recorder.record_order import NotRecordable, RecordOrder, SandboxAttempt
from programs.recorder.recording import Recording, as_current
from programs.recorder.refusals import UserLines, instead_of, message_of, reason_of, refusal_of
from programs.recorder.tape_writer import device_name
from programs.recorder.torch_patches.fake_generators import check_device
from programs.tape.allowed_overloads import ALLOWED, VALUE_CHECKS
from programs.tape.schema import MAX_DEGREE

_MIRRORED = "_check_with"
"""torch's function behind `torch._check_value` and others, which raise the same type as ATen."""
_INDEXING = "aten.index.Tensor"
_INDEXED = frozenset({
    _INDEXING, "aten.index_put.default", "aten.index_put_.default", "aten._index_put_impl_.default",
})  # fmt: skip
"""Ops whose second argument lists indices; those of 8 bits are masks if they have no sign."""
_DEVICE = "prim.device.default"
_IS_PINNED = "aten.is_pinned.default"
_VALUE = "aten._local_scalar_dense.default"
_EQUAL = "aten.equal.default"
_CONJUGATED = "aten._conj.default"
_POLYNOMIAL = "aten.special_chebyshev_polynomial_t.n_scalar"
_REINTERPRETATION = "inductor._reinterpret_tensor.default"
_FORBIDDEN = frozenset(
    f"aten.{name}"
    for name in (
        "set_.source_Storage", "set_.source_Storage_storage_offset", "from_file.default",
        "record_stream.default",
    )
)  # fmt: skip
_IGNORED = frozenset({
    "aten.record_stream.default", "aten.set_.source_Storage_storage_offset",
    "aten.set_.source_Tensor",
})  # fmt: skip
"""Ops that affect only memory management, which a tape does not hold."""
_PARTS: Mapping[str, Callable[..., Any]] = {
    "aten.unsafe_split.Tensor": torch.ops.aten.split.Tensor,
    "aten.unsafe_split_with_sizes.default": torch.ops.aten.split_with_sizes.default,
}
"""Ops that are recorded as others with the same result."""
_SHIFTS: Mapping[str, str] = {
    "__lshift__": "lshift", "bitwise_left_shift": "lshift",
    "__rshift__": "rshift", "bitwise_right_shift": "rshift",
}  # fmt: skip
_SCALAR_TYPES: Mapping[torch.dtype, str] = {
    torch.bool: "Bool", torch.float32: "Float", torch.float64: "Double", torch.float16: "Half",
    torch.bfloat16: "BFloat16",
}  # fmt: skip


@dataclass(frozen=True)
class Recorded:
    """A tape as JSON, and True if its inputs depend on the order's `inputs_seed`."""

    tape: bytes
    draws_inputs: bool
    attempts: list[SandboxAttempt]
    """The attempts of the program to reach outside of the sandbox."""


def record(order: RecordOrder, source: str, files: Mapping[str, str]) -> Recorded:
    """Return a tape. Raises `NotRecordable`, and `MemoryError`."""
    program = ProgramFiles(source, files)
    recording = Recording(order, UserLines(program.paths))
    try:
        tape = _recorded(recording, program)
    except MemoryError:
        raise
    except BaseException as error:
        raise recording.refusal or refusal_of(error, recording.lines) from error
    finally:
        program.forget()
    return Recorded(tape, recording.draws_inputs, recording.attempts)


def _recorded(recording: Recording, program: ProgramFiles) -> bytes:
    _seed(recording.order.seed)
    fakes = FakeTensorMode(allow_non_fake_inputs=True, allow_fallback_kernels=False)
    with (
        torch.autograd.set_multithreading_enabled(False),
        fakes,
        AtenRecorder(recording),
        as_current(recording),
    ):
        members = record_entry(recording, program)
    recording.definitions.check(program.globals_loaded)
    recording.triton_changes.check()
    if recording.refusal is not None:
        raise recording.refusal
    return recording.tape.finished(**members)


def _seed(seed: int) -> None:
    """Seed the generators of plain numbers, so that two recordings are equal."""
    seed_python_random(seed)
    torch.manual_seed(seed)


def called_on_fakes(func: Any, args: Any, kwargs: Any) -> Any:
    """Return the result of an op on fake tensors. Raises what eager torch raises."""
    if str(func) in _INDEXED:
        args = (args[0], [_as_mask(index) for index in args[1]], *args[2:])
    try:
        return func(*args, **kwargs)
    except (ValueError, AssertionError) as error:
        # Python code that replaces ATen's raises these where ATen raises a RuntimeError
        if _raising_function(error) == _MIRRORED:
            raise
        raise RuntimeError(str(error)) from error
    except RuntimeError as error:
        if str(func) != _INDEXING or type(error) is not RuntimeError:
            raise
        raise IndexError(str(error)) from error


def _as_mask(index: Any) -> Any:
    """Return a mask for an index of bytes; torch's fakes confuse these with signed ones."""
    dtype = index.dtype if isinstance(index, torch.Tensor) else None
    if dtype is torch.int8:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return index.bool() if dtype is torch.uint8 else index


def _raising_function(error: Exception) -> str:
    """Return the name of the function that raised an error."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "" if step is None else step.tb_frame.f_code.co_name


class AtenRecorder(TorchDispatchMode):  # type: ignore[misc]
    """A dispatch mode above FakeTensorMode: writes each op, then runs it on fake tensors."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording
        self._conjugated: set[int] = set()
        """Storages with a conjugated copy that replaces a view; the tape keeps them alive."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Write one op, and return its result on fake tensors."""
        kwargs = kwargs or {}
        recording = self._recording
        if recording.refusal is not None:
            raise recording.refusal
        if recording.muted:
            return called_on_fakes(func, args, kwargs)
        name = str(func)
        if name == _DEVICE and isinstance(args[0], FakeTensor):
            return args[0].fake_device  # without a call of FakeTensorMode, as most ops ask for it
        if name == _IS_PINNED:
            return recording.tape.is_pinned(args[0])
        try:
            return self._write(func, name, args, kwargs)
        except NotRecordable as refusal:
            raise recording.noted(refusal) from None
        except Exception as error:
            reason = reason_of(error)
            if reason is None:
                raise
            raise recording.noted(NotRecordable(reason, message_of(error))) from error

    def _write(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name.startswith(("profiler.", "prim.device.")) or name in _IGNORED:
            return func(*args, **kwargs)
        if not name.startswith("aten."):
            return self._foreign(func, name, args, kwargs)
        if name == _VALUE:
            return self._value(func, args)
        if name == _EQUAL:
            return self._equal(func, args)
        if name == _CONJUGATED:
            return self._conjugated_copy(args[0])
        if name in _FORBIDDEN:
            raise NotRecordable("unsupported_op", f"{name} works on memory below tensors")
        if name in _PARTS:
            with self:
                return _PARTS[name](*args, **kwargs)
        parts = composed(name, func, args, kwargs)
        if parts is not None:
            with self:
                return parts()
        inner = self._decomposed(func, args, kwargs)
        return self._op(func, name, args, kwargs) if inner is NotImplemented else inner

    def _op(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        recording, tape = self._recording, self._recording.tape
        leaves = _leaves((*args, *kwargs.values()))
        tensors = [item for item in leaves if isinstance(item, torch.Tensor)]
        for item in leaves:
            if isinstance(item, torch.device):
                device_name(item)
            elif isinstance(item, torch._C.Generator):
                check_device(tape.program_generator(item), _drawn_on(kwargs, tensors))
        real = recording.values.arguments(func, name, tensors)
        changes = func._schema.is_mutable
        if changes:
            self._check_written(func, args, kwargs)
            recording.values.forget(tensors)
        if torch.Tag.nondeterministic_seeded in func.tags:
            recording.draws += 1
        entry: dict[str, Any] = {"op": name, "a": [tape.value(item) for item in args]}
        if kwargs:
            entry["k"] = {key: tape.value(item) for key, item in kwargs.items()}
        returned = called_on_fakes(func, args, kwargs)
        if real is not None:
            recording.values.note(func, args, kwargs, real, returned)
        outputs = [
            tape.tensors.add(item) if isinstance(item, torch.Tensor) else None
            for item in _leaves((returned,))
        ]
        if changes or name in VALUE_CHECKS or any(output is not None for output in outputs):
            if name not in ALLOWED:
                detail = f"{name} is not an overload that tapes allow{instead_of(name)}"
                raise NotRecordable("unsupported_op", detail)
            _check_degree(name, args)
            tape.write({**entry, "o": outputs})
        return returned

    def _value(self, func: Any, args: Any) -> Any:
        """Return the value of a tensor that depends on no data. Raises torch's error for others."""
        if args[0].device.type == "cuda":
            self._recording.tape.copies.wait()
        known = self._recording.values.of(args[0])
        if known is None:
            return func(*args)
        with _disable_current_modes():
            return known.item()

    def _equal(self, func: Any, args: Any) -> Any:
        """Compare two tensors that depend on no data, as torch does to check windows."""
        known = [self._recording.values.of(tensor) for tensor in args]
        if any(value is None for value in known):
            return func(*args)
        with _disable_current_modes():
            return func(*known)

    def _conjugated_copy(self, original: Any) -> Any:
        """Return a copy in place of torch's lazy view; writes to either are refused from now on."""
        with self:
            made = original.conj_physical()
        for tensor in (original, made):
            self._conjugated.add(tensor.untyped_storage()._cdata)
        return made

    def _check_written(self, func: Any, args: Any, kwargs: Any) -> None:
        for number, argument in enumerate(func._schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            written = args[number] if number < len(args) else kwargs.get(argument.name)
            for tensor in tree_leaves(written):
                is_tensor = isinstance(tensor, torch.Tensor)
                if is_tensor and tensor.untyped_storage()._cdata in self._conjugated:
                    detail = (
                        "it writes to a tensor with a conjugated view, or to that view: use "
                        "conj_physical() instead of conj()"
                    )
                    raise NotRecordable("unsupported_op", detail)

    def _decomposed(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run the parts of a composite op, which inference mode does not decompose itself."""
        if not torch.is_inference_mode_enabled() or not _is_composite(func):
            return NotImplemented
        with self:
            return func.decompose(*args, **kwargs)

    def _foreign(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        """Run the Python implementation of a program's custom op, to record its ops."""
        if name == _REINTERPRETATION:
            with self:
                return _reinterpreted(*args)
        implementation = _implementation(func)
        if implementation is None:
            detail = f"{name} is neither an ATen op nor a custom op in Python"
            raise NotRecordable("unsupported_op", detail)
        with self:
            return implementation(*args, **kwargs)


def _leaves(values: Sequence[Any]) -> list[Any]:
    """Return the values, and those in lists and tuples; ops have no other structures."""
    leaves: list[Any] = []
    for value in values:
        if isinstance(value, list | tuple):
            leaves += _leaves(value)
        else:
            leaves.append(value)
    return leaves


def _drawn_on(kwargs: Any, tensors: list[Any]) -> torch.device:
    """Return the device of the numbers that an op draws from a generator."""
    if tensors:
        return tensors[0].device
    return kwargs.get("device") or torch.device("cpu")


def _check_degree(name: str, args: Any) -> None:
    """Raise `NotRecordable` for a polynomial with more terms than a tape may request."""
    if name == _POLYNOMIAL and not args[1] <= MAX_DEGREE:
        detail = f"the polynomial has degree {args[1]}; the limit is {MAX_DEGREE}"
        raise NotRecordable("unsupported_argument", detail)


def _is_composite(func: Any) -> bool:
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    name = func.name()
    return bool(has(name, "CompositeImplicitAutograd")) and not has(name, "CUDA")


def _reinterpreted(tensor: Any, sizes: Any, strides: Any, further: int = 0) -> Any:
    return tensor.as_strided(sizes, strides, tensor.storage_offset() + further)


def _implementation(func: Any) -> Any | None:
    """Return the Python function of a custom op on a GPU, None without one."""
    from torch._library import custom_ops

    definition = custom_ops.OPDEFS.get(func.name().split(".")[0])
    if definition is not None:
        return definition._backend_fns.get("cuda") or definition._backend_fns.get(None)
    key = torch._C.DispatchKey
    for kernel in (key.CUDA, key.CompositeExplicitAutograd, key.CompositeImplicitAutograd):
        implementation = func.py_kernels.get(kernel)
        if implementation is not None:
            return implementation
    return None


def composed(name: str, func: Any, args: Any, kwargs: Any) -> Callable[[], Any] | None:
    """Return a call of other ops with the result of this one; None to record the op itself."""
    packet = name.split(".")[1]
    if packet in _SHIFTS:
        return _shift(_SHIFTS[packet], func, *args)
    if name == "aten.resize_.default" and not kwargs.get("memory_format"):
        return _resize(*args)
    if name == "aten._pin_memory.default":
        return lambda: _pinned(args[0])
    return None


def _shift(name: str, func: Any, value: Any, count: Any) -> Callable[[], Any] | None:
    """Return a shift of booleans as of the integers that torch promotes them to."""
    kind = torch.result_type(value, count)
    if kind in _SCALAR_TYPES:
        device = (value if isinstance(value, torch.Tensor) else count).device.type
        message = f"\"{name}_{device}\" not implemented for '{_SCALAR_TYPES[kind]}'"
        raise NotImplementedError(message)
    if not isinstance(value, torch.Tensor):
        return lambda: _shifted_number(func, value, _as_integers(count, kind))
    if not any(getattr(each, "dtype", None) is torch.bool for each in (value, count)):
        return None
    return lambda: func(_as_integers(value, kind), _as_integers(count, kind))


def _as_integers(value: Any, kind: torch.dtype) -> Any:
    is_boolean = isinstance(value, torch.Tensor) and value.dtype is torch.bool
    return torch.ops.aten._to_copy.default(value, dtype=kind) if is_boolean else value


def _shifted_number(func: Any, number: int, count: Any) -> Any:
    """Return `number << count`, with the number as a tensor, as tapes hold it."""
    tensor = torch.ops.aten.scalar_tensor.default(number, dtype=count.dtype, device=count.device)
    return getattr(torch.ops.aten, func.overloadpacket.__name__).Tensor(tensor, count)


def _resize(tensor: Any, size: Any) -> Callable[[], Any] | None:
    """Return another view of the same memory, None if that has to grow."""
    if tuple(tensor.shape) == tuple(size):
        return lambda: tensor
    end = tensor.storage_offset() + prod(size)
    if end * tensor.itemsize > tensor.untyped_storage().nbytes():
        return None
    strides = [prod(size[axis + 1 :]) for axis in range(len(size))]
    return lambda: tensor.as_strided_(size, strides, tensor.storage_offset())


def _pinned(tensor: Any) -> Any:
    if tensor.device.type != "cpu":
        message = f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned"
        raise RuntimeError(message)
    made = torch.empty_like(tensor, pin_memory=True)
    made.copy_(tensor)
    return made
