"""Finds the parameters that a kernel may read and write, from its TTIR.

It follows pointers through arithmetic, loops, branches, calls, tensor descriptors and inline
assembly, in one pass over the lines and one over the connections. Unknown operations count as
accesses: too few accesses would make live launches look dead. The text is hostile, so the code is
linear.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

STRING = re.compile(r'"(?:[^"\\]|\\.)*"?')
"""An unclosed string ends with its line; else each quote in it would start a new search."""
VALUE = re.compile(r"%[\w.$-]+(?:#\d{1,6})?")
RESULT = re.compile(r"(%[\w.$-]+)(?::(\d{1,6}))?")
OPERATION = re.compile(r"\"?([a-z_]+\.[\w.]+)")
FUNCTION = re.compile(r"tt\.func (public |private )?@(\"[^\"]*\"|[\w.$-]+)")
CALLEE = re.compile(r"@(\"[^\"]*\"|[\w.$-]+)")
PARAMETER = re.compile(r"(%[\w.$-]+): ([^%]*)")
NAMED = re.compile(r"loc\(\"([\w.]{1,300})\"")
_UNNAMED = re.compile(r"%arg\d+")
CARRIED = re.compile(r"(%[\w.$-]+) = (%[\w.$-]+(?:#\d{1,6})?)")

_WRITES = frozenset({
    "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_store", "tt.descriptor_scatter",
    "tt.descriptor_reduce",
})  # fmt: skip
_READS = frozenset({
    "tt.load", "tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_load", "tt.descriptor_gather",
    "tt.descriptor_reduce", "tt.print",
})  # fmt: skip
"""These access the first operand's memory. Their results carry no pointers."""
_HARMLESS = ("arith.", "math.", "scf.", "cf.", "ub.", "tt.dot", "tt.reduce", "tt.scan")
_PASSES = frozenset({
    "tt.splat", "tt.unsplat", "tt.addptr", "tt.broadcast", "tt.expand_dims", "tt.reshape",
    "tt.trans", "tt.bitcast", "tt.ptr_to_int", "tt.int_to_ptr", "tt.make_tensor_ptr", "tt.advance",
    "tt.make_tensor_descriptor", "tt.join", "tt.split", "tt.cat", "tt.gather", "tt.histogram",
    "tt.assert", "tt.make_range", "tt.get_program_id", "tt.get_num_programs", "tt.fp_to_fp",
    "tt.clampf", "tt.precise_sqrt", "tt.precise_divf", "tt.mulhiui", "tt.call", "tt.return",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class KernelEffects:
    """The parameters whose memory a kernel may read, and may write, by name."""

    reads: frozenset[str]
    writes: frozenset[str]


NO_EFFECTS = KernelEffects(frozenset(), frozenset())


def united_effects(
    first: KernelEffects | None, second: KernelEffects | None
) -> KernelEffects | None:
    """Return the union of two effects; None if either is unknown."""
    if first is None or second is None:
        return None
    return KernelEffects(first.reads | second.reads, first.writes | second.writes)


def kernel_effects(ttir: str) -> KernelEffects | None:
    """Return the effects of a kernel, None if it may do anything to any parameter."""
    reader = ValueFlow()
    for line in ttir.splitlines():
        reader.read(line.strip())
    reads, writes = reader.reached(reader.read_from), reader.reached(reader.written)
    if reads is None or writes is None or reader.does_anything:
        return None
    return KernelEffects(reads, writes)


@dataclass(slots=True)
class _Region:
    """An operation with a body: its results, and the values that its iterations carry."""

    kind: str
    result: str = ""
    count: int = 0
    carried: list[str] = field(default_factory=list)

    def results(self, position: int) -> str:
        return self.result if self.count == 1 else f"{self.result}#{position}"


class ValueFlow:
    """The values of a module, each with the values that it, or its pointers, may come from.

    A loaded value comes from no other value.
    """

    def __init__(self) -> None:
        self.written: list[str] = []
        self.read_from: list[str] = []
        self.does_anything = False
        self._from: dict[str, list[str]] = {}
        self._unknown: set[str] = set()
        self._parameters: dict[str, str] = {}
        """The names of the kernel's pointers, by value."""
        self._function = ""
        self._regions: list[_Region] = []

    def read(self, line: str) -> None:
        """Take the next line."""
        if line.startswith("tt.func"):
            self._begin_function(line)
        elif line.startswith("}"):
            region = self._regions.pop() if self._regions else _Region("")
            if opens(line):
                self._regions.append(region)  # `} else {` and `} do {` belong to the same region
        elif line.startswith("^"):
            region = self._regions[-1] if self._regions else _Region("")
            source = region.result if region.kind == "scf.while" else "^"
            for name, _ in PARAMETER.findall(line):
                self._connect(source, name)
        else:
            self._operation(line)

    def reached(self, sinks: Iterable[str]) -> frozenset[str] | None:
        """Return the kernel's pointers that may reach any of these, None if every pointer may."""
        seen = self.sources(sinks)
        if not seen.isdisjoint(self._unknown):
            return None
        found = [name for value, name in self._parameters.items() if value in seen]
        if "" in found:
            return None
        return frozenset(name.partition(".")[0] for name in found)

    def sources(self, sinks: Iterable[str]) -> set[str]:
        """Return these values and all values that they come from."""
        seen = set(sinks)
        waiting = list(seen)  # each once, however often it is accessed
        while waiting:
            for source in self._from.get(waiting.pop(), ()):
                if source not in seen:
                    seen.add(source)
                    waiting.append(source)
        return seen

    def _begin_function(self, line: str) -> None:
        match = FUNCTION.match(line)
        self._function = match[2].strip('"') if match else "?"
        is_kernel = bool(match) and "private" not in (match[1] or "") if match else False
        self._regions = [_Region("tt.func")]
        header = line[match.end() :] if match else line
        for position, (name, words) in enumerate(PARAMETER.findall(header)):
            self._from.setdefault(self.at(name), []).append(f"{self._function}\0({position}")
            if is_kernel and ("!tt.ptr" in words or "tensordesc" in words):
                named = NAMED.search(words)
                given = "" if _UNNAMED.fullmatch(name) else name[1:]
                self._parameters[self.at(name)] = named[1] if named else given

    def _operation(self, line: str) -> None:
        left, equals, right = line.partition(" = ") if line.startswith("%") else ("", "", line)
        if not equals:
            left, right = "", line
        match = OPERATION.match(right)
        name = match[1] if match else ""
        words = STRING.sub('""', right)
        results = [(found, int(count or 1)) for found, count in RESULT.findall(left)]
        operands = VALUE.findall(words)
        if opens(words):
            self._begin_region(name, words, operands, results)
        elif name == "scf.yield" or name == "scf.condition":
            self._yield(operands)
        elif name == "tt.call":
            self._call(right, operands, results)
        elif name == "tt.return":
            for position, operand in enumerate(operands):
                self._feed(f"{self._function}\0return{position}", operand)
        else:
            self._plain(name, words, operands, results)

    def _plain(
        self, name: str, words: str, operands: list[str], results: list[tuple[str, int]]
    ) -> None:
        if name.startswith("cf."):
            for operand in operands:
                self._connect(operand, "^")
        elif name in _WRITES or name in _READS:
            self._access(name, words, operands[:1], results)
        else:
            if name not in _PASSES and not name.startswith(_HARMLESS):
                self.does_anything |= "pure = false" in words
                self._access("", words, operands, results)
            self._pass_on(name, operands, results)

    def _access(
        self, name: str, words: str, pointers: list[str], results: list[tuple[str, int]]
    ) -> None:
        """Note an access. An unknown operation, which has no name here, may read and write."""
        for pointer in pointers:
            if name not in _READS - _WRITES:
                self.written.append(self.used(pointer))
            if name not in _WRITES - _READS:
                self.read_from.append(self.used(pointer))
        if "!tt.ptr<!tt.ptr<" in words:
            self._unknown.update(self.at(result) for result, _ in results)

    def _pass_on(self, name: str, operands: list[str], results: list[tuple[str, int]]) -> None:
        into = results[0][0] if len(results) == 1 else f"results {len(self._from)}"
        for operand in operands:
            self._connect(operand, into)
        for result, _ in results:
            if name == "tt.int_to_ptr":
                self._unknown.add(self.at(result))
            if result != into:  # by one node: there may be many of both
                self._connect(into, result)

    def _begin_region(
        self, name: str, words: str, operands: list[str], results: list[tuple[str, int]]
    ) -> None:
        result, count = results[0] if results else (f"{name}{len(self._from)}", 0)
        region = _Region(name, result, count)
        self._regions.append(region)
        if name in ("scf.for", "scf.while"):
            begin = words.find("iter_args(") if name == "scf.for" else 0
            carried = CARRIED.findall(words[begin:]) if begin >= 0 else []
            for position, (inner, outer) in enumerate(carried):
                region.carried.append(inner)
                if name == "scf.while":
                    self._connect(outer, result)
                    self._connect(result, inner)
                else:
                    self._connect(outer, inner)
                    self._connect(outer, region.results(position))
        elif name != "scf.if":
            self._plain(name, words, operands, results)

    def _yield(self, operands: list[str]) -> None:
        """Connect the yielded values to the results, and to the next iteration."""
        region = next((r for r in reversed(self._regions) if r.kind.startswith("scf.")), None)
        if region is None:
            return
        for position, operand in enumerate(operands):
            if region.kind == "scf.while":
                self._connect(operand, region.result)
                continue
            self._connect(operand, region.results(position))
            if position < len(region.carried):
                self._connect(operand, region.carried[position])

    def _call(self, words: str, operands: list[str], results: list[tuple[str, int]]) -> None:
        match = CALLEE.search(words)
        callee = match[1].strip('"') if match else "?"
        for position, operand in enumerate(operands):
            self._feed(f"{callee}\0({position}", operand)
        for result, count in results:
            for position in range(count):
                into = result if count == 1 else f"{result}#{position}"
                self._from.setdefault(self.at(into), []).append(f"{callee}\0return{position}")

    def _connect(self, source: str, into: str) -> None:
        self._feed(self.at(into), source)

    def _feed(self, node: str, source: str) -> None:
        self._from.setdefault(node, []).append(self.used(source))

    def used(self, name: str) -> str:
        """Return the node of a used value. One of several results gets the sources of all."""
        value = self.at(name)
        whole = value.partition("#")[0]
        if whole != value:
            self._from.setdefault(value, []).append(whole)
        return value

    def at(self, name: str) -> str:
        """Return the node of a value of the current function."""
        return f"{self._function}\0{name}"


def opens(line: str) -> bool:
    """Return True if a body begins with this line."""
    return line.partition(" loc(")[0].rstrip().endswith("{")
