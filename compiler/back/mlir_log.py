"""Reads what Triton's C++ side wrote to stderr: MLIR errors, LLVM aborts, failed assertions.

Each complaint becomes a diagnostic in the kernel author's terms, with advice; unknown ones are
passed on unchanged. Pure text, no Triton. The output of a dying compiler is not trusted: it only
becomes messages, bounded in number and length.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

from compiler.diagnostic import (
    KERNEL_FOLDER,
    Diagnostic,
    Severity,
    Span,
    diagnostic,
    excerpt,
    file_in_kernel,
)
from compiler.stages import DiagnosticStage

_PLACE = re.compile(r'(#loc\w*)|"/kernel/([^"\n]{1,500})":(\d{1,9}):(\d{1,9})')
_MAX_DEPTH = 20
RETURNS = "failed to legalize operation 'tt.return'"
_MASK = re.compile(
    r"'tt\.(?P<operation>\w{1,30})' op operand #\d+ must be 1-bit signless integer .*"
    r"but got '(?:tensor<(?P<shape>[\dx]{0,40}x)?)?(?P<element>\w{1,10})"
)
_DOT_OF_INTEGERS = re.compile(
    r"'arith\.extf' op operand #\d+ must be floating-point-like.*"
    r"but got 'tensor<[\dx]{0,40}x(?P<element>i\d{1,2}), #ttg\.dot_op"
)
_ELEMENTS = {"f16": "fp16", "f32": "fp32", "f64": "fp64", "bf16": "bf16"}
_HINTS = (
    (
        "input constraints does not match|with one output cannot return|without outputs must",
        "Each register of tl.inline_asm_elementwise has one constraint: outputs with = first, then "
        "one input for each argument. A register has 32 bits, so that pack=2 of fp32 needs two.",
    ),
    (
        r"invalid operand in inline asm",
        "The text names an operand ($0, $1, ...) that `constraints` does not have: outputs are "
        "counted first, then inputs.",
    ),
    (
        r"couldn't allocate (input|output) reg|invalid operand for inline asm|unknown constraint|"
        r"Copying to an illegal type|constraint",
        "A constraint of tl.inline_asm_elementwise does not fit its operand: "
        '"=r,r" is 32-bit integer or fp32 bits, "l" 64 bits, "h" 16 bits, "f" fp32, "d" fp64 '
        '(on AMD "=v,v").',
    ),
    (
        r"Cannot select",
        "LLVM has no instruction for this on the target: try another target, another dtype, "
        "or another Triton version.",
    ),
    (
        r"out of resource|shared memory|exceeds",
        "Use smaller blocks, fewer num_stages or fewer warps.",
    ),
    (
        r"type of return operand \d+ .* doesn't match function result type",
        "TTIR that was taken before Triton's first passes fails like this: they inline calls and "
        "drop code after a return. Have them run: set `canonicalize` in `ir` to true, or use "
        "`tritonc compile --canonicalize`.",
    ),
    (
        r"value type matches ptr type",
        "The value is not of the pointer's type: convert it with .to(...). An accumulator that is "
        "given to tl.dot must have the dtype of the product, usually tl.float32.",
    ),
    (
        r"ptr type matches (?:cmp|val) type",
        "Give the values the type that the pointer points at, such as tl.full((), 0, tl.int64).",
    ),
    (
        r"cache modifier '\w+' is not supported for stores",
        'tl.store takes ".wb", ".cg", ".cs" and ".wt".',
    ),
    (
        r"cache modifier '\w+' is not supported for loads",
        'tl.load takes ".ca", ".cg", ".cs" and ".cv".',
    ),
)
_MAX_LINE = 100_000
_MAX_PLACES = 1000

_OPERATION = "elementwise_inline_asm "
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_CONSTRAINTS = re.compile(r'constraints = "([^"]*)"')
_OF_ASSEMBLY = re.compile(r"inline asm|constraint")
_CONSTRAINT = re.compile(r"for constraint '([^']{1,50})'")
_QUOTED_TEXT = re.compile(r"in inline asm: '(.{1,80})")
_OPERAND = re.compile(r"\$\{?(\d{1,3})")


class Reworded(NamedTuple):
    """A complaint, and what to do about it."""

    message: str
    hint: str | None


def reworded(message: str) -> Reworded:
    """Return a complaint of MLIR or LLVM in words, with advice if there is some."""
    if message.startswith(RETURNS):
        return Reworded(
            "the kernel returns a value",
            "A kernel returns nothing: write the value to memory with tl.store. A helper is "
            "compiled with the kernel that calls it: compile that one, or NAME_stored, a kernel "
            "that is written for the helper NAME.",
        )
    if (match := _MASK.match(message)) is not None:
        element = _ELEMENTS.get(match["element"], match["element"].replace("i", "int"))
        shape = (match["shape"] or "").rstrip("x").replace("x", ", ")
        return Reworded(
            f"the mask of tl.{match['operation']} is of type {element}"
            f"{f'[{shape}]' if shape else ''}, not a condition",
            "Compare: mask=m != 0, or mask=offsets < n.",
        )
    if (match := _DOT_OF_INTEGERS.match(message)) is not None:
        return Reworded(
            f"tl.dot of {match['element'].replace('i', 'int')} has no form for this target",
            "Convert both operands, such as a.to(tl.float16), which holds every int8, and leave "
            "out out_dtype; or compile for cuda:80 or newer, which have it.",
        )
    hint = next((text for pattern, text in _HINTS if re.search(pattern, message)), None)
    return Reworded(message, hint)


STAGES = frozenset(get_args(DiagnosticStage))
MAX_DIAGNOSTICS = 20
MAX_READ = 200
"""Different complaints: a log that has more is not read to its end."""
MAX_MESSAGE = 1000
MAX_LINE = 4000
MAX_LOG = 1 << 20
MAX_NUMBER = 9
"""Digits of a line or a column."""

_SEVERITIES: dict[str, Severity] = {
    "error": "error",
    "warning": "warning",
    "remark": "note",
    "note": "note",
}
_NOWHERE = frozenset({"<unknown>:0", "loc(unknown)"})
_LLVM = ("LLVM ERROR: ", "fatal error: ", "error: ")
_ASSEMBLY = "<inline asm>"
_UNREACHABLE = "UNREACHABLE executed at "
_PIPELINE = "Pipeline failed while executing "
EMPTY = ("Failures have been detected while processing an MLIR pass pipeline",)
_IR_DUMP = re.compile(r"see current operation: |\s*\"?[\w.]+\"?\(|module|#|//")


class _Complaint(NamedTuple):
    """A line that complains: the place, as written, and the complaint."""

    place: str
    kind: str
    message: str


class _Position(NamedTuple):
    file: str
    line: int
    column: int


def diagnostics(log: str, sources: Mapping[str, str], stage: str) -> list[Diagnostic]:
    """Return the complaints in `log`, errors at the user's lines if it names them.

    `sources` holds the user's texts by virtual path ("/kernel/user.py"); `stage` is the one that
    runs.
    """
    stage = stage if stage in STAGES else "frontend" if stage == "source" else "ttgir"
    lines = {path: text.split("\n") for path, text in sources.items()}
    messages: dict[Diagnostic, None] = {}  # in order, each once
    before = ""
    for line in log[:MAX_LOG].splitlines():
        complaint = _read(line[:MAX_LINE], lines, stage)
        if line.startswith(_UNREACHABLE):  # its subject is on the line before
            complaint = _plain("error", stage, f"LLVM: {before}")
        before = line[:MAX_LINE]
        if complaint is not None:
            messages[complaint] = None
        if len(messages) >= MAX_READ:
            break
    return _errors_first(list(messages))[:MAX_DIAGNOSTICS]


def failing_pass(log: str) -> str | None:
    """Return the name of the pass that was running when MLIR failed: the innermost one."""
    passes = log.partition(_PIPELINE)[2].partition("\n")[0]
    is_list = passes.startswith("[")
    passes = passes.partition("]")[0] if is_list else "`".join(passes.split("`")[:3])
    names = [name for name in passes.split("`")[1::2] if _is_word(name)]
    return names[-1] if names else None


def _errors_first(messages: list[Diagnostic]) -> list[Diagnostic]:
    """Return `messages`, errors first; only informative ones, if there are any."""
    if any(item.severity == "error" and _is_informative(item) for item in messages):
        messages = [item for item in messages if _is_informative(item)]
    return sorted(messages, key=lambda item: item.severity != "error")


def _read(line: str, sources: Mapping[str, list[str]], stage: str) -> Diagnostic | None:
    complaint = _complaint(line)
    if complaint is not None:
        if complaint.place in _NOWHERE:
            return _plain(_SEVERITIES[complaint.kind], stage, complaint.message)
        place = _position(complaint.place)
        if place is not None:
            return _at_position(place, complaint, sources, stage)
    if (failed := _assertion(line)) is not None:
        return _plain("error", stage, f"Triton's own check failed: {failed}")
    for start in _LLVM:
        if line.startswith(start):
            return _plain("error", stage, f"LLVM: {line.removeprefix(start)}")
    return None


def _complaint(line: str) -> _Complaint | None:
    """Read "<place>: <kind>: <message>", at the first kind that the line names."""
    marks = [(at, kind) for kind in _SEVERITIES if (at := line.find(f": {kind}: ")) >= 0]
    if not marks:
        return None
    at, kind = min(marks)
    return _Complaint(line[:at], kind, line[at + len(f": {kind}: ") :])


def _position(text: str) -> _Position | None:
    """Read `file:line:column`, in quotes or in `loc(...)` or both."""
    if text.startswith("loc("):
        text = text.removeprefix("loc(").removesuffix(")")
    file, _, numbers = text.partition(":")
    if file.startswith('"'):
        file = file.removeprefix('"').removesuffix('"')
    line, _, column = numbers.partition(":")
    if (
        not file
        or file[0].isspace()
        or '"' in file
        or not (_is_number(line) and _is_number(column))
    ):
        return None
    return _Position(file, int(line), int(column))


def _assertion(line: str) -> str | None:
    """Read "<program>: <file>:<line>: <function>: Assertion `<words>' failed."."""
    end = line.rfind("' failed")
    start = max(line.rfind("Assertion `", 0, end), line.rfind("Assertion '", 0, end))
    if end < 0 or start < 0:
        return None
    for part in line[:start].split(": "):
        file, _, number = part.rpartition(":")
        if file and _is_number(number) and not (":" in file or " " in file):
            # the folders are from the machine that built Triton
            return f"{line[start + 11 : end]} ({file.rpartition('/')[2]}:{number})"
    return None


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= MAX_NUMBER


def _is_word(text: str) -> bool:
    return bool(text) and text.replace("_", "a").isalnum()


def _at_position(
    place: _Position, complaint: _Complaint, sources: Mapping[str, list[str]], stage: str
) -> Diagnostic | None:
    if complaint.message.startswith(_PIPELINE):
        name = failing_pass(complaint.message)
        return _plain("note", stage, f"while running the pass {name}") if name else None
    file = file_in_kernel(place.file)
    if place.file == _ASSEMBLY:
        return _plain(_SEVERITIES[complaint.kind], stage, f"in inline asm: {complaint.message}")
    if file is None:
        return _plain(_SEVERITIES[complaint.kind], stage, complaint.message)
    text = sources.get(place.file)
    span = Span(file, place.line, max(place.column, 1))
    shown = excerpt(text, span) if text is not None else None
    message, hint = reworded(complaint.message[:MAX_MESSAGE])
    return diagnostic(
        _SEVERITIES[complaint.kind], stage, message, hint=hint, span=span, excerpt=shown
    )


def _plain(severity: Severity, stage: str, message: str) -> Diagnostic:
    message, hint = reworded(message[:MAX_MESSAGE])
    return diagnostic(severity, stage, message, hint=hint)


def _is_informative(complaint: Diagnostic) -> bool:
    message = complaint.message
    if complaint.severity == "note":
        return _IR_DUMP.match(message) is None
    return bool(message) and message not in EMPTY


# Locates the inline assembly behind LLVM's errors, which name no line, in the TTGIR that Triton
# printed.


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


def with_places(
    messages: list[Diagnostic], ir: str, sources: Mapping[str, str]
) -> list[Diagnostic]:
    """Return `messages` with the places of those that complain of inline assembly.

    `ir` is the TTGIR that was being lowered; `sources` the user's texts by virtual path.
    """
    if not any(item.line is None and _OF_ASSEMBLY.search(item.message) for item in messages):
        return messages
    known = list(_assemblies(ir))
    return [_with_place(item, known, sources) for item in messages]


def _with_place(item: Diagnostic, known: list[_Assembly], sources: Mapping[str, str]) -> Diagnostic:
    if item.line is not None or not _OF_ASSEMBLY.search(item.message) or not known:
        return item
    meant = [assembly for assembly in known if assembly.may_be_meant_by(item.message)]
    span = (meant or known)[0].span
    text = sources.get(KERNEL_FOLDER + span.file)
    shown = excerpt(text.split("\n"), span) if text is not None else None
    return item.at(span, shown)


def _assemblies(ir: str) -> Iterator[_Assembly]:
    lines = [line[:_MAX_LINE] for line in ir.split("\n")]
    written = [line for line in lines if _OPERATION in line][:_MAX_PLACES]
    aliases = aliases_in(lines)
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


@dataclass(frozen=True)
class LocationAliases:
    """The location aliases of one module; each is looked into once."""

    definitions: Mapping[str, str]
    known: dict[str, Span | None] = field(default_factory=dict)

    def span(self, words: str, depth: int = 0) -> Span | None:
        """Return the first place in the user's files that a location names, through aliases."""
        for match in _PLACE.finditer(words):
            alias, file, line, column = match.groups()
            if file is not None:
                return Span(file, int(line), int(column))
            if alias not in self.known and depth < _MAX_DEPTH:
                self.known[alias] = None  # so far: an alias may name itself
                self.known[alias] = self.span(self.definitions.get(alias, ""), depth + 1)
            if (span := self.known.get(alias)) is not None:
                return span
        return None

    def span_of_line(self, line: str) -> Span | None:
        """Return the place of the operation that ends on a line of the module."""
        return self.span(line.rpartition(" loc(")[2])


def aliases_in(lines: Iterable[str]) -> LocationAliases:
    """Return the location aliases that the lines of a module define."""
    named = (line.partition(" = ") for line in lines if line.startswith("#loc"))
    return LocationAliases({name: words for name, _, words in named})
