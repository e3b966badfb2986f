"""Puts a module together: its functions with the user's lines next to them, and its support."""

import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.ttir_to_numpy import runtime_text
from compiler.ttir_to_numpy.contraction import contract
from compiler.ttir_to_numpy.function_text import FunctionCodegen, function_text
from compiler.ttir_to_numpy.functions import Functions
from compiler.ttir_to_numpy.ir import Operation, UserLocations
from compiler.ttir_to_numpy.readable_codegen import ARTIFACT, SPELLING
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.scope import INDENT, Line

_COLUMN = 68
MAX_BYTES = 32 << 20
_SUPPORT = "support_"
_LINE = "# " + "-" * 94
_RULE = f"{_LINE}\n# Helpers of every kernel; nothing below is specific to this one.\n{_LINE}"
_PARAMETER = re.compile(r'(\w+): "')


@dataclass(frozen=True, slots=True)
class TranslatedKernel:
    """The translation's parameters: a module's public function, and the module's stage.

    `parameters` are the user's names; one that went through a tuple has none. One for an NVIDIA GPU
    `is_cuda`, and `fp_fusion` is its option `enable_fp_fusion`.
    """

    symbol: str
    stage: str
    parameters: Sequence[str]
    is_cuda: bool = True
    fp_fusion: bool = True


def module_text(module: Operation, kernel: TranslatedKernel, files: Mapping[str, str]) -> str:
    """Return the text of `kernel`; `files` are the user's, by path, for the comments.

    Raises `Untranslatable`.
    """
    if kernel.is_cuda:
        contract(module, fp_fusion=kernel.fp_fusion)
    functions = Functions(module, runtime_text.names(), kernel.symbol, runtime_text.never())
    entry = entry_of(functions, kernel)
    locations = UserLocations(files)
    codegen = FunctionCodegen(ARTIFACT, SPELLING, locations.words_of)
    written = written_functions(functions, entry, codegen)
    support = runtime_text.needed({line.text for lines in written for line in lines})
    body = "\n\n\n".join("\n".join(_with_comments(lines, locations)) for lines in written)
    name = functions.name_of(f"@{kernel.symbol}")
    if name in runtime_text.names():
        body = _renamed(body, name, is_kernel=True)
        support = _renamed(support, name, is_kernel=False)
    title = _title(name, kernel.stage, _PARAMETER.findall(written[-1][0].text))
    imports = runtime_text.imports(body + support)
    parts = [title, "from __future__ import annotations", "", imports, "", "", body, "", "", _RULE]
    return "\n".join([*parts, "", "", support])


def entry_of(functions: Functions, kernel: TranslatedKernel) -> Operation:
    """Return the kernel's function, its arguments named by the user. Raises `Untranslatable`."""
    entry = functions.by_symbol.get(f"@{kernel.symbol}")
    if entry is None or not entry.regions:
        message = f"there is no function {kernel.symbol[:80]!r}"
        raise Untranslatable(message)
    circular = functions.in_circle()
    if circular is not None:
        message = f"the function {circular}, which calls itself"
        raise Untranslatable(message)
    arguments = entry.regions[0][0].arguments
    if len(arguments) == len(kernel.parameters):
        for argument, known in zip(arguments, kernel.parameters, strict=True):
            argument.name = known
    return entry


def written_functions(
    functions: Functions, entry: Operation, codegen: FunctionCodegen
) -> list[list[Line]]:
    """Return the lines of every function: helpers first, the kernel last."""
    written, size = [], 0
    others = [function for function in functions.by_symbol.values() if function is not entry]
    for function in (*reversed(others), entry):
        written.append(function_text(function, functions, codegen, is_kernel=function is entry))
        size += sum(len(line.text) + _COLUMN for line in written[-1])
        if size > MAX_BYTES:
            message = f"its text is longer than {MAX_BYTES:,} bytes"
            raise Untranslatable(message)
    return written


def _title(name: str, stage: str, parameters: Sequence[str]) -> str:
    """Return the text's own docstring."""
    launch = "launch" if name != "launch" else f"{_SUPPORT}launch"
    return (
        f'"""The kernel `{name}` in NumPy, made from the stage `{stage}` of its Triton IR.\n\n'
        "Needs NumPy 2. Every function is one of the kernel's; the number at the end of a line is\n"
        "that of the line it was made from. To run it:\n\n"
        f"    {launch}({', '.join([name, 'grid', *parameters])})\n\n"
        "with `grid` as a tuple and contiguous arrays for the pointers, which it changes.\n"
        '"""\n'
    )


def _renamed(text: str, name: str, *, is_kernel: bool) -> str:
    """Return `text` with the support's function `name` called otherwise: that name is the kernel's.

    In the text of the kernel, which `is_kernel`, only its definition has the name for itself.
    """
    lines = text.splitlines(keepends=True)
    starts, previous = [], ""
    for token in tokenize.generate_tokens(iter(lines).__next__):
        is_name = token.type == tokenize.NAME and token.string == name
        if is_name and not (is_kernel and previous == "def"):
            starts.append(token.start)
        previous = token.string
    for row, column in reversed(starts):
        line = lines[row - 1]
        lines[row - 1] = f"{line[:column]}{_SUPPORT}{line[column:]}"
    return "".join(lines)


def _with_comments(lines: list[Line], locations: UserLocations) -> list[str]:
    """Return the lines, each with the user's line where it is another one than before."""
    texts, last = [], ""
    for line in lines:
        text = INDENT * line.depth + line.text
        comment = locations.comment_on(line.operation) if line.operation is not None else ""
        if comment and comment != last:
            text = f"{text:<{_COLUMN}}  # {comment}"
            last = comment
        texts.append(text)
    return texts
