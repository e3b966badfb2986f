"""Repairs of posted IR text that stops just short of parsing: dropped location tables, old types.

Line numbers never change, so what a diagnostic points at stays where the user wrote it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MOST_NAMED = 3

_ALIAS = re.compile(r"#loc\d*\b")
_DEFINITION = re.compile(r"^(#loc\d*) = loc\(", re.MULTILINE)
_REFERENCE = re.compile(r"(?:(?<!\s)\s+)?\bloc\((#loc\d*)\)")

_PLAIN = r'(?:[^()"]|"[^"]*")*'
_NESTED = rf"{_PLAIN}(?:\({_PLAIN}(?:\({_PLAIN}(?:\({_PLAIN}\){_PLAIN})*\){_PLAIN})*\){_PLAIN})*"
_LOCATION = re.compile(rf"(?:(?<!\s)\s+)?\bloc\({_NESTED}\)")

_CONSTANT = re.compile(r'(!tt\.ptr<[^<>"]*), "constant">')
_OLD_TYPE = re.compile(r"(?<=tensordesc)<tensor<([^<>]*)>>|(?<!\w)<tensor<([^<>]*)>>")
_NEW_TYPE = re.compile(r"tensordesc<([\dx]+x[^<>]*)>")
_NEW_RESULT = re.compile(r"(?<=, )<((?:\d+x)+\w+)>")
_BUFFER = re.compile(r"\bamdg\.buffer_(?:load|store) ")
_BARRIER = re.compile(r"(\brocdl\.sched\.barrier )(\w+)")
_MASKS = {"0": "none", "1": "non_mem_non_sideeffect"}  # those that Triton makes
_MASKS |= {name: number for number, name in _MASKS.items()}
_TENSOR = re.compile(r"tensor<(?:\d+x)+(\w+)[,>]")
_NEW_OPERAND = re.compile(r"(?<=[:,] )<((?:\d+x)+\w+)>(?= ?(?:->|,| loc|$))")


@dataclass(frozen=True)
class Repair:
    """A repaired text, and its repairs in words."""

    text: str
    notes: tuple[str, ...]


def attempts(text: str) -> Iterator[Repair]:
    """Return the texts to try, one after the other: as it is, then each repair that changes it."""
    tried = Repair(text, ())
    yield tried
    steps: tuple[Callable[[str], Repair], ...] = (
        _locations,
        _constants,
        _descriptors,
        _buffers,
        _barriers,
    )
    for step in steps:
        mended = step(tried.text)
        if mended.text != tried.text:
            tried = Repair(mended.text, tried.notes + mended.notes)
            yield tried


def without_locations(text: str) -> str:
    """Return the text with every operation left to be located at its own line."""
    return "\n".join(
        line if line.startswith("#loc") else _LOCATION.sub("", line) for line in text.split("\n")
    )


def _locations(text: str) -> Repair:
    """Drop references to location aliases that the text does not define.

    The operations then get their own lines as locations.
    """
    defined = set(_DEFINITION.findall(text))
    missing = sorted(set(_ALIAS.findall(text)) - defined)

    def reference(match: re.Match[str]) -> str:
        return match[0] if match[1] in defined else ""

    def alias(match: re.Match[str]) -> str:
        return match[0] if match[0] in defined else "unknown"

    lines = [
        _ALIAS.sub(alias, line if line.startswith("#loc") else _REFERENCE.sub(reference, line))
        for line in text.split("\n")
    ]
    note = (
        f"location aliases are used that the text does not define ({_some(missing)}): they were "
        "dropped, and those operations are located at their own lines of this text"
    )
    return Repair("\n".join(lines), (note,))


def _some(names: list[str]) -> str:
    return ", ".join(names if len(names) <= MOST_NAMED else [*names[:MOST_NAMED], "..."])


def _constants(text: str) -> Repair:
    """Drop the mark of pointers to constant memory, which Triton knows since 3.9."""
    note = '!tt.ptr<T, "constant"> is what Triton 3.9 and later write: rewritten to !tt.ptr<T>'
    return Repair(_CONSTANT.sub(r"\1>", text), (note,))


def _descriptors(text: str) -> Repair:
    """Write tensor descriptor types as the other versions of Triton do (3.8 changed them)."""
    if "tensordesc" not in text:
        return Repair(text, ())
    if "<tensor<" in text:
        note = "tensordesc<tensor<...>> is how Triton 3.7 and earlier wrote tensordesc<...>"
        return Repair(_OLD_TYPE.sub(lambda m: f"<{m[1] or m[2]}>", text), (f"{note}: rewritten",))
    mended = "\n".join(map(_old_line, _NEW_TYPE.sub(r"tensordesc<tensor<\1>>", text).split("\n")))
    note = "tensordesc<...> is how Triton 3.8 and later write tensordesc<tensor<...>>: rewritten"
    return Repair(mended, (note,))


def _buffers(text: str) -> Repair:
    """Write AMD's buffer accesses as the other versions of Triton do (3.9 added the pointer)."""
    lines = [_buffer_line(line) if _BUFFER.search(line) else line for line in text.split("\n")]
    note = (
        "amdg.buffer_load and amdg.buffer_store are written otherwise since Triton 3.9: rewritten"
    )
    return Repair("\n".join(lines), (note,))


def _barriers(text: str) -> Repair:
    """Write the masks of AMD's scheduling barriers as the other versions do (3.9 named them)."""
    note = "the masks of rocdl.sched.barrier are names since Triton 3.9, numbers before: rewritten"
    return Repair(_BARRIER.sub(lambda m: f"{m[1]}{_MASKS.get(m[2], m[2])}", text), (note,))


def _buffer_line(line: str) -> str:
    access, _, kind = line.rpartition(" : ")
    if kind.startswith("!tt.ptr<"):
        return f"{access} : {kind.partition(' -> ')[2]}"
    tensor = _TENSOR.match(kind)
    return f"{access} : !tt.ptr<{tensor[1]}> -> {kind}" if tensor else line


def _old_line(line: str) -> str:
    if "make_tensor_descriptor" in line:
        return _NEW_RESULT.sub(r"<tensor<\1>>", line)
    return _NEW_OPERAND.sub(r"<tensor<\1>>", line) if "descriptor" in line else line
