"""`tritonc compile`: artifacts to files, everything about them to standard error."""

import sys
from argparse import Namespace
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.argument_syntax import signature, value
from tritonc.cli.streams import emit_paths, name_of, read, write, write_json
from tritonc.compilation import Compilation
from tritonc.diagnostic import printable, render_all
from tritonc.service_errors import WaitExpired

ON_DEMAND = frozenset({"sass", "numpy"})  # made when first asked for, so never part of the answer


def run(given: Namespace, client: Client) -> None:
    """Compile. Raises CompileFailed after what was reached is written."""
    emissions = emit_paths(given.emit, given.source)
    compilation = client.compile(
        read(given.source),
        include=[stage for stage in emissions if stage not in ON_DEMAND],
        check=False,
        stop_after=given.stop_after,
        wait_s=given.wait_s,
        **kernel_members(given),
        **rare_members(given),
    )
    if not compilation.finished:
        raise WaitExpired(compilation.key, f"it is {compilation.state}", given.wait_s)
    sys.stderr.write(printable(compilation.stdout))
    if given.json:
        write_json(compilation.raw)
    # what was reached is written before the failure is told: it is what one debugs with
    for stage, path in emissions.items():
        if stage in compilation.included:
            write(compilation.included[stage], path)
    compilation.raise_unless_succeeded()
    for stage, path in emissions.items():
        if stage not in compilation.included:
            write(client.artifact(compilation.key, stage, wait_s=given.wait_s), path)
    sys.stderr.write(_summary(compilation, name_of(given.source)))


def kernel_members(given: Namespace) -> dict[str, Any]:
    """Return how the kernel is compiled, as the flags say; what they do not say is left out."""
    members = {
        "target": given.target,
        "kernel": given.kernel,
        "signature": signature(given.signature),
        "constexprs": {name: value(text) for name, text in given.constexpr} or None,
        "hints": {name: text.split(",") for name, text in given.hint} or None,
        "options": {name: value(text) for name, text in given.option} or None,
        "files": {name: read(path) for name, path in given.file} or None,
        "triton": given.triton,
    }
    return {name: member for name, member in members.items() if member is not None}


def rare_members(given: Namespace) -> dict[str, Any]:
    """Return what the rarer flags say."""
    rare = {
        "priority": given.priority,
        "timeout_s": given.timeout_s,
        "refresh": given.refresh or None,
    }
    return {name: member for name, member in rare.items() if member is not None}


def _summary(compilation: Compilation, source_name: str) -> str:
    diagnostics, resources = compilation.diagnostics, compilation.resources
    sizes = [f"{stage} {a.size_bytes} bytes" for stage, a in compilation.artifacts.items()]
    numbers = [f"{name} {number}" for name, number in resources.items() if _is_number(number)]
    lines = [
        render_all(diagnostics, source_name),
        f"{compilation.kernel or source_name} for {compilation.target}: {compilation.cache}",
        _assumed(compilation),
        f"key {compilation.key}",
        ", ".join(sizes),
        ", ".join(numbers),
    ]
    return "\n".join(filter(None, lines)) + "\n"


def _assumed(compilation: Compilation) -> str:
    """Return a line that says that the answer rests on assumptions, nothing where it does not."""
    if compilation.complete:
        return ""
    lines = ", ".join(str(item["line"]) for item in compilation.assumptions)
    return f"incomplete: this rests on assumptions about line {lines}, see the warnings"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
