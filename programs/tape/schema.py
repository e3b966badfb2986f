"""The types of a tape: tensors, ops and launches in the order in which a program made them.

Tensors are named by their index in `Tape.tensors`, storages by theirs in `Tape.storages`. Only
`read_tape` makes a `Tape`, so every `Tape` has passed the checks of this folder.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

MAX_TAPE_BYTES = 32 << 20
"""The size of the JSON. The longest known recording (an unrolled GRU, 105,000 ops) has 21 MB."""
MAX_JSON_VALUES = 6_000_000
"""Counted before parsing, since a parsed value takes up to twenty times its text."""
MAX_JSON_OBJECTS = 1_000_000
MAX_JSON_LISTS = 1_400_000
"""An object takes 232 bytes for eight of text. The longest recording has 460,000 and 790,000."""
MAX_DEPTH = 16
"""The nesting of lists in one argument or structure."""
MAX_OPS = 200_000
MAX_TENSORS = 400_000
MAX_RANK = 64
"""torch's own limit."""
MAX_DEGREE = 1_000
"""The degree of a polynomial, since torch adds term by term."""
MAX_STORAGE_BYTES = 1 << 50
"""More than any machine has; the replay decides if it fits."""
MAX_TOTAL_BYTES = 1 << 60
"""The sum of all storages. The replay bounds those that are alive at the same time."""
MAX_CONSTANT_BYTES = 1 << 20
"""The sum of all constants."""
MAX_KERNELS = 512
MAX_PARAMETERS = 512
"""The parameters of one kernel, and the options of one launch."""
MAX_GENERATORS = 1_000
"""The program's own generators: each has a state of some kilobytes in a replay."""
MAX_MODULE_PARAMETERS = 100_000
MAX_VARIANTS = 48
MAX_ARGUMENTS = 100_000
"""The arguments of one op or structure, at all depths."""
MAX_STRUCTURE_VALUES = 4_096
"""The inputs and outputs of a program: outputs are compared one by one, and the sources of an op
have a bit for each input."""
MAX_PATH_CHARS = 1 << 20
"""The sum of their paths, since orders and records name each output by its path."""
MAX_NAME_CHARS = 256
MAX_TEXT_CHARS = 4_096
MAX_LINE = 10_000_000
MAX_GRID = (2**31 - 1, 65_535, 65_535)
"""CUDA's."""
MIN_INT, MAX_INT = -(2**63), 2**64 - 1
Phase = Literal["init", "inputs", "run", "run2"]
PHASES: tuple[Phase, ...] = ("init", "inputs", "run", "run2")
Device = Literal["cuda", "cpu"]
COPIES = frozenset({"aten._to_copy.default", "aten.copy_.default"})
"""Overloads that may copy between the CPU and CUDA, with or without the host waiting."""
MAX_WHERE_CHARS = 200
MAX_WHAT_CHARS = 500
ELEMENT_BYTES: Mapping[str, int] = {
    "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8,
    "fp16": 2, "bf16": 2, "fp32": 4, "fp64": 8,
    "fp8e4nv": 1, "fp8e4b8": 1, "fp8e5": 1, "fp8e5b16": 1,
    "complex64": 8, "complex128": 16,
}  # fmt: skip
"""The dtypes of tensors, in Triton's spelling; complex ones in torch's, as Triton has none."""

KERNEL_DTYPES = frozenset(ELEMENT_BYTES) - {"complex64", "complex128"} | {"fp8e4b15"}
"""The dtypes that a kernel may get as a constexpr."""

TORCH_NAMES: Mapping[str, str] = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
    "fp8e4nv": "float8_e4m3fn", "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5": "float8_e5m2", "fp8e5b16": "float8_e5m2fnuz",
    "complex64": "complex64", "complex128": "complex128",
}  # fmt: skip
"""The name in torch of each type."""
TRITON_NAMES: Mapping[str, str] = {torch: name for name, torch in TORCH_NAMES.items()}
MAX_CHANGED_PARAMETERS = 2_000
"""Limit of a model's parameters and buffers that are compared with the reference's."""
ONLY = "0"
"""The path of an output that is in no list, tuple or dict."""


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """A tensor without its values. `strides` and `offset` count elements."""

    dtype: str
    """In Triton's spelling: fp32, bf16, i64, i1, fp8e4nv; complex64 and complex128 as in torch."""
    device: Device
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: int


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A tensor as an argument: its index in `Tape.tensors`."""

    id: int


@dataclass(frozen=True, slots=True)
class DtypeName:
    """An element type as an argument, in Triton's spelling."""

    name: str


@dataclass(frozen=True, slots=True)
class DeviceName:
    """A device as an argument."""

    name: Device


@dataclass(frozen=True, slots=True)
class LayoutName:
    """A torch.layout as an argument: only `strided`."""

    name: str


@dataclass(frozen=True, slots=True)
class MemoryFormatName:
    """A torch.memory_format as an argument, such as `channels_last`."""

    name: str


@dataclass(frozen=True, slots=True)
class GeneratorRef:
    """A random generator of the program's own as an argument, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class TapeDescriptor:
    """A tensor descriptor made on the host, as a kernel's argument; strides count elements."""

    base: TensorRef
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block_shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """A jitted function as a kernel's constexpr argument: its name in `Tape.kernels`."""

    kernel: str


@dataclass(frozen=True, slots=True)
class ReinterpretedArgument:
    """A tensor passed as if of another element type (`triton.reinterpret`)."""

    base: TensorRef
    dtype: str


Scalar = None | bool | int | float | complex | str
Value = (
    Scalar
    | TensorRef
    | DtypeName
    | DeviceName
    | LayoutName
    | MemoryFormatName
    | GeneratorRef
    | tuple["Value", ...]
)
"""An argument of an ATen op; a list of arguments is a tuple."""
LaunchValue = (
    Scalar
    | TensorRef
    | DtypeName
    | TapeDescriptor
    | KernelArgument
    | ReinterpretedArgument
    | tuple["LaunchValue", ...]
)
"""An argument of a kernel."""


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of structures."""

    items: tuple[Structure, ...]


@dataclass(frozen=True, slots=True)
class TupleOf:
    """A tuple of structures."""

    items: tuple[Structure, ...]


@dataclass(frozen=True, slots=True)
class DictOf:
    """A dict of structures by name."""

    items: tuple[tuple[str, Structure], ...]


Structure = Scalar | TensorRef | ListOf | TupleOf | DictOf
"""An argument or result of a program: tensors and scalars, nested."""


@dataclass(frozen=True, slots=True)
class ProgramLine:
    """A line of the program."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class AtenOp:
    """One call of an ATen overload: `aten.mm.default`, or a coarse one such as `aten.lstm.input`.

    `outputs` are the tensors that it returned, None where it returned none at that position.
    """

    op: str
    args: tuple[Value, ...]
    kwargs: Mapping[str, Value]
    outputs: tuple[int | None, ...]
    phase: Phase
    place: ProgramLine | None


@dataclass(frozen=True, slots=True)
class Seeding:
    """The program seeded torch's generators (`torch.manual_seed`), or one that it created."""

    seed: int
    generator: int | None
    """The number of the program's own generator; None: torch's."""
    device: Device | None
    """The device type if only torch's generator of it was seeded; None: both, or its own one."""
    phase: Phase
    place: ProgramLine | None


@dataclass(frozen=True, slots=True)
class LaunchVariant:
    """One configuration of a launch that an autotuner would try."""

    grid: tuple[int, int, int]
    constexprs: Mapping[str, LaunchValue]
    options: Mapping[str, int | bool | str]
    unprepared: bool = False
    """True if its `pre_hook` does something else than the first's, which was not recorded.

    Such a variant is compiled, but never run.
    """


@dataclass(frozen=True, slots=True)
class TapeLaunch:
    """One launch of a kernel. `args` are by parameter, without constexprs.

    `variants` is empty without autotuning; else the launch itself is the first variant.
    """

    kernel: str
    grid: tuple[int, int, int]
    args: Mapping[str, LaunchValue]
    constexprs: Mapping[str, LaunchValue]
    options: Mapping[str, int | bool | str]
    variants: tuple[LaunchVariant, ...]
    reset_to_zero: tuple[str, ...]
    restore_value: tuple[str, ...]
    phase: Phase
    place: ProgramLine | None
    has_allocator: bool = False
    """True if the program had called `triton.set_allocator`."""
    tunes: bool = False
    """True if Triton would first run each variant several times on the same arguments.

    False if the autotuner has a `post_hook` of the user, which may restore anything.
    """
    hook_ops: int = 0
    """The number of ops before it by a `pre_hook`, which each run repeats."""


def variant_on_cpu(launch: TapeLaunch, left_out: Collection[int] = ()) -> int:
    """Return the number of the variant that the CPU device runs.

    It is the first, and in the second call the last, so that errors in either show. `left_out` are
    variants that do not compile, which an autotuner would leave out as well.
    """
    ready = variants_on_cpu(launch, left_out)
    if not ready:
        return 0
    return ready[-1 if launch.phase == "run2" else 0]


def variants_on_cpu(launch: TapeLaunch, left_out: Collection[int] = ()) -> list[int]:
    """Return the numbers of the variants that the CPU device can run, without those `left_out`."""
    return [
        number
        for number, variant in enumerate(launch.variants)
        if not variant.unprepared and number not in left_out
    ]


Op = AtenOp | TapeLaunch | Seeding


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter of a kernel."""

    name: str
    constexpr: bool


@dataclass(frozen=True, slots=True)
class TapeKernel:
    """A jitted function of the program's source, and where it is defined."""

    file: str
    name: str
    line: int
    parameters: tuple[KernelParameter, ...]


@dataclass(frozen=True, slots=True)
class Tape:
    """A recorded program.

    `inputs` and `inputs2` are the arguments of the first and the second call. A tensor in them (or
    in `init_inputs`) that no op made comes from outside. `constants` are the bytes of tensors that
    the program's Python made from values; they exist from the start.
    """

    torch: str
    tensors: tuple[TensorMeta, ...]
    storages: tuple[int, ...]
    """The bytes of each storage."""
    kernels: Mapping[str, TapeKernel]
    constants: Mapping[int, bytes] = field(repr=False)
    seed: int
    init_inputs: tuple[Structure, ...]
    inputs: tuple[Structure, ...]
    inputs2: tuple[Structure, ...]
    params: tuple[tuple[str, int], ...]
    outputs: Structure
    outputs2: Structure
    ops: tuple[Op, ...]


def generators_of(op: Op) -> tuple[int, ...]:
    """Return the program's own generators that an op draws from or seeds."""
    if isinstance(op, Seeding):
        return () if op.generator is None else (op.generator,)
    if not isinstance(op, AtenOp):
        return ()
    values = (*op.args, *op.kwargs.values())
    return tuple(value.number for value in values if isinstance(value, GeneratorRef))


def tensors_of(value: Value | LaunchValue | Structure) -> tuple[int, ...]:
    """Return the tensors in an argument or a structure, in order, with repetitions."""
    if isinstance(value, TensorRef):
        return (value.id,)
    if isinstance(value, tuple):
        return tuple(id_ for item in value for id_ in tensors_of(item))
    if isinstance(value, (ListOf, TupleOf)):
        return tuple(id_ for item in value.items for id_ in tensors_of(item))
    if isinstance(value, DictOf):
        return tuple(id_ for _, item in value.items for id_ in tensors_of(item))
    if isinstance(value, (TapeDescriptor, ReinterpretedArgument)):
        return (value.base.id,)
    return ()


class InvalidTape(ValueError):
    """No recorder sends such a tape. `where` is a JSON pointer into it, `what` the reason."""

    slug = "forged_tape"

    def __init__(self, where: str, what: str) -> None:
        self.where = where[:MAX_WHERE_CHARS]
        self.what = what[:MAX_WHAT_CHARS]
        super().__init__(f"{self.where or '/'}: {self.what}")


def by_path(structure: Structure) -> dict[str, TensorRef | Scalar]:
    """Return the tensors and scalars of a structure, in order, by path."""
    if isinstance(structure, (ListOf, TupleOf, DictOf)):
        return dict(_inside(structure, ""))
    return {ONLY: structure}


def input_path(path: str) -> str:
    """Return the path of a changed input, from its path among the inputs."""
    return f"inputs[{path}]"


def state_path(name: str) -> str:
    """Return the path of a changed parameter or buffer."""
    return f"state[{name}]"


def changeable(tape: Tape, call: int) -> list[tuple[str, int]]:
    """Return what a call may change besides its outputs, by path: inputs, parameters, buffers."""
    values = by_path(TupleOf(tape.inputs2 if call else tape.inputs))
    inputs = [
        (input_path(p), value.id) for p, value in values.items() if isinstance(value, TensorRef)
    ]
    return inputs + [(state_path(name), id_) for name, id_ in tape.params[:MAX_CHANGED_PARAMETERS]]


def _inside(structure: Structure, path: str) -> Iterator[tuple[str, TensorRef | Scalar]]:
    if isinstance(structure, DictOf):
        items = [(_escaped(name), item) for name, item in structure.items]
    elif isinstance(structure, (ListOf, TupleOf)):
        items = [(str(number), item) for number, item in enumerate(structure.items)]
    else:
        yield path, structure
        return
    for name, item in items:
        yield from _inside(item, f"{path}.{name}" if path else name)


def _escaped(name: str) -> str:
    """Return the name of an item with its dots escaped, so that paths are unique."""
    return name.replace("\\", "\\\\").replace(".", "\\.")
