"""The functions of torch on tensors without elements: those that host code makes arguments with.

Another function that gets a tensor is taken to return one like it, which marks the result as a
guess. Runs with user code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from compiler.front.environment import StandInUsed
from compiler.front.script.fake_tensor import (
    DTYPES,
    METHODS,
    STRIDED,
    Size,
    Tensor,
    TorchDevice,
    broadcast,
    device_of,
    flat,
    guess,
    matmul,
)
from compiler.front.script.torch_classes import LAYERS, Function, Module
from compiler.front.stubs.torch_stub import Dtype

_default_dtype = [DTYPES["float32"]]
_default_device = [TorchDevice("cpu")]
_GPU = TorchDevice("cuda", 0)


def _made(shape: Sequence[Any], keywords: dict[str, Any], dtype: Dtype | None = None) -> Tensor:
    kind = keywords.get("dtype") or dtype or _default_dtype[0]
    made = Tensor(flat(shape), kind, device_of(keywords.get("device"), _default_device[0]))
    made.requires_grad = bool(keywords.get("requires_grad"))
    return made


def _of_shape(*shape: Any, **keywords: Any) -> Tensor:
    shape = (keywords["size"],) if "size" in keywords else shape
    return _made(shape, keywords)


def _full(size: Sequence[int], fill_value: Any, **keywords: Any) -> Tensor:
    return _made((size,), keywords, _dtype_of(fill_value))


def _randint(*arguments: Any, **keywords: Any) -> Tensor:
    size = keywords["size"] if "size" in keywords else arguments[-1]
    return _made((size,), keywords, DTYPES["int64"])


def _arange(*arguments: Any, **keywords: Any) -> Tensor:
    start, end, step = {1: (0, *arguments, 1), 2: (*arguments, 1)}.get(len(arguments), arguments)
    count = math.ceil((end - start) / step)
    is_float = any(isinstance(value, float) for value in arguments)
    return _made((max(count, 0),), keywords, None if is_float else DTYPES["int64"])


def _linspace(start: Any, end: Any, steps: int, **keywords: Any) -> Tensor:
    del start, end
    return _made((steps,), keywords)


def _eye(rows: int, columns: int | None = None, **keywords: Any) -> Tensor:
    return _made((rows, columns or rows), keywords)


def _randperm(count: int, **keywords: Any) -> Tensor:
    return _made((count,), keywords, DTYPES["int64"])


def _tensor(data: Any, **keywords: Any) -> Tensor:
    if isinstance(data, Tensor):
        return data.to(**keywords)
    shape: list[int] = []
    item = data
    while isinstance(item, (list, tuple)):
        shape.append(len(item))
        item = item[0] if item else 0.0
    if not isinstance(item, (int, float, Tensor)):
        raise StandInUsed(f"the shape of {type(item).__name__} is not known here")
    dtype = item.dtype if isinstance(item, Tensor) else _dtype_of(item)
    return _made((shape,), keywords, dtype)


def _dtype_of(value: Any) -> Dtype:
    if isinstance(value, bool):
        return DTYPES["bool"]
    return DTYPES["int64"] if isinstance(value, int) else _default_dtype[0]


def _like(tensor: Tensor, *_: Any, **keywords: Any) -> Tensor:
    made = tensor.clone()
    made.dtype = keywords.get("dtype") or tensor.dtype
    made.device = device_of(keywords.get("device"), tensor.device)
    return made


def _new(tensor: Tensor, *shape: Any, **keywords: Any) -> Tensor:
    return _made(shape, {"dtype": tensor.dtype, "device": tensor.device} | keywords)


def _new_full(tensor: Tensor, size: Sequence[int], _: Any, **keywords: Any) -> Tensor:
    return _new(tensor, size, **keywords)


def _empty_strided(size: Sequence[int], stride: Sequence[int], **keywords: Any) -> Tensor:
    made = _made((size,), keywords)
    made.strides = tuple(stride)
    return made


def _cat(tensors: Sequence[Tensor], dim: int = 0, **_: Any) -> Tensor:
    first = tensors[0]
    at = first._axis(dim)
    shape = list(first.shape)
    shape[at] = sum(tensor.shape[at] for tensor in tensors)
    return broadcast(*[tensor.like([]) for tensor in tensors]).like(shape)


def _stack(tensors: Sequence[Tensor], dim: int = 0, **_: Any) -> Tensor:
    first = tensors[0]
    at = dim + first.ndim + 1 if dim < 0 else dim
    return first.like([*first.shape[:at], len(tensors), *first.shape[at:]])


def _broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    shape = broadcast(*tensors).shape
    return tuple(tensor.expand(*shape) for tensor in tensors)


def _legacy_tensor(*arguments: Any, **keywords: Any) -> Tensor:
    """Return what `torch.Tensor(...)` makes: of a shape, or with the elements of a list."""
    if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)):
        return _tensor(arguments[0], dtype=DTYPES["float32"])
    return _made(arguments, keywords, DTYPES["float32"])


class _TensorType(type):
    """Has `torch.Tensor` make tensors as torch does, and be the class of all of them."""

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        return _legacy_tensor(*arguments, **keywords)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor)


class _TorchTensor(Tensor, metaclass=_TensorType):
    """`torch.Tensor`."""


def _where(condition: Tensor, *values: Any) -> Tensor:
    kinds = [value for value in values if isinstance(value, Tensor)]
    dtype = broadcast(*values).dtype if kinds else _dtype_of(values[0])
    tensor = broadcast(condition, *values, dtype=dtype)
    tensor.is_guess |= not condition.shape  # the order of its axes is not known
    return tensor


def _sum(tensor: Tensor, dim: Any = None, keepdim: bool = False, **keywords: Any) -> Tensor:
    small = not tensor.dtype.is_floating_point
    dtype = keywords.get("dtype") or (DTYPES["int64"] if small else None)
    return tensor.reduced(keywords.get("axis", dim), keepdim, dtype)


def _mean(tensor: Tensor, dim: Any = None, keepdim: bool = False, **keywords: Any) -> Tensor:
    mean = tensor.reduced(keywords.get("axis", dim), keepdim, keywords.get("dtype"))
    if (derived_by := tensor.derived_by) is not None:  # its gradient is divided, so it has no gaps
        mean.derived_by = lambda _: derived_by(tensor.like())
    return mean


def _extreme(tensor: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
    if isinstance(dim, Tensor):
        return broadcast(tensor, dim)
    if dim is None:
        return tensor.reduced()
    return tensor.reduced(dim, keepdim).like(), tensor.reduced(dim, keepdim, DTYPES["int64"]).like()


def _at_extreme(tensor: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> Tensor:
    return tensor.reduced(dim, keepdim, DTYPES["int64"])


def _tested(tensor: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> Tensor:
    return tensor.reduced(dim, keepdim, DTYPES["bool"])


def _repeat(tensor: Tensor, *counts: Any) -> Tensor:
    wanted = flat(counts)
    extents = [1] * (len(wanted) - tensor.ndim) + list(tensor.shape)
    return tensor.like([e * n for e, n in zip(extents, wanted, strict=True)])


def _linear(tensor: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    del bias
    return matmul(tensor, weight.t())


def _cumulative(tensor: Tensor, *_: Any, **keywords: Any) -> Tensor:
    whole = not tensor.dtype.is_floating_point
    dtype = keywords.get("dtype") or (DTYPES["int64"] if whole else None)
    return broadcast(tensor) if dtype in (None, tensor.dtype) else tensor.like(dtype=dtype)


def _sorted(tensor: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
    return tensor.clone(), tensor.clone().to(DTYPES["int64"])


def _softmax(tensor: Tensor, *_: Any, **keywords: Any) -> Tensor:
    return tensor.like(dtype=keywords.get("dtype"))


def _of_floats(*arguments: Any, **keywords: Any) -> Tensor:
    tensor = _elementwise(*arguments, **keywords)
    return tensor if tensor.dtype.is_floating_point else tensor.to(_default_dtype[0])


def _cross_entropy(tensor: Tensor, *_: Any, **__: Any) -> Tensor:
    return tensor.like([])


def _equal(*_: Any, **__: Any) -> bool:
    return True  # a check of results, of which none are computed


def _parameter(tensor: Tensor, requires_grad: bool = True) -> Tensor:
    return tensor.requires_grad_(requires_grad)


def _gradients(outputs: Any, inputs: Any, grad_outputs: Any = None, **_: Any) -> Any:
    output = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    gradient = grad_outputs[0] if isinstance(grad_outputs, (tuple, list)) else grad_outputs
    output.backward(gradient)
    return tuple(
        tensor.like() for tensor in (inputs if isinstance(inputs, (tuple, list)) else [inputs])
    )


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _elementwise(*arguments: Any, **keywords: Any) -> Tensor:
    dtype = keywords.get("dtype")
    return broadcast(*arguments, dtype=dtype if isinstance(dtype, Dtype) else None)


class _Properties:
    """Properties of a GPU that hosts size their grids by; those of an H100."""

    multi_processor_count = 132
    warp_size = 32
    name = "NVIDIA H100"
    major, minor = 9, 0
    total_memory = 80 << 30
    shared_memory_per_block_optin = 232_448
    max_threads_per_multi_processor = 2048
    regs_per_multiprocessor = 65_536

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


def _set_default_device(device: Any) -> None:
    _default_device[0] = device_of(device)


def _set_default_dtype(dtype: Dtype) -> None:
    _default_dtype[0] = dtype


def _device(kind: Any, index: int | None = None) -> TorchDevice:
    device = device_of(kind)
    return device if index is None else TorchDevice(device.type, index)


class _Unchanging:
    """A context that does nothing, and a decorator that returns its function."""

    def __call__(self, function: Any) -> Any:
        return function

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def _unchanging(function: Any = None, *_: Any, **__: Any) -> Any:
    return function if callable(function) else _Unchanging()


_UNCHANGING = ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "compile")
_CREATED: dict[str, Any] = {
    **dict.fromkeys(("empty", "zeros", "ones", "rand", "randn"), _of_shape),
    **dict.fromkeys(("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like"), _like),
    **dict.fromkeys(("full_like", "randint_like"), _like),
    **dict.fromkeys(("tensor", "as_tensor", "asarray"), _tensor),
    "full": _full, "randint": _randint, "arange": _arange, "linspace": _linspace, "eye": _eye,
    "randperm": _randperm, "empty_strided": _empty_strided, "device": _device, "Size": Size,
    "set_default_device": _set_default_device, "set_default_dtype": _set_default_dtype,
    "get_default_dtype": lambda: _default_dtype[0],
    "strided": STRIDED, "broadcast_tensors": _broadcast_tensors,
    **dict.fromkeys(_UNCHANGING, _unchanging), "is_complex": Tensor.is_complex,
    "is_floating_point": Tensor.is_floating_point, "manual_seed": _nothing,
    "is_tensor": lambda value: isinstance(value, Tensor),
    "Tensor": _TorchTensor, "cat": _cat, "concat": _cat, "stack": _stack,
    "promote_types": lambda *dtypes: broadcast(*[Tensor([], d, _GPU) for d in dtypes]).dtype,
}  # fmt: skip
_FLOATS = ("exp exp2 log log2 sqrt rsqrt sin cos tan tanh sigmoid erf reciprocal atan2").split()
_ELEMENTS = (
    "abs add sub mul pow relu gelu silu clamp clip floor ceil round neg square "
    "maximum minimum "
    "logical_and logical_or logical_not fmod remainder leaky_relu elu selu softplus dropout "
    "layer_norm rms_norm group_norm batch_norm nan_to_num tril triu masked_fill flip roll "
    "bitwise_and bitwise_or bitwise_xor sign trunc addcmul addcdiv lerp normalize "
).split()
_OF_TENSORS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(_ELEMENTS, _elementwise), **dict.fromkeys(_FLOATS, _of_floats),
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot"), matmul),
    **dict.fromkeys(("sum", "prod", "count_nonzero"), _sum),
    **dict.fromkeys(("mean", "std", "var", "norm", "logsumexp"), _mean),
    **dict.fromkeys(("max", "min"), _extreme),
    **dict.fromkeys(("amax", "amin"), _mean),
    **dict.fromkeys(("argmax", "argmin"), _at_extreme),
    **dict.fromkeys(("any", "all"), _tested),
    **dict.fromkeys(("cumsum", "cumprod"), _cumulative), "sort": _sorted,
    **dict.fromkeys(("softmax", "log_softmax"), _softmax),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite"),
                    lambda *values, **_: broadcast(*values, dtype=DTYPES["bool"])),
    "where": _where, "linear": _linear, "cross_entropy": _cross_entropy,
    "allclose": _equal, "equal": _equal, "isclose": _tested,
    "div": Tensor._divided, "true_divide": Tensor._divided, "repeat": _repeat, "tile": _repeat,
}  # fmt: skip
METHODS.update(
    {
        **_OF_TENSORS,
        **dict.fromkeys(("new_empty", "new_zeros", "new_ones"), _new),
        **dict.fromkeys(("detach", "pin_memory", "retain_grad"), Tensor.itself),
        **{
            name: lambda self, dtype=DTYPES[name]: self.to(dtype)
            for name in ("half", "float", "double", "bfloat16", "int", "long", "short", "bool")
        },
        "new_full": _new_full,
        "new_tensor": lambda _, data, **named: _tensor(data, **named),
    }
)
_VIEWS = (
    "view reshape flatten permute transpose t unsqueeze squeeze expand narrow split chunk unbind "
    "clone numel swapaxes unflatten ravel"
).split()


def known_names(absent: Callable[[str], Any]) -> dict[str, dict[str, Any]]:
    """Return what the modules of torch hold while host code runs, by the modules' names.

    `absent` returns the stand-in for a name that is not known here.
    """
    functions = {name: getattr(Tensor, name) for name in _VIEWS} | _OF_TENSORS
    return {
        "torch": {**functions, **_CREATED, "__getattr__": _unknown(absent)},
        "torch.nn.functional": {
            **functions,
            "__getattr__": _unknown(absent),
        },
        "torch.testing": {"assert_close": _nothing, "assert_allclose": _nothing},
        "torch.nn": {"Module": Module, "Parameter": _parameter, **LAYERS},
        "torch.autograd": {"Function": Function, "grad": _gradients},
        "torch.jit": dict.fromkeys(("script", "export", "ignore", "unused"), _unchanging),
        **{
            module: dict.fromkeys(("custom_fwd", "custom_bwd", "autocast"), _unchanging)
            for module in ("torch.amp", "torch.cuda.amp")
        },
        "torch.cuda": {
            **dict.fromkeys(("device", "stream", "device_of"), _unchanging),
            **dict.fromkeys(("synchronize", "manual_seed", "empty_cache"), _nothing),
            "get_device_properties": _Properties,
        },
    }


def _unknown(absent: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module: functions of tensors return guesses."""

    def attribute(name: str) -> Any:
        stand_in = absent(name)
        if name.startswith("_") or name[:1].isupper():
            return stand_in

        class Called:
            def __call__(self, *arguments: Any, **named: Any) -> Any:
                if any(isinstance(value, Tensor) for value in arguments):
                    return guess(*arguments)
                return stand_in(*arguments, **named)

            def __getattr__(self, inner: str) -> Any:
                return getattr(stand_in, inner)

        return Called()

    return attribute
