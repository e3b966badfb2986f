"""The kernel of a posted module: its public function, and the parameters it is launched with.

Read from the module as MLIR prints it, never from the posted text.
"""

import re
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

from compiler.diagnostic import Failure, diagnostic
from compiler.target import BACKENDS
from compiler.type_name import is_parameter_type

HINTS = {"tt.divisibility": (16, "divisible_by_16"), "tt.pointer_range": (32, "pointer_range_32")}

_FUNCTION = re.compile(r"^  tt\.func (?:public )?@(\"[^\"]*\"|[\w$.-]+)\((.*)$", re.MULTILINE)
_ARGUMENT = re.compile(r"%[\w$.-]+: (?P<type>[^{]+?)\s*(?:\{(?P<attributes>.*)\})?\s*")
_VALUE = re.compile(r"^%([\w$.-]+)\s*:", re.ASCII)
_NAMED_LOCATION = re.compile(r'loc\("(\w+)"', re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w{0,127}", re.ASCII)
_POSITION = re.compile(r"arg\d+", re.ASCII)
_MAX_CHARS = 100_000
"""The end of a function's parameters is looked for in so much text."""
_ATTRIBUTE = re.compile(r"(tt\.\w+) = (\d+) : i32")
_POINTER = re.compile(r'!tt\.ptr<(.+?)(, "constant"|, \d+(?: : i32)?)?>')
_DESCRIPTOR = re.compile(r"!tt\.tensordesc<(?:tensor<)?((?:\d+x)+)(\w+)[^<]*(?:<.*)?>")
_INTEGER = re.compile(r"(?:s?i(1|8|16|32|64)|ui(1|8|16|32|64))")
_FLOATS = {
    "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64",
    "f8E4M3FN": "fp8e4nv", "f8E5M2": "fp8e5", "f8E4M3FNUZ": "fp8e4b8", "f8E5M2FNUZ": "fp8e5b16",
    "f8E4M3B11FNUZ": "fp8e4b15",
}  # fmt: skip


@dataclass(frozen=True)
class IrEntry:
    """The public function: its name, and its parameters (`name`, `type`, `hints`) by position."""

    name: str
    parameters: list[dict[str, Any]]


def entry_of(module: Any, stage: str, text: str = "") -> IrEntry:
    """Return the entry of a module that was parsed from `text`, which has its parameters' names.

    Raises `Failure`: `unknown_kernel` without a public function, `ambiguous_kernel` with several,
    `compile_error` for a name that no symbol of a GPU's code has, or for a parameter that nothing
    can be passed to.
    """
    functions = _FUNCTION.findall(module.str_nodebug())
    if not functions:
        message = "the module has no kernel: it needs one public tt.func with a body"
        raise _failure("unknown_kernel", stage, message)
    names = [name.strip('"') for name, _ in functions]
    if len(functions) > 1:
        message = (
            f"the module has {len(names)} public functions: {', '.join(names)}. "
            "Make all but the kernel `tt.func private`."
        )
        raise _failure("ambiguous_kernel", stage, message)
    if "\\" in names[0]:  # MLIR prints an escape, and finds no function of the name it printed
        raise _invalid_name(functions[0][0], stage)
    arguments = _split(functions[0][1])
    own = _own_names(text, functions[0][0], len(arguments))
    return IrEntry(
        names[0],
        [
            _parameter(index, argument, stage, name)
            for index, (argument, name) in enumerate(zip(arguments, own, strict=True))
        ],
    )


def check_symbol(name: str, backend: str, stage: str) -> None:
    """Raise `Failure` (`compile_error`) for a name that a backend's assembly cannot have.

    MLIR and LLVM accept such names; Triton's check, LLVM's or the assembler's fails late and does
    not mention the name.
    """
    if not re.fullmatch(BACKENDS[backend].symbol_pattern, name, re.ASCII):
        raise _invalid_name(name, stage)


def _invalid_name(name: str, stage: str) -> Failure:
    message = (
        f"the kernel's name {name[:200]} cannot be that of a kernel: name it with ASCII letters, "
        "digits and underscores"
    )
    return _failure("compile_error", stage, message)


def _own_names(text: str, function: str, count: int) -> list[str]:
    """Return a name for each of the function's parameters: as written, else `arg` and its position.

    MLIR drops the names of values, so they are looked for in the text: `%x_ptr`, or `loc("x_ptr")`.
    """
    positional = [f"arg{index}" for index in range(count)]
    start = re.search(rf"tt\.func\s+(?:public\s+)?@{re.escape(function)}\s*\(", text)
    written = [] if start is None else _split(text[start.end() : start.end() + _MAX_CHARS])
    if len(written) != count:
        return positional
    own = [_own_name(argument) for argument in written]
    if len(set(own)) < count:
        return positional
    return [name or position for name, position in zip(own, positional, strict=True)]


def _own_name(argument: str) -> str:
    """Return a parameter's name, or an empty string for one that no launch could use."""
    candidates = [*_VALUE.findall(argument), *_NAMED_LOCATION.findall(argument)]
    usable = (
        name
        for name in candidates
        if _NAME.fullmatch(name) and not _POSITION.fullmatch(name) and not iskeyword(name)
    )
    return next(usable, "")


def _parameter(index: int, text: str, stage: str, name: str) -> dict[str, Any]:
    match = _ARGUMENT.fullmatch(text)
    kind = None if match is None else _type(match["type"])
    if match is None or kind is None or not is_parameter_type(kind):
        message = f"parameter {index} of the kernel ({text[:200]}) has no type of Triton's"
        raise _failure("compile_error", stage, message)
    attributes = _ATTRIBUTE.findall(match["attributes"] or "")
    known = [(value, *HINTS[name]) for name, value in attributes if name in HINTS]
    hints = [hint for value, unit, hint in known if _promises(int(value), unit, hint)]
    return {"name": name, "type": kind, "hints": sorted(hints)}


def _failure(slug: str, stage: str, message: str) -> Failure:
    return Failure(slug, stage, message, [diagnostic("error", stage, message)])


def _promises(value: int, unit: int, hint: str) -> bool:
    return value == unit if hint == "pointer_range_32" else value % unit == 0


def _type(written: str) -> str | None:
    """Return Triton's spelling of an MLIR type, `None` for one that no parameter has."""
    if match := _POINTER.fullmatch(written):
        element = _type(match[1])
        constant = "k" if match[2] == ', "constant"' else ""
        return None if element is None else f"*{constant}{element}"
    if match := _DESCRIPTOR.fullmatch(written):
        element = _type(match[2])
        shape = match[1].rstrip("x").replace("x", ",")
        return None if element is None else f"tensordesc<{element}[{shape}]>"
    if match := _INTEGER.fullmatch(written):
        return f"i{match[1]}" if match[1] else f"u{match[2]}"
    return _FLOATS.get(written)


def _split(text: str) -> list[str]:
    """Return the arguments at the start of `text`, up to the bracket that closes their list."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "<{[(":
            depth += 1
        elif character in ">}])" and depth:
            depth -= text[position - 1] != "-" or character != ">"
        elif character in ",)" and not depth:
            parts.append(text[start:position].strip())
            start = position + 1
            if character == ")":
                break
    return [part for part in parts if part]
