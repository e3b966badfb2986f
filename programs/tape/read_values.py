"""Arguments and structures of a tape, read from parsed JSON: bounded in depth and in number."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from programs.tape import json_fields as fields
from programs.tape.schema import (
    ELEMENT_BYTES,
    KERNEL_DTYPES,
    MAX_ARGUMENTS,
    MAX_DEPTH,
    MAX_GENERATORS,
    MAX_NAME_CHARS,
    MAX_PATH_CHARS,
    MAX_RANK,
    MAX_STRUCTURE_VALUES,
    DeviceName,
    DictOf,
    DtypeName,
    GeneratorRef,
    InvalidTape,
    KernelArgument,
    LaunchValue,
    LayoutName,
    ListOf,
    MemoryFormatName,
    ReinterpretedArgument,
    Scalar,
    Structure,
    TapeDescriptor,
    TensorRef,
    TupleOf,
    Value,
)

DEVICES = ("cuda", "cpu")
MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
_NON_FINITE: Mapping[str, float] = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_MAX_SIZE = 2**62


class ValueReader:
    """Reads the values of one tape, which has this number of tensors and these kernels.

    Tensor indices are only checked to be in range. Raises `InvalidTape`.
    """

    def __init__(self, tensors: int, kernels: Mapping[str, Any]) -> None:
        self._tensors = tensors
        self._kernels = kernels
        self._left = MAX_ARGUMENTS
        self._structure_values = 0
        self._path_chars = 0
        self._argument_tags: Mapping[str, Callable[[Any, str], Value]] = {
            "t": self.tensor,
            "dtype": lambda raw, where: DtypeName(
                fields.one_of(raw, where, ELEMENT_BYTES, "element type")
            ),
            "device": lambda raw, where: DeviceName(a_device(raw, where)),
            "layout": lambda raw, where: LayoutName(
                fields.one_of(raw, where, ("strided",), "layout")
            ),
            "memory_format": lambda raw, where: MemoryFormatName(
                fields.one_of(raw, where, MEMORY_FORMATS, "memory format")
            ),
            "generator": a_generator,
            "float": _non_finite,
            "complex": _complex,
        }
        self._launch_tags: Mapping[str, Callable[[Any, str], LaunchValue]] = {
            "t": self.tensor,
            "dtype": lambda raw, where: DtypeName(
                fields.one_of(raw, where, KERNEL_DTYPES, "element type of kernels")
            ),
            "float": _non_finite,
            "kernel": self._kernel,
            "descriptor": self._descriptor,
            "reinterpreted": self._reinterpreted,
        }

    def tensor(self, raw: Any, where: str) -> TensorRef:
        """Return the tensor of this index."""
        return TensorRef(fields.integer(raw, where, 0, self._tensors - 1))

    def argument(self, raw: Any, where: str, depth: int = 0) -> Value:
        """Return an argument of an ATen op."""
        if not isinstance(raw, (dict, list)):
            return a_scalar(raw, where)
        tag, content = self._tagged(raw, where, depth)
        if tag in ("list", "tuple"):
            items = self._items(content, where)
            return tuple(
                [self.argument(item, f"{where}/{n}", depth + 1) for n, item in enumerate(items)]
            )
        read = self._argument_tags.get(tag)
        if read is None:
            raise InvalidTape(where, f"{fields.shown(tag)} is not a kind of op argument")
        return read(content, where)

    def launch_argument(self, raw: Any, where: str, depth: int = 0) -> LaunchValue:
        """Return an argument of a kernel."""
        if not isinstance(raw, (dict, list)):
            return a_scalar(raw, where)
        tag, content = self._tagged(raw, where, depth)
        if tag == "tuple":
            items = self._items(content, where)
            return tuple(
                [
                    self.launch_argument(item, f"{where}/{n}", depth + 1)
                    for n, item in enumerate(items)
                ]
            )
        read = self._launch_tags.get(tag)
        if read is None:
            raise InvalidTape(where, f"{fields.shown(tag)} is not a kind of kernel argument")
        return read(content, where)

    def structure(self, raw: Any, where: str, depth: int = 0) -> Structure:
        """Return an argument or result of a program."""
        self._structure_values += 1
        if self._structure_values > MAX_STRUCTURE_VALUES:
            what = f"a program takes and returns no more than {MAX_STRUCTURE_VALUES} values"
            raise InvalidTape(where[:MAX_NAME_CHARS], what)
        self._path_chars += len(where)
        if self._path_chars > MAX_PATH_CHARS:
            what = f"the paths of its inputs and outputs exceed {MAX_PATH_CHARS} characters"
            raise InvalidTape(where[:MAX_NAME_CHARS], what)
        if not isinstance(raw, (dict, list)):
            return a_scalar(raw, where)
        tag, content = self._tagged(raw, where, depth)
        if tag in ("list", "tuple"):
            items = tuple(
                [
                    self.structure(item, f"{where}/{n}", depth + 1)
                    for n, item in enumerate(self._items(content, where))
                ]
            )
            return ListOf(items) if tag == "list" else TupleOf(items)
        if tag == "dict":
            entries = fields.a_dict(content, where, MAX_ARGUMENTS)
            self._count(len(entries), where)
            return DictOf(
                tuple(
                    [
                        (
                            fields.text(key, where, MAX_NAME_CHARS),
                            self.structure(item, f"{where}/{key}", depth + 1),
                        )
                        for key, item in entries.items()
                    ]
                )
            )
        if tag == "t":
            return self.tensor(content, where)
        if tag == "float":
            return _non_finite(content, where)
        if tag == "complex":
            return _complex(content, where)
        raise InvalidTape(where, f"{fields.shown(tag)} is not a kind of program value")

    def begin(self) -> None:
        """Begin another op or structure. `MAX_ARGUMENTS` is the limit of each."""
        self._left = MAX_ARGUMENTS

    def _tagged(self, raw: Any, where: str, depth: int) -> tuple[str, Any]:
        if not isinstance(raw, dict) or len(raw) != 1:
            raise InvalidTape(where, f"{fields.shown(raw)} is not one tagged value")
        if depth > MAX_DEPTH:
            raise InvalidTape(where, f"it is nested deeper than {MAX_DEPTH}")
        ((tag, content),) = raw.items()
        return tag, content

    def _items(self, raw: Any, where: str) -> list[Any]:
        items = fields.a_list(raw, where, MAX_ARGUMENTS)
        self._count(len(items), where)
        return items

    def _count(self, number: int, where: str) -> None:
        self._left -= number
        if self._left < 0:
            raise InvalidTape(where, f"it holds more than {MAX_ARGUMENTS} values")

    def _kernel(self, raw: Any, where: str) -> KernelArgument:
        return KernelArgument(fields.one_of(raw, where, self._kernels, "kernel of this tape"))

    def _descriptor(self, raw: Any, where: str) -> TapeDescriptor:
        members = fields.record(raw, where, ("t", "shape", "strides", "block_shape"))
        shape, strides, block = (
            fields.integers(members[name], f"{where}/{name}", MAX_RANK, 0, _MAX_SIZE)
            for name in ("shape", "strides", "block_shape")
        )
        if not len(shape) == len(strides) == len(block) > 0:
            raise InvalidTape(where, "shape, strides and block_shape have different lengths, or 0")
        return TapeDescriptor(self.tensor(members["t"], f"{where}/t"), shape, strides, block)

    def _reinterpreted(self, raw: Any, where: str) -> ReinterpretedArgument:
        members = fields.record(raw, where, ("t", "dtype"))
        dtype = fields.one_of(members["dtype"], f"{where}/dtype", KERNEL_DTYPES, "element type")
        return ReinterpretedArgument(self.tensor(members["t"], f"{where}/t"), dtype)


def a_device(raw: Any, where: str) -> Any:
    """Return the name of one of the devices of tapes."""
    return fields.one_of(raw, where, DEVICES, "device")


def a_generator(raw: Any, where: str) -> GeneratorRef:
    """Return the random generator of this number."""
    return GeneratorRef(fields.integer(raw, where, 0, MAX_GENERATORS - 1))


def a_scalar(raw: Any, where: str) -> Scalar:
    """Return null, a number within 64 bits, a boolean, or a bounded text."""
    if raw is None or isinstance(raw, bool):
        return raw
    if isinstance(raw, int):
        return fields.integer(raw, where)
    if isinstance(raw, float):
        if not math.isfinite(raw):
            raise InvalidTape(where, "a number is beyond float64")
        return raw
    return fields.text(raw, where)


def _non_finite(raw: Any, where: str) -> float:
    return _NON_FINITE[fields.one_of(raw, where, _NON_FINITE, "non-finite float")]


def _complex(raw: Any, where: str) -> complex:
    parts = fields.a_list(raw, where, 2)
    numbers = [
        _non_finite(part.get("float"), where) if isinstance(part, dict) else a_scalar(part, where)
        for part in parts
    ]
    if len(numbers) != 2 or not all(isinstance(part, (int, float)) for part in numbers):
        raise InvalidTape(where, "a complex number is a list of two numbers")
    real, imaginary = (float(part) for part in numbers if isinstance(part, (int, float)))
    return complex(real, imaginary)
