"""Locates the inline assembly behind LLVM's errors, which name no line.

Reads TTGIR that Triton printed, line by line. Pure text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compiler.back import ir_places
from compiler.diagnostic import KERNEL_FOLDER, Diagnostic, Span, excerpt

LONGEST_LINE = 100_000
MOST_PLACES = 1000

_OPERATION = "elementwise_inline_asm "
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_CONSTRAINTS = re.compile(r'constraints = "([^"]*)"')
_OF_ASSEMBLY = re.compile(r"inline asm|constraint")
_CONSTRAINT = re.compile(r"for constraint '([^']{1,50})'")
_QUOTED_TEXT = re.compile(r"in inline asm: '(.{1,80})")
_OPERAND = re.compile(r"\$\{?(\d{1,3})")


@dataclass(frozen=True)
class _Assembly:
    """One inline assembly: its text, its constraints, how many tensors go in, and where it is."""

    text: str
    constraints: tuple[str, ...]
    arguments: int
    span: Span

    @property
    def outputs(self) -> int:
        return sum(constraint.startswith("=") for constraint in self.constraints)

    @property
    def operands(self) -> int:
        return sum(not constraint.startswith("~") for constraint in self.constraints)

    def lacks_an_operand(self) -> bool:
        return any(int(number) >= self.operands for number in _OPERAND.findall(self.text))

    def may_be_meant_by(self, message: str) -> bool:
        """Return True if LLVM's `message` can be about this one."""
        if (named := _CONSTRAINT.search(message)) is not None:
            return any(c.strip("=&") == named[1] for c in self.constraints)
        if (quoted := _QUOTED_TEXT.search(message)) is not None:
            same = self.text.strip().startswith(quoted[1].rstrip("'").strip()[:40])
            return same or self.lacks_an_operand()
        if "number of input constraints" in message:
            return self.operands - self.outputs != self.arguments
        return "output" not in message or self.outputs != 1


def with_places(found: list[Diagnostic], ir: str, sources: Mapping[str, str]) -> list[Diagnostic]:
    """Return `found` with the places of those that complain of inline assembly.

    `ir` is the TTGIR that was being lowered; `sources` the user's texts by virtual path.
    """
    if not any(item.line is None and _OF_ASSEMBLY.search(item.message) for item in found):
        return found
    known = list(_assemblies(ir))
    return [_with_place(item, known, sources) for item in found]


def _with_place(item: Diagnostic, known: list[_Assembly], sources: Mapping[str, str]) -> Diagnostic:
    if item.line is not None or not _OF_ASSEMBLY.search(item.message) or not known:
        return item
    meant = [assembly for assembly in known if assembly.may_be_meant_by(item.message)]
    span = (meant or known)[0].span
    text = sources.get(KERNEL_FOLDER + span.file)
    shown = excerpt(text.split("\n"), span) if text is not None else None
    return item.at(span, shown)


def _assemblies(ir: str) -> Iterator[_Assembly]:
    lines = [line[:LONGEST_LINE] for line in ir.split("\n")]
    written = [line for line in lines if _OPERATION in line][:MOST_PLACES]
    aliases = ir_places.aliases_in(lines)
    for line in written:
        operation = line.partition(_OPERATION)[2]
        text = _STRING.match(operation)
        if text is None:
            continue
        constraints = _CONSTRAINTS.search(operation, text.end())
        span = aliases.span_of_line(operation)
        if constraints is None or span is None:
            continue
        arguments = operation[constraints.end() :].partition("}")[2].partition(" : ")[0]
        parts = tuple(part.strip() for part in constraints[1].split(",") if part.strip())
        words = text[1].replace("\\0A", "\n").replace("\\09", "\t")
        yield _Assembly(words, parts, arguments.count("%"), span)
