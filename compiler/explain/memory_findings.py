"""Global accesses that are not vectorised, and layout conversions, by source line."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compiler.explain.stage_lines import Place

NARROW_BYTES = 4
"""An instruction of at most this size, for one element, counts as not vectorised."""
_PLURALS = {"load": "loads", "store": "stores", "copy": "copies"}
_PTX = re.compile(r"(?<![\w.$%])(ld|st)\.([\w.:]+)")
_PTX_COPY = re.compile(r"cp\.async\.c[ag]\.shared\.global[\w.:]*([^;\n]*)")
_COPIED = re.compile(r"0x([0-9a-f]{1,8})|\b(\d{1,8})\b")
_AMD = re.compile(r"^\s*(?:global|buffer|flat)_(load|store)_(\w+)")
_AMD_NARROW = {
    **dict.fromkeys(("dword", "b32"), 4),
    **dict.fromkeys(("ushort", "sshort", "short", "u16", "i16", "b16", "d16"), 2),
    **dict.fromkeys(("ubyte", "sbyte", "byte", "u8", "i8", "b8"), 1),
}
_CONVERSION = re.compile(r"\bttg\.convert_layout [^:\n]* : (\S.*) -> (\S.*)")
_TENSOR = re.compile(r"tensor<((?:\d+x)+)([\w!.<>]+), *#(?:ttg\.)?(\w+)")


@dataclass(frozen=True, slots=True)
class NarrowAccess:
    """Instructions of a line, each for one element: `kind` is load, store or copy."""

    place: Place | None
    kind: str
    bytes_each: int
    count: int

    def __str__(self) -> str:
        """Return the count in words."""
        noun = self.kind if self.count == 1 else _PLURALS[self.kind]
        return f"{self.count} {noun} of {self.bytes_each} byte{'s' * (self.bytes_each > 1)}"


@dataclass(frozen=True, slots=True)
class Conversion:
    """Layout conversions of a line; `largest` is the one of most elements."""

    place: Place | None
    count: int
    elements: int
    largest: str


def narrow_accesses(text: str, stage: str, places: Mapping[int, Place]) -> list[NarrowAccess]:
    """Return the accesses of PTX or AMD assembly that are not vectorised, most first."""
    reads = _of_amd if stage == "amdgcn" else _of_ptx
    counts: Counter[tuple[Place | None, str, int]] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        for kind, size in reads(line):
            counts[places.get(number), kind, size] += 1
    return [NarrowAccess(*key, count) for key, count in counts.most_common()]


def _of_ptx(line: str) -> Iterator[tuple[str, int]]:
    for match in _PTX.finditer(line):
        words = re.split(r"[.:]+", match[2])
        is_vector = any(word in {"v2", "v4", "v8"} for word in words)
        bits = re.fullmatch(r"[bfsu](\d{1,3})", words[-1])
        if "global" in words and not is_vector and bits and int(bits[1]) <= 8 * NARROW_BYTES:
            yield {"ld": "load", "st": "store"}[match[1]], int(bits[1]) // 8
    for match in _PTX_COPY.finditer(line):
        operands = match[1].split("],")
        if len(operands) == 3 and (size := _COPIED.search(operands[2])):
            copied = int(size[1], 16) if size[1] else int(size[2])
            if copied <= NARROW_BYTES:
                yield "copy", copied


def _of_amd(line: str) -> Iterator[tuple[str, int]]:
    if match := _AMD.match(line):
        size = _AMD_NARROW.get(match[2].split("_")[0])
        if size is not None:
            yield match[1], size


def conversions(ttgir: str, places: Mapping[int, Place]) -> list[Conversion]:
    """Return the layout conversions by line, those of most elements first."""
    found: dict[Place | None, Conversion] = {}
    for number, line in enumerate(ttgir.splitlines(), 1):
        match = _CONVERSION.search(line)
        before = match and _TENSOR.match(match[1])
        after = match and _TENSOR.match(match[2])
        if not before or not after:
            continue
        elements = 1
        for size in before[1].split("x")[:-1]:
            elements *= int(size)
        place = places.get(number)
        known = found.get(place, Conversion(place, 0, 0, ""))
        shown = f"{before[1]}{before[2]} #{before[3]} -> #{after[3]}"
        largest = shown if elements > known.elements else known.largest
        found[place] = Conversion(place, known.count + 1, max(elements, known.elements), largest)
    return sorted(found.values(), key=lambda one: -one.elements)
