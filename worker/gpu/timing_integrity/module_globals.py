"""The global variables of a kernel's module, read from its cubin: memory that outlives a run.

Only these variables of a kernel outlive a run, so a kernel may use them to detect an earlier run
and skip its work. Pure; the reader takes one pass over hostile bytes and checks each offset and
count in them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

MAX_SYMBOLS = 100_000
MAX_NAME_BYTES = 256
MAX_GLOBALS = 1000
_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SECTION = Struct("<IIQQQQIIQQ")
_SYMBOL = Struct("<IBBHQQ")
_MAGIC = b"\x7fELF\x02\x01"
_WITH_BYTES, _SYMBOLS, _WITHOUT_BYTES = 1, 2, 8
_WRITABLE = 0x1 | 0x2  # SHF_WRITE, SHF_ALLOC
_OBJECT = 1
_NOT_GLOBAL = (".nv.shared", ".nv.local", ".nv.reservedSmem")
"""Sections that are writable too, but gone with each block or thread."""
_HEAP = frozenset({"malloc", "free"})
_OF_COMPILER = re.compile(
    r"(printf(Format|Prefix)|assert(Message|File|Func))_\d+"  # Triton's own strings
    r"|_\$_str(_\$_\d+)?|__cudart_\w+|__nv_\w+|switch_\$_table\w*(\$\w*)*"  # libdevice's and LLVM's
)


class BadModule(ValueError):
    """Bytes that are no module whose symbols can be read."""


@dataclass(frozen=True, slots=True)
class ModuleGlobal:
    """One variable; `initial` is what it starts with, zeros where the module has no bytes of it."""

    name: str
    size_bytes: int
    is_initialised: bool

    @property
    def is_of_compiler(self) -> bool:
        """True if compilers give constants such a name; user code may use it too."""
        return self.is_initialised and _OF_COMPILER.fullmatch(self.name) is not None

    @property
    def plain_name(self) -> str:
        """The name as inline assembly has it: ptxas writes a block's as `$__name__44`."""
        match = re.fullmatch(r"\$__(.+?)__\d+(\$\d+)?", self.name)
        return match[1] if match else self.name


@dataclass(frozen=True, slots=True)
class ModuleGlobals:
    """All variables of a module, and what else of it could keep something between two runs."""

    variables: tuple[ModuleGlobal, ...]
    unnamed_bytes: int
    """Bytes of writable sections that no symbol covers."""
    uses_heap: bool
    """True if it allocates on the device's heap, which outlives the kernel."""


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int

    @property
    def is_global(self) -> bool:
        has_memory = self.kind in (_WITH_BYTES, _WITHOUT_BYTES)  # other kinds describe code
        is_writable = self.flags & _WRITABLE == _WRITABLE
        return has_memory and is_writable and not self.name.startswith(_NOT_GLOBAL)


def read_globals(cubin: bytes) -> ModuleGlobals:
    """Return the variables of a module. Raises BadModule."""
    sections = _sections(cubin)
    variables: list[ModuleGlobal] = []
    covered, heap = 0, False
    for name, kind, index, size in _symbols(cubin, sections):
        if index == 0:
            heap = heap or name in _HEAP
        elif kind == _OBJECT and index < len(sections) and sections[index].is_global:
            is_initialised = sections[index].kind != _WITHOUT_BYTES
            variables.append(ModuleGlobal(name, size, is_initialised))
            covered += size
            if len(variables) > MAX_GLOBALS:
                raise BadModule(f"the module has more than {MAX_GLOBALS} global variables")
    held = sum(section.size for section in sections if section.is_global)
    padding = sum(1 for _ in variables) * 15
    unnamed = max(0, held - covered - padding)
    return ModuleGlobals(tuple(variables), unnamed, heap)


def _sections(cubin: bytes) -> list[_Section]:
    if len(cubin) < _HEADER.size or not cubin.startswith(_MAGIC):
        raise BadModule("the module is not a 64-bit ELF file")
    header = _HEADER.unpack_from(cubin)
    offset, entry_size, count, names_index = header[6], header[11], header[12], header[13]
    if entry_size != _SECTION.size or offset + count * entry_size > len(cubin):
        raise BadModule("the module's table of sections is not in the file")
    raw = [_SECTION.unpack_from(cubin, offset + at * entry_size) for at in range(count)]
    if names_index >= count:
        raise BadModule("the module's sections have no names")
    names = _Names(cubin, raw[names_index][4], raw[names_index][5])
    return [
        _Section(names[fields[0]], fields[1], fields[2], fields[4], fields[5], fields[6])
        for fields in raw
    ]


def _symbols(cubin: bytes, sections: list[_Section]) -> Iterator[tuple[str, int, int, int]]:
    """Yield name, type, section and size of every symbol. Raises BadModule."""
    left = MAX_SYMBOLS
    for section in sections:
        if section.kind != _SYMBOLS:
            continue
        count = section.size // _SYMBOL.size
        left -= count
        is_inside = section.offset + section.size <= len(cubin)
        if left < 0 or not is_inside or section.link >= len(sections):
            raise BadModule("the module's table of symbols is too long, or not in the file")
        strings = sections[section.link]
        names = _Names(cubin, strings.offset, strings.size)
        for at in range(count):
            name, info, _, index, _, size = _SYMBOL.unpack_from(
                cubin, section.offset + at * _SYMBOL.size
            )
            yield names[name], info & 0xF, index, size


class _Names:
    """A table of names that end with a zero byte."""

    def __init__(self, cubin: bytes, offset: int, size: int) -> None:
        self._bytes = memoryview(cubin)[offset : offset + size]

    def __getitem__(self, at: int) -> str:
        """Return the name at `at`, cut where it is longer than names are."""
        text = bytes(self._bytes[at : at + MAX_NAME_BYTES])
        return text.partition(b"\0")[0].decode("utf-8", "replace")
