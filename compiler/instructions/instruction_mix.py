"""Counts the instructions of a kernel by kind, and by the user's line.

Each instruction is counted once, in the innermost line of the user's on its chain, as the line map
has it: that of a helper that was inlined, and that of the call where the function is Triton's own.
Padding after the end of a function is not an instruction of the kernel.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from compiler.instructions.opcode_classes import CLASSES, amd_class, local_bytes, sass_class
from compiler.lines.line_map import MAPS, user_lines_of

UserLine = tuple[str, int]

_SASS_LINE = re.compile(
    r"\s*/\*[0-9a-f]{4,16}\*/\s+(?:\{\s*)?(?:@!?\w+\s+)?(?P<opcode>[A-Z][\w.]*)(?P<operands>[^;]*)"
)
_SASS_LABEL = re.compile(r"\.section|[\w$.]+:")
_AMD_LINE = re.compile(r"\s+(?P<opcode>[a-z]\w*)(?P<operands>[^;]*)(?P<comment>;.*)?")
_OPCODE_CHARS = 80
_SASS_INSTRUCTION_BYTES = 16
_AMD_CODE_BYTES = re.compile(r"; codeLenInByte = (\d{1,9})\b")


class Instruction(NamedTuple):
    """One instruction of an assembly: its 1-based line there, its opcode, and its class."""

    line: int
    opcode: str
    kind: str


@dataclass(slots=True)
class InstructionMix:
    """The instructions of a kernel, counted. `by_line` has None for those of no user's line.

    `local_bytes` are what a thread moves to and from its own memory, once for each instruction.
    `code_bytes` is what they take, without what fills up; None where the assembly does not say it.
    """

    code_bytes: int | None = None
    by_class: Counter[str] = field(default_factory=Counter)
    by_opcode: Counter[str] = field(default_factory=Counter)
    by_line: dict[UserLine | None, Counter[str]] = field(default_factory=dict)
    local_bytes: Counter[UserLine | None] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """Return how many instructions there are."""
        return self.by_class.total()

    def as_json(self) -> dict[str, Any]:
        """Return the answer's JSON: every class in the total, at lines those that occur."""
        return {
            "total": self.total,
            "code_bytes": self.code_bytes,
            "by_class": {kind: self.by_class[kind] for kind in CLASSES},
            "by_opcode": dict(self.by_opcode.most_common()),
            "by_line": [
                {
                    "file": place[0] if place else None,
                    "line": place[1] if place else None,
                    "total": counted.total(),
                    "local_bytes": self.local_bytes[place],
                    "by_class": {kind: counted[kind] for kind in CLASSES if counted[kind]},
                }
                for place, counted in sorted(
                    self.by_line.items(), key=lambda row: (row[0] is None, row[0] or ("", 0))
                )
            ],
        }


def instruction_mix(stage: str, text: str) -> InstructionMix:
    """Return the instruction mix of the assembly `text`; `stage` is `sass` or `amdgcn`."""
    chains = MAPS[stage](text).chains
    mix = InstructionMix()
    for line, opcode, kind in ASSEMBLIES[stage](text):
        places = user_lines_of(chains.get(line, ()))
        place = places[0] if places else None
        mix.by_class[kind] += 1
        mix.by_opcode[opcode] += 1
        mix.by_line.setdefault(place, Counter())[kind] += 1
        if kind == "local":
            mix.local_bytes[place] += local_bytes(opcode)
    if stage == "sass":
        mix.code_bytes = mix.total * _SASS_INSTRUCTION_BYTES
    elif lengths := _AMD_CODE_BYTES.findall(text):
        mix.code_bytes = sum(int(length) for length in lengths)
    return mix


def _of_sass(text: str) -> Iterator[Instruction]:
    filling: list[Instruction] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _SASS_LINE.match(line)
        if match is None:
            if _SASS_LABEL.match(line.lstrip()):
                filling.clear()
            continue
        opcode = match["opcode"][:_OPCODE_CHARS]
        instruction = Instruction(number, opcode, sass_class(opcode, match["operands"]))
        if opcode == "NOP":
            filling.append(instruction)
            continue
        yield from filling
        filling.clear()
        yield instruction


def _of_amd(text: str) -> Iterator[Instruction]:
    for number, line in enumerate(text.splitlines(), 1):
        if match := _AMD_LINE.match(line):
            opcode = match["opcode"][:_OPCODE_CHARS]
            comment = match["comment"] or ""
            yield Instruction(number, opcode, amd_class(opcode, match["operands"], comment))


ASSEMBLIES: Mapping[str, Callable[[str], Iterator[Instruction]]] = {
    "sass": _of_sass,
    "amdgcn": _of_amd,
}
"""The parser of an assembly's instructions, by stage."""
