"""Finds the operation behind a failure that names no line, by lowering variants of the module.

Each variant differs from the module in exactly one thing: a promise of the source, an attribute of
a loop, an option, or all operations behind one. Each is lowered in a separate process, as passes
that fail leave a compiler behind that cannot be trusted.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from compiler.back import mlir_log, tool_process
from compiler.back.mlir_log import LocationAliases
from compiler.diagnostic import KERNEL_FOLDER, Diagnostic, Span, diagnostic, excerpt

MAX_CHARS = 1 << 20
"""A longer module is not searched."""
MAX_ATTEMPTS = 40
MAX_S = 10.0
"""Seconds after which no further variant is tried."""

MLIR_STAGES = frozenset({"ttir", "ttgir"})
_SEARCHED = MLIR_STAGES | {"llir"}
"""Stages that lower a module of MLIR, which has the places of operations."""
_PASSED, _REFUSED, _UNREADABLE = 0, 1, 2
_PROMISES = {
    "tt.contiguity": "tl.max_contiguous",
    "tt.divisibility": "tl.multiple_of",
    "tt.constancy": "tl.max_constancy",
}
_LOOP_ATTRIBUTES = {
    "tt.warp_specialize": (
        "warp_specialize=True of this loop. It may compile with it, too, where the loop loads "
        "through tensor descriptors"
    ),
    "tt.num_stages": "num_stages of this loop",
    "tt.flatten": "flatten=True of this loop",
    "tt.disallow_acc_multi_buffer": "disallow_acc_multi_buffer=True of this loop",
}
_ATTRIBUTE = re.compile(
    r"(?:, )?(?P<name>tt\.(?:contiguity|divisibility|constancy|warp_specialize|num_stages|flatten"
    r"|disallow_acc_multi_buffer))\b(?: = (?:dense<[^<>]*> : tensor<[^<>]*>|[^,}]*))?"
)
_OPTIONS: tuple[tuple[str, Any], ...] = (("num_stages", 1), ("num_ctas", 1), ("num_warps", 4))
_KERNEL = re.compile(r"^  tt\.func public ")
_RETURNED = re.compile(r"^ +tt\.return %")


@dataclass(frozen=True)
class FailedStage:
    """A stage that failed, the module before it, and how to lower a variant.

    `lower` takes the text of a variant and options to change; it raises what the stage raises.
    """

    name: str
    before: str
    options: Mapping[str, Any]
    sources: Mapping[str, str]
    parse: Callable[[str], Any]
    lower: Callable[[Any, Mapping[str, Any]], None]


@dataclass(frozen=True)
class _Attempt:
    """The end of one variant: its status, and its first complaint."""

    status: int
    complaint: Diagnostic | None = None

    @property
    def words(self) -> str:
        return self.complaint.message if self.complaint else ""

    @property
    def is_placed(self) -> bool:
        """True if the complaint names a line and what is wrong there."""
        is_empty = self.words in mlir_log.EMPTY
        return self.complaint is not None and self.complaint.line is not None and not is_empty

    def is_as(self, other: "_Attempt") -> bool:
        """Return True if both failed with the same words."""
        return self.status == other.status == _REFUSED and self.words == other.words


@dataclass
class _Search:
    """The attempts that are left."""

    stage: FailedStage
    until: float
    left: int = MAX_ATTEMPTS

    def attempt(self, text: str, changes: Mapping[str, Any] | None = None) -> _Attempt | None:
        """Lower one variant; return None where nothing more is tried."""
        if self.left <= 0 or perf_counter() > self.until:
            return None
        self.left -= 1
        return _lowered_apart(self.stage, text, changes or {})


def located(stage: FailedStage) -> list[Diagnostic]:
    """Return the error at its place, if it has none and its operation is found; else nothing."""
    lines = stage.before.split("\n")
    if len(stage.before) > MAX_CHARS:
        return []
    aliases = mlir_log.aliases_in(lines)
    if (returned := _returned_value(lines, aliases)) is not None:
        told = mlir_log.reworded(mlir_log.RETURNS)
        return [_diagnostic(stage, told.message, told.hint, returned)]
    if stage.name not in _SEARCHED:
        return []
    search = _Search(stage, perf_counter() + MAX_S)
    failed = search.attempt(stage.before)
    if failed is None or failed.status != _REFUSED:
        return []
    if failed.is_placed:
        return []
    blamed = _without_one_attribute(search, lines, aliases)
    hint = blamed[1] if blamed else _with_other_options(search)
    span = blamed[0] if blamed else _last_of_shortest(search, failed, lines, aliases)
    if span is None:
        return []
    is_told = failed.words and failed.words not in mlir_log.EMPTY
    words = failed.words if is_told else "Triton cannot lower this operation"
    if hint is None and failed.complaint is not None:
        hint = failed.complaint.hint
    return [_diagnostic(stage, words, hint, span)]


def _returned_value(lines: list[str], aliases: LocationAliases) -> Span | None:
    """Return where the kernel returns a value, which AMD's backend refuses without a word."""
    is_kernel = False
    for line in lines:
        if line.startswith("  tt.func "):
            is_kernel = _KERNEL.match(line) is not None
        elif is_kernel and _RETURNED.match(line):
            return aliases.span_of_line(line)
    return None


def _without_one_attribute(
    search: _Search, lines: list[str], aliases: LocationAliases
) -> tuple[Span, str] | None:
    """Return the place of an attribute without which the module is lowered, and its hint."""
    for number, line in enumerate(lines):
        if line.startswith("  tt.func "):
            continue
        for match in _ATTRIBUTE.finditer(line):
            name = match["name"]
            without = line[: match.start()] + line[match.end() :]
            without = without.replace("{, ", "{")
            variant = [*lines[:number], without, *lines[number + 1 :]]
            attempt = search.attempt("\n".join(variant))
            if attempt is None:
                return None
            span = aliases.span_of_line(line)
            if attempt.status != _PASSED or span is None:
                continue
            if name in _PROMISES:
                span = _call_below(search.stage, span, _PROMISES[name])
                words = (
                    f"The kernel compiles without {_PROMISES[name]} here: its values are powers "
                    "of two, from 1 to the size of the tensor."
                )
                return span, words
            return span, f"The kernel compiles without {_LOOP_ATTRIBUTES[name]}."
    return None


def _call_below(stage: FailedStage, span: Span, function: str) -> Span:
    """Return the call of `function` from a place on: its promise is kept at its argument."""
    text = stage.sources.get(KERNEL_FOLDER + span.file, "").split("\n")
    name = function.removeprefix("tl.")
    for number in range(span.line, len(text) + 1):
        match = re.search(rf"[\w.]*\b{name}\(", text[number - 1])
        if match is not None:
            return Span(span.file, number, match.start() + 1)
    return span


def _with_other_options(search: _Search) -> str | None:
    """Return advice on the option whose usual value lets the module be lowered."""
    for name, value in _OPTIONS:
        if search.stage.options.get(name) in (None, value):
            continue
        attempt = search.attempt(search.stage.before, {name: value})
        if attempt is not None and attempt.status == _PASSED:
            return f"The kernel compiles with {name}={value}."
    return None


@dataclass(frozen=True)
class _Block:
    """The operations of a function or of a loop: lines from `start` to before `end`.

    `last` is the line that ends the shortened block: a return, or a yield of the loop's carried
    values.
    """

    start: int
    end: int
    indent: int
    last: str


def _last_of_shortest(
    search: _Search, failed: _Attempt, lines: list[str], aliases: LocationAliases
) -> Span | None:
    """Return the place of the operation at which the module, cut behind it, begins to fail."""
    block = _body_of_kernel(lines)
    span: Span | None = None
    while block is not None:
        operations = list(_operations(lines, block))
        low, high = 0, len(operations)  # cut behind `high` it fails; behind `low` it does not
        while high - low > 1:
            middle = (low + high) // 2
            attempt = search.attempt(_cut(lines, block, operations[middle - 1]))
            if attempt is None:
                return span
            low, high = (low, middle) if attempt.is_as(failed) else (middle, high)
        if high == 0:
            return span
        end = operations[high - 1]
        if high < len(operations):  # what is behind it is left out from now on
            lines = _cut(lines, block, end).split("\n")
        span = aliases.span_of_line(lines[end - 1]) or span
        start = operations[high - 2] if high > 1 else block.start
        block = _body_of_loop(lines, start, end, block.indent)
    return span


def _body_of_kernel(lines: list[str]) -> _Block | None:
    start = next((n for n, line in enumerate(lines) if _KERNEL.match(line)), None)
    if start is None:
        return None
    end = next((n for n in range(start, len(lines)) if lines[n].startswith("    tt.return")), None)
    return None if end is None else _Block(start + 1, end, 4, "    tt.return")


def _body_of_loop(lines: list[str], start: int, end: int, indent: int) -> _Block | None:
    """Return the body of the loop in the lines from `start` to `end`, None if they are not one."""
    match = re.match(r" +(?:%[\w:]+ = )?scf\.for .*\{$", lines[start])
    if match is None:
        return None
    carried = re.findall(r"(%[\w#]+) = ", lines[start].partition("iter_args(")[2])
    inner = indent + 2
    yields = [n for n in range(start, end) if lines[n].startswith(" " * inner + "scf.yield ")]
    if not carried:
        return _Block(start + 1, end - 1, inner, "")
    if not yields:
        return None
    types = lines[yields[-1]].partition(" : ")[2].rpartition(" loc(")[0]
    last = f"{' ' * inner}scf.yield {', '.join(carried)} : {types}"
    return _Block(start + 1, yields[-1], inner, last)


def _operations(lines: list[str], block: _Block) -> Iterator[int]:
    """Yield the line behind each operation of a block."""
    for number in range(block.start, block.end):
        following = lines[number + 1] if number + 1 < block.end else " " * block.indent + "x"
        is_next = following.startswith(" " * block.indent) and following[block.indent] not in " }^"
        if is_next:
            yield number + 1


def _cut(lines: list[str], block: _Block, end: int) -> str:
    """Return the module without the operations of `block` from the line `end` on."""
    behind = lines[block.end :] if block.last == "" else lines[block.end + 1 :]
    last = [block.last] if block.last else []
    return "\n".join([*lines[:end], *last, *behind])


def _lowered_apart(stage: FailedStage, text: str, changes: Mapping[str, Any]) -> _Attempt:
    """Lower a variant in a child of this process, which it may end as it likes."""
    with tool_process.memory("variant") as log:
        child = os.fork()
        if child == 0:
            _lower_and_exit(stage, text, changes, log)
        _, ended = os.waitpid(child, 0)
        words = tool_process.content_of(log, mlir_log.MAX_LOG).decode(errors="replace")
    code = os.waitstatus_to_exitcode(ended)
    if code in (_PASSED, _UNREADABLE):
        return _Attempt(code)
    messages = mlir_log.diagnostics(words, stage.sources, stage.name)
    errors = [item for item in messages if item.severity == "error"]
    return _Attempt(_REFUSED, errors[0] if errors else None)


def _lower_and_exit(stage: FailedStage, text: str, changes: Mapping[str, Any], log: int) -> None:
    status = _UNREADABLE
    try:
        os.dup2(log, 2)
        module = stage.parse(text)
        status = _REFUSED
        stage.lower(module, changes)
        status = _PASSED
    except BaseException as error:  # noqa: BLE001 - nothing may unwind into the parent's frames
        os.write(2, f"{error}\n".encode())
    finally:
        os._exit(status)


def _diagnostic(stage: FailedStage, message: str, hint: str | None, span: Span) -> Diagnostic:
    text = stage.sources.get(KERNEL_FOLDER + span.file)
    shown = excerpt(text.split("\n"), span) if text is not None else None
    shown_stage = stage.name if stage.name in mlir_log.STAGES else "ttgir"
    return diagnostic("error", shown_stage, message, hint=hint, span=span, excerpt=shown)
