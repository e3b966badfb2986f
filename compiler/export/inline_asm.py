"""Rewrites the body of a PTX kernel into the text of one inline assembly statement.

In it registers have names that no compiler gives, labels live in a block of their own, parameters
and the address of shared memory are operands, and `ret` leaves the statement, not the caller.
The rules are those of NVIDIA's "Inline PTX Assembly in CUDA".
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from compiler.export.exported_kernel import NotExportable
from compiler.export.ptx import PtxEntry

PREFIX = "%t_"
"""Of registers: the compiler's own are %r1, %rd1, %p1 and would be hidden by ours."""
END = "L_end"

_REGISTERS = re.compile(r"\s*\.reg \.(?P<type>\w+)\s+(?P<names>%.*);")
_NAME = re.compile(r"(%\w+?)(<\d+>)?$")
_LABEL = re.compile(r"\$(L_*[A-Za-z_]\w*)")
_LOAD = re.compile(
    r"(?P<lead>\s*)(?P<guard>@\S+\s+)?ld\.param\.(?P<type>[busf]\d+)\s+(?P<to>%\w+), "
    r"\[(?P<name>[\w$]+)\];"
)
_ADDRESS = re.compile(r"\s*mov\.[bu](?:32|64)\s+(?P<to>%\w+), (?P<name>[\w$]+);")
_WIDEN = re.compile(r"\s*cvt\.u64\.u32\s+(?P<to>%\w+), (?P<source>%\w+);")
_GENERIC = re.compile(r"(?P<lead>\s*)cvta\.param\.u64\s+(?P<to>%\w+), (?P<source>%\w+);")
_RETURN = re.compile(r"(?P<lead>\s*(?:@\S+\s+)?)ret;")
_CALL = re.compile(r"\s*(?:@\S+\s+)?call\b(?:.*?([A-Za-z_$][\w$]*), \()?")
_LOCAL_SHARED = re.compile(r"\s*\.shared\b")
_PRINTING = frozenset({"vprintf", "__assertfail"})


@dataclass(frozen=True)
class Operand:
    """One input of the statement: its name in the PTX, and its bytes.

    `kind` is `parameter` (by index), `map` (the address of a tensor map), `shared` or `table`.
    """

    kind: str
    name: str
    size_bytes: int


@dataclass
class Statement:
    """The rewritten body and the operands in the order of their numbers."""

    lines: list[str] = field(default_factory=list)
    operands: list[Operand] = field(default_factory=list)

    def number(self, operand: Operand) -> str:
        """Return how the text refers to `operand`."""
        if operand not in self.operands:
            self.operands.append(operand)
        return f"%{self.operands.index(operand)}"


def rewrite(entry: PtxEntry, sizes: Mapping[str, int]) -> Statement:
    """Return `entry` as one statement; `sizes` are bytes of its parameters by name.

    Raises NotExportable when the kernel calls functions or uses memory that a statement cannot
    declare.
    """
    statement = Statement()
    declared = dict(_declared(entry.body))
    rewriter = _Rewriter(entry, sizes, _pattern(declared), _widths(declared), statement)
    for line in entry.body:
        statement.lines += rewriter.line(line)
    return statement


@dataclass
class _Rewriter:
    entry: PtxEntry
    sizes: Mapping[str, int]
    registers: re.Pattern[str]
    widths: Mapping[str, int]
    """Bits of registers, by their names without the numbers behind them."""
    statement: Statement
    parameter_at: dict[str, str] = field(default_factory=dict)
    """Registers that hold the address of a parameter: operands have none of their own."""

    def line(self, line: str) -> Iterator[str]:
        """Yield the replacements of one line, ready for a C string."""
        if call := _CALL.match(line):
            raise NotExportable(_why_no_call(call[1]))
        if _LOCAL_SHARED.match(line):
            message = "The kernel declares static shared memory, which cannot be exported inline."
            raise NotExportable(message)
        for text in self._rewritten(line):
            yield _LABEL.sub(r"\1", text)

    def _rewritten(self, line: str) -> Iterator[str]:
        if match := _LOAD.match(line):
            yield self._load(match)
        elif (match := _ADDRESS.match(line)) and match["name"] in self.sizes:
            self.parameter_at[match["to"]] = match["name"]
        elif (match := _WIDEN.match(line)) and match["source"] in self.parameter_at:
            self.parameter_at[match["to"]] = self.parameter_at[match["source"]]
        elif (match := _GENERIC.match(line)) and match["source"] in self.parameter_at:
            name = self.parameter_at[match["source"]]
            number = self.statement.number(Operand("map", name, 8))
            yield f"{match['lead']}mov.b64 {self._renamed(match['to'])}, {number};"
        elif match := _RETURN.match(line):
            yield f"{self._renamed(match['lead'])}bra {END};"
        else:
            yield self._plain(line)

    def _load(self, match: re.Match[str]) -> str:
        size = self.sizes[match["name"]]
        number = self.statement.number(Operand("parameter", match["name"], size))
        lead = match["lead"] + self._renamed(match["guard"] or "")
        to = self._renamed(match["to"])
        bits = int(match["type"][1:])
        of_register = self.widths.get(match["to"].rstrip("0123456789"), bits)
        if bits < of_register:
            sign = "s" if match["type"][0] == "s" else "u"
            return f"{lead}cvt.{sign}{of_register}.{sign}{bits} {to}, {number};"
        return f"{lead}mov.b{bits} {to}, {number};"

    def _plain(self, line: str) -> str:
        if any(name in line for name in self.sizes) or self._uses_address(line):
            message = f"The kernel uses a parameter as memory, not as a value: {line.strip()}"
            raise NotExportable(message)
        line = self._renamed(line)
        line = self._with_shared(line)
        for table in self.entry.tables:
            if re.search(rf"(?<![\w$]){re.escape(table.name)}(?![\w$])", line):
                number = self.statement.number(Operand("table", table.name, 8))
                line = line.replace(table.name, number)
        return line

    def _uses_address(self, line: str) -> bool:
        return any(name in self.parameter_at for name in re.findall(r"%\w+", line))

    def _with_shared(self, line: str) -> str:
        name = self.entry.shared_name
        if name is None or name not in line:
            return line
        number = self.statement.number(Operand("shared", name, 4))
        offset = re.match(rf"(\s*)mov\.[bu]32\s+(%\w+|%%\w+), {re.escape(name)}\+(\d+);", line)
        if offset is not None:
            return f"{offset[1]}add.s32 {offset[2]}, {number}, {offset[3]};"
        wide = re.match(rf"(\s*)mov\.[bu]64\s+(\S+), {re.escape(name)};", line)
        if wide is not None:
            return f"{wide[1]}cvt.u64.u32 {wide[2]}, {number};"
        return line.replace(name, number)

    def _renamed(self, text: str) -> str:
        """Return `text` with our registers renamed and every percent sign of PTX doubled."""
        text = self.registers.sub(lambda match: PREFIX + match[0][1:], text)
        return text.replace("%", "%%")


def _why_no_call(name: str | None) -> str:
    if name in _PRINTING:
        what = "The kernel prints or asserts (tl.device_print, tl.device_assert)"
    elif name:
        what = f"The kernel calls the function {name} (of a device library, or a noinline helper)"
    else:
        what = "The kernel calls a function"
    return f"{what}, which inline assembly cannot hold. Export it as `c`, or compile without it."


def _declared(body: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the registers that the kernel declares, as it writes them (`%r<9>`), and their type."""
    for line in body:
        if declared := _REGISTERS.match(line):
            for word in declared["names"].split(","):
                yield word.strip(), declared["type"]


def _pattern(declared: Mapping[str, str]) -> re.Pattern[str]:
    """Return a pattern for the registers in `declared`, and for no special register."""
    names = filter(None, map(_NAME.match, declared))
    patterns = [re.escape(name[1]) + (r"(?:\d+|(?=<))" if name[2] else "") for name in names]
    return re.compile(rf"(?:{'|'.join(patterns) or '(?!)'})(?!\w)")


def _widths(declared: Mapping[str, str]) -> dict[str, int]:
    """Return the bits of registers by the part of their names before the number."""
    names = ((_NAME.match(word), kind) for word, kind in declared.items() if kind[1:].isdigit())
    return {name[1].rstrip("0123456789"): int(kind[1:]) for name, kind in names if name}
