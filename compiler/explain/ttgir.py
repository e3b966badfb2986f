"""A TTGIR module as an explanation needs it: its operations in order, with places and layouts.

MLIR reads the text, as for the CPU device and proofs. Only the texts of types and layouts are read
here: MLIR prints these alike in every operation.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from compiler.lines.line_map import user_lines_of
from compiler.lines.source_location import InlineChain
from compiler.target import parse_target
from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.generic_form import layout_aliases, module_of
from compiler.ttir_to_numpy.ir import Operation, Value, inside
from compiler.ttir_to_numpy.task import generic_form

Place = tuple[str, int]
"""A file by the service's name, and a line."""
_STAGE = "ttgir"
_HELD = re.compile(r"(?:tensor|!ttg\.memdesc)<((?:\d+x)+)(!tt\.ptr<[^<>]+>|\w+)(?:, (#.+))?>")
"""`tensor<16x!tt.ptr<f16>, #blocked>`, `!ttg.memdesc<64x32xf16, #shared, #smem, mutable>`."""
_KIND = re.compile(r"#(?:ttg\.)?(\w+)")
_BITS = re.compile(r"[a-z]+(\d+)")
_MAX_FILE_CHARS = 300


@dataclass(frozen=True, slots=True)
class HeldType:
    """The type of a tensor or of memory: its shape, its elements, and MLIR's text of its layout.

    The layout of memory has the kind of memory behind it.
    """

    shape: tuple[int, ...]
    element: str
    layout: str


@cache
def held_type(text: str) -> HeldType | None:
    """Return the parts of a type, None for scalars and whatever else has no shape."""
    match = _HELD.fullmatch(text)
    if match is None:
        return None
    shape = tuple(int(extent) for extent in match[1].split("x")[:-1])
    return HeldType(shape, match[2], match[3] or "")


def element_bytes(pointer: str) -> int | None:
    """Return the size of the elements that a type points to, None for parts of bytes.

    The type is `!tt.ptr<f32>`, or a tensor of these.
    """
    held = held_type(pointer)
    pointee = mlir_types.pointee_of(pointer if held is None else held.element)
    bits = _BITS.match(pointee) if pointee is not None else None
    return int(bits[1]) // 8 if bits and int(bits[1]) % 8 == 0 else None


@dataclass(frozen=True)
class TtgirModule:
    """The operations in the order of the text.

    `layouts` are the definitions of the aliases in its types. MLIR numbers these when it prints the
    module, so `aliases` has the names in the text, by definition.
    """

    module: Operation
    operations: tuple[Operation, ...]
    layouts: Mapping[str, str]
    aliases: Mapping[str, str]
    places: Mapping[Operation, Place]

    def name_of(self, layout: str) -> str:
        """Return the name that the text has for a layout: `blocked1`, or `slice` without alias."""
        own = self.aliases.get(self.layouts.get(layout, layout), layout)
        match = _KIND.match(own)
        return match[1] if match else ""

    def kind_of(self, layout: str) -> str:
        """Return the kind of a layout: `nvidia_mma` of `#mma`, or of a text without an alias."""
        match = _KIND.match(self.layouts.get(layout, layout))
        return match[1] if match else ""


def read_ttgir(text: str, target: str) -> TtgirModule:
    """Return the module that a TTGIR prints. Raises `Untranslatable`, `Failure`."""
    generic, _ = generic_form(text, parse_target(target), _STAGE)
    module = module_of(generic)
    operations = tuple(sorted(inside(module), key=lambda operation: operation.number))
    return TtgirModule(
        module,
        operations,
        layouts=layout_aliases(generic),
        aliases={definition: alias for alias, definition in layout_aliases(text).items()},
        places=_places(operations),
    )


def _places(operations: Iterable[Operation]) -> dict[Operation, Place]:
    """Return the user's line of each operation; one without gets that of its first use."""
    places: dict[Operation, Place] = {}
    used: dict[Value, InlineChain] = {}
    for operation in reversed(list(operations)):
        chain = operation.chain
        if not chain and operation.results:
            chain = used.get(operation.results[0], ())
        if not chain:
            continue
        # upwards, so that the first use remains in the end
        used.update(dict.fromkeys(operation.operands, chain))
        if lines := user_lines_of(chain):
            file, line = min(lines)
            places[operation] = file[:_MAX_FILE_CHARS], line
    return places
