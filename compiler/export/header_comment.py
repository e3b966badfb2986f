"""The header of an exported file: the kernel, its GPU, and its required arguments."""

from collections.abc import Iterator

from compiler.export.exported_kernel import Argument, ExportedKernel
from compiler.export.spelling import identifier

_HINTS = {
    "divisible_by_16": "divisible by 16",
    "pointer_range_32": "offsets below 2 GiB",
}


def about(kernel: ExportedKernel) -> list[str]:
    """Return lines of plain text that can end no comment and no docstring of any language."""
    facts = kernel.facts
    lines = [
        f"{kernel.entry}: a Triton kernel, compiled by tritond.",
        "",
        f"Compilation {facts['key']}",
        f"Target {facts['target']}, Triton {facts['toolchain']['triton']}, "
        f"ptxas {facts['toolchain']['ptxas']}",
        f"{kernel.threads} threads a block{_cluster(kernel)}, "
        f"{kernel.shared_bytes} bytes of dynamic shared memory",
        "",
        "Parameters:",
        *(f"  {line}" for line in _parameters(kernel)),
        *_constants(kernel),
    ]
    return [harmless(line) for line in lines]


def harmless(text: str) -> str:
    """Return `text` as one line of ASCII without quotes, backslashes and marks of comments."""
    line = "".join(c if c.isascii() and c.isprintable() else "?" for c in text)
    line = line.replace("\\", "/").replace('"', "'").replace("??", "? ?")
    return line.replace("*/", "* /").replace("/*", "/ *")


def hint_text(argument: Argument) -> str:
    """Return the caller's promises about an argument, "" if there are none."""
    return ", ".join(_HINTS.get(hint, harmless(hint)) for hint in argument.hints)


def _cluster(kernel: ExportedKernel) -> str:
    return f", clusters of {kernel.cluster} blocks" if kernel.cluster != 1 else ""


def _parameters(kernel: ExportedKernel) -> Iterator[str]:
    for argument in kernel.caller_arguments:
        kind = argument.type or "tensor map (CUtensorMap)"
        bits = ", as its 16 bits" if argument.type in {"fp16", "bf16"} else ""
        promised = hint_text(argument)
        yield f"{argument.identifier}: {kind}{bits}" + (f"; {promised}" if promised else "")


def _constants(kernel: ExportedKernel) -> Iterator[str]:
    fixed = [p for p in kernel.facts["parameters"] if p["role"] != "runtime"]
    if fixed:
        yield "Compiled in:"
        yield from (f"  {identifier(item['name'])} = {_one_line(item['value'])}" for item in fixed)


def _one_line(value: object) -> str:
    return ascii(value)[:200]
