"""Replaces torch and NumPy, which are not here: annotations and constants can mention them.

Knows constants, dtypes (names, sizes, limits) and which machine is compiled for. Nothing is
computed with it: what would need a real answer raises, and is left out.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import triton.language as tl

from compiler.front.environment import Assumptions, StandIn, StandInUsed
from compiler.front.stubs import driver_stub, numpy_stub, version_stub

if TYPE_CHECKING:
    from typing import Self  # not in Python 3.10, which Triton still supports

CONSTANTS = {"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e, "newaxis": None}
_F32_TINY, _F32_MAX = 2.0**-126, (2 - 2**-23) * 2.0**127
_F64_MAX = (2 - 2**-52) * 2.0**1023
# name: bits, smallest and largest value, epsilon, smallest normal one, resolution
_FLOATS = {
    "float64": (64, -_F64_MAX, _F64_MAX, 2.0**-52, 2.0**-1022, 1e-15),
    "float32": (32, -_F32_MAX, _F32_MAX, 2.0**-23, _F32_TINY, 1e-6),
    "float16": (16, -65504.0, 65504.0, 2.0**-10, 2.0**-14, 1e-3),
    "bfloat16": (16, -(2 - 2**-7) * 2.0**127, (2 - 2**-7) * 2.0**127, 2.0**-7, _F32_TINY, 1e-2),
    "float8_e4m3fn": (8, -448.0, 448.0, 2.0**-3, 2.0**-6, 1.0),
    "float8_e5m2": (8, -57344.0, 57344.0, 2.0**-2, 2.0**-14, 1.0),
    "float8_e4m3fnuz": (8, -240.0, 240.0, 2.0**-3, 2.0**-7, 1.0),
    "float8_e5m2fnuz": (8, -57344.0, 57344.0, 2.0**-3, 2.0**-15, 1.0),
    "float8_e8m0fnu": (8, 2.0**-127, 2.0**127, 1.0, 2.0**-127, 1.0),
}
_COMPLEX = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_INTEGERS = {f"{sign}int{bits}": bits for sign in ("", "u") for bits in (8, 16, 32, 64)}
_ALIASES = {
    "half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32",
    "long": "int64", "chalf": "complex32", "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip


@dataclass(frozen=True)
class Dtype:
    """A dtype as torch shows it: `torch.float16`."""

    name: str
    itemsize: int
    is_floating_point: bool = False
    is_complex: bool = False
    is_signed: bool = True

    def __repr__(self) -> str:
        return f"torch.{self.name}"


@dataclass(frozen=True)
class FloatLimits:
    """The result of `torch.finfo` for a dtype."""

    bits: int
    min: float
    max: float
    eps: float
    smallest_normal: float
    resolution: float
    dtype: str

    @property
    def tiny(self) -> float:
        """The smallest normal value."""
        return self.smallest_normal


@dataclass(frozen=True)
class IntegerLimits:
    """The result of `torch.iinfo` for a dtype."""

    bits: int
    max: int
    min: int
    dtype: str


def named() -> dict[str, Dtype]:
    """Return the dtypes by every name that torch has for them, each one object."""
    dtypes = {
        name: Dtype(name, bits // 8, is_floating_point=True, is_signed=smallest < 0)
        for name, (bits, smallest, *_) in _FLOATS.items()
    }
    dtypes |= {n: Dtype(n, bits // 8, is_signed=n[0] != "u") for n, bits in _INTEGERS.items()}
    dtypes |= {
        n: Dtype(n, 2 * dtypes[part].itemsize, is_complex=True) for n, part in _COMPLEX.items()
    }
    dtypes["bool"] = Dtype("bool", 1, is_signed=False)
    return dtypes | {alias: dtypes[name] for alias, name in _ALIASES.items()}


def finfo(dtype: Dtype) -> FloatLimits:
    """Return the limits of a floating-point dtype, or of a complex one's parts.

    Raises `TypeError` for another.
    """
    name = _COMPLEX.get(dtype.name, dtype.name)
    if name not in _FLOATS:
        message = f"torch.finfo needs a floating-point dtype, not {dtype!r}"
        raise TypeError(message)
    return FloatLimits(*_FLOATS[name], name)


def iinfo(dtype: Dtype) -> IntegerLimits:
    """Return the limits of an integer dtype. Raises `TypeError` for another."""
    if dtype.name not in _INTEGERS:
        message = f"torch.iinfo needs an integer dtype, not {dtype!r}"
        raise TypeError(message)
    bits = _INTEGERS[dtype.name]
    if dtype.name.startswith("u"):
        return IntegerLimits(bits, 2**bits - 1, 0, dtype.name)
    return IntegerLimits(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype.name)


LIBRARY = "torch"
NUMPY = "numpy"
VERSION = "2.13.0"

_PARTS = ("compiler", "cuda", "version", "utils")
# what other makers' plug-ins add to torch: code asks for it to know whose machine it is on
_PLUGGED_IN = frozenset({"corex", "gcu", "hpu", "mlu", "musa", "npu", "ptpu", "txda"})
FOR_KERNELS = frozenset(
    f"torch._inductor.runtime.{name}" for name in ("triton_helpers", "triton_compat")
)
"""Modules of torch with functions for kernels: the caller sends them, and none has a stand-in."""
_OTHERS = {"packaging": (), "packaging.version": ("Version", "InvalidVersion", "parse")}


def _unknown(name: str) -> str:
    return f"{name} is not known"


class Absent(StandIn):
    """Something of a library that is not here: it can be named and called, but decides nothing."""

    def __init__(self, name: str, assumptions: Assumptions) -> None:
        self.__name__ = name
        self._assumptions = assumptions
        assumptions.ask(_unknown(name))

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("_"):
            self.__dict__.get("_assumptions", Assumptions()).ask(
                f"{self.__dict__.get('__name__')}.{name}"
            )
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}", self._assumptions)

    def __call__(self, *arguments: Any, **named: Any) -> Absent:
        """Return something absent. Raises `TypeError` for a kernel's values."""
        if any(isinstance(value, tl.core.base_value) for value in (*arguments, *named.values())):
            message = f"{self.__name__} cannot be used inside a kernel: it runs on the host"
            raise TypeError(message)
        return Absent(f"{self.__name__}()", self._assumptions)

    def _computed(self, *_: Any) -> Absent:
        return Absent(self.__name__, self._assumptions)

    def _unknown(self, *_: Any) -> Any:
        self._assumptions.ask(_unknown(self.__name__))
        library = self.__name__.partition(".")[0]
        message = f"{self.__name__} is not known here: {library} is not installed"
        raise StandInUsed(message)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _computed
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = _computed
    __matmul__ = __rmatmul__ = __neg__ = __getitem__ = __and__ = __or__ = _computed
    __bool__ = __len__ = __iter__ = __contains__ = __int__ = __float__ = __index__ = _unknown
    __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        """Equal only itself, which is an assumption."""
        self._assumptions.ask(_unknown(self.__name__))
        self._assumptions.assume(f"{self.__name__} is unknown here, and assumed to equal nothing")
        return self is other

    def __setitem__(self, key: object, value: object) -> None:
        """Take a value and forget it."""
        self._assumptions.ask(_unknown(self.__name__))

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """Have objects of a class that names it as a base do what something absent does."""
        self._assumptions.ask(_unknown(self.__name__))
        first = next(base for base in bases if isinstance(base, Absent))
        if first is not self or any(isinstance(base, type) and _inherits(base) for base in bases):
            return ()  # once is enough, and twice would be no order of bases
        return (_inherited(self.__name__, self._assumptions),)

    def __enter__(self) -> Self:
        """Act as a context, such as `torch.no_grad()`."""
        self._assumptions.ask(_unknown(self.__name__))
        return self

    def __exit__(self, *_: object) -> None:
        """End the context."""

    def __repr__(self) -> str:
        self._assumptions.ask(_unknown(self.__name__))  # the real thing shows itself otherwise
        return f"<{self.__name__}: {self.__name__.partition('.')[0]} is not installed>"


_TENSOR_TYPES = (
    "Tensor", "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor",
    "FloatTensor", "HalfTensor", "IntTensor", "LongTensor", "ShortTensor",
)  # fmt: skip


class _TensorType(type):
    """The type of `torch.Tensor` and its like: nothing here is an instance, and none is made."""

    assumptions: Assumptions

    def __getattr__(cls, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)  # `typing` looks for what no class of torch has
        return Absent(f"{LIBRARY}.{cls.__name__}.{name}", cls.assumptions)

    def __call__(cls, *arguments: Any, **named: Any) -> Absent:
        """Return something absent in place of a tensor."""
        return Absent(f"{LIBRARY}.{cls.__name__}", cls.assumptions)(*arguments, **named)


def _tensor_types(assumptions: Assumptions) -> dict[str, type]:
    members = {"assumptions": assumptions, "__module__": LIBRARY}
    return {name: _TensorType(name, (), dict(members)) for name in _TENSOR_TYPES}


_INHERITED = (
    "__call__", "__len__", "__iter__", "__contains__", "__getitem__", "__setitem__", "__enter__",
    "__exit__", "__int__", "__float__", "__index__", "__lt__", "__le__", "__gt__", "__ge__",
    "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__",
    "__rtruediv__", "__matmul__", "__rmatmul__", "__neg__",
)  # fmt: skip


class _Inherited:
    """Marks the base that replaces an absent one."""


def _inherits(kind: type) -> bool:
    return issubclass(kind, _Inherited)


def _inherited(name: str, assumptions: Assumptions) -> type:
    """Return the base of classes that inherit from the absent `name`."""
    absent = Absent(f"{name}()", assumptions)

    def initialize(self: Any, *arguments: Any, **named: Any) -> None:
        del self
        if arguments or named:
            assumptions.ask(_unknown(name))

    def operation(operator: str) -> Callable[..., Any]:
        method = getattr(Absent, operator)
        return lambda _, *arguments, **named: method(absent, *arguments, **named)

    def attribute_of(_: Any, attribute: str) -> Any:
        return getattr(absent, attribute)

    members = {operator: operation(operator) for operator in _INHERITED}
    members |= {"__init__": initialize, "__getattr__": attribute_of}
    return type(name.rpartition(".")[2], (_Inherited,), members)


KnownNames = Callable[[Callable[[str], Any]], Mapping[str, Mapping[str, Any]]]
"""Returns names of torch's modules that are known, from what makes stand-ins of others."""


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the stand-ins and their submodules, in every environment alike.

    A library that this process has imported itself stays what it is. `posted` are the paths of
    files that were posted, which complete the stand-ins; `known_names` adds to what is known of
    torch.
    """

    def __init__(
        self,
        assumptions: Assumptions,
        posted: Iterable[str] = (),
        known_names: KnownNames | None = None,
    ) -> None:
        self._assumptions = assumptions
        self._posted = frozenset(_modules(posted))
        self._names = (
            {}
            if known_names is None
            else known_names(lambda name: Absent(f"{LIBRARY}.{name}", assumptions))
        )

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        """Return a spec for torch, NumPy and what is under them, and for `packaging.version`."""
        del path, target
        library, *parts = fullname.split(".")
        if library not in {LIBRARY, NUMPY} and fullname not in _OTHERS:
            return None
        if library == LIBRARY and parts and parts[0] in _PLUGGED_IN:
            return None
        if fullname in FOR_KERNELS:
            return None
        first = sys.modules.get(library)
        if first is not None and not isinstance(getattr(first, "__loader__", None), StandIns):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        """Fill the module: all attributes are absent, except the ones branched on at import."""
        name = module.__name__
        if name in _OTHERS:
            vars(module).update({word: getattr(version_stub, word) for word in _OTHERS[name]})
            return
        assumptions = self._assumptions
        vars(module).update(_known(name, assumptions))

        def absent(attribute: str) -> Any:
            if name == LIBRARY and attribute == "__version__":
                assumptions.assume(f"torch is taken to be {VERSION}: none is installed")
                return VERSION
            if attribute.startswith("__") or (name == LIBRARY and attribute in _PLUGGED_IN):
                assumptions.touch()
                raise AttributeError(f"module '{name}' has no attribute '{attribute}'")
            inner = f"{name}.{attribute}"
            if inner in self._posted or inner in FOR_KERNELS:
                raise AttributeError(f"module '{name}' has no attribute '{attribute}'")
            return Absent(inner, assumptions)

        vars(module)["__getattr__"] = absent
        vars(module).update(self._names.get(name, {}))
        for part in self._names:
            owner, _, attribute = part.rpartition(".")
            if owner == name:
                vars(module)[attribute] = importlib.import_module(part)


def _modules(paths: Iterable[str]) -> Iterator[str]:
    """Yield the dotted names of files, and those of the packages around them."""
    for path in paths:
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


_STATES = {
    "are_deterministic_algorithms_enabled": False,
    "is_deterministic_algorithms_warn_only_enabled": False,
}
"""Functions of torch that return a state of the process, with the state of a new one."""


def _default_state(function: str, assumptions: Assumptions) -> Callable[[], bool]:
    def state() -> bool:
        value = _STATES[function]
        assumptions.assume(f"torch.{function}() is taken to be {value}, as in a new process")
        return value

    return state


def _disable(fn: Any = None, *_: Any, **__: Any) -> Any:
    """Return the function itself: nothing here is compiled by torch."""
    return fn if fn is not None else _disable


def _known(name: str, assumptions: Assumptions) -> dict[str, Any]:
    """Return the known part of a module of the library: nothing for most of them."""
    if name == f"{LIBRARY}.cuda":
        return driver_stub.answers()
    if name == f"{LIBRARY}.compiler":
        return {"disable": _disable}
    if name == f"{LIBRARY}.version":
        # every torch has the latter, which code asks of its module alone
        return {**driver_stub.versions(), "git_version": Absent(f"{name}.git_version", assumptions)}
    if name == f"{LIBRARY}.utils._triton":
        return driver_stub.has_triton()
    if name == f"{LIBRARY}.utils":
        return {"_triton": importlib.import_module(f"{name}._triton")}
    if name == NUMPY:
        return numpy_stub.known(assumptions.ask)
    if name != LIBRARY:
        return {}
    states = {state: _default_state(state, assumptions) for state in _STATES}
    parts = {part: importlib.import_module(f"{LIBRARY}.{part}") for part in _PARTS}
    return {
        **CONSTANTS,
        **named(),
        **parts,
        **states,
        **_tensor_types(assumptions),
        "dtype": Dtype,
        "finfo": finfo,
        "iinfo": iinfo,
    }
