"""`tritonc compile`: artifacts to files, everything about them to standard error."""

import sys
from argparse import Namespace
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.kernel_flags import (
    WORDS,
    add_json,
    add_kernel,
    add_wait,
    kernel_members,
    rare_members,
)
from tritonc.cli.streams import emit_paths, name_of, read, write, write_json
from tritonc.cli.terminal import Terminal
from tritonc.compilation import Compilation
from tritonc.diagnostic import printable, render_all
from tritonc.service_errors import WaitExpired

ON_DEMAND = frozenset({"sass", "numpy"})  # made when first asked for, so never part of the answer


def add_command(commands: Any) -> None:
    """Add `compile` to the parser's commands."""
    parser = commands.add_parser("compile", help="compile a kernel")
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("source", metavar="FILE", help="Python file with the kernel, or - for standard input")
    add("--target", required=True, help="cuda:90, ...; `tritonc targets` lists them")
    add_kernel(parser)
    add("--emit", **WORDS, metavar="STAGE[=PATH]", help="write a stage to PATH, - is stdout")
    add("--stop-after", metavar="STAGE", help="default: the target's last stage")
    add("--priority", choices=["interactive", "batch"])
    add("--timeout-s", type=float, metavar="S", help="bound of the compile itself")
    add("--refresh", action="store_true", help="compile again, and replace what was cached")
    add_json(parser)
    add_wait(parser, default=60)


def run(given: Namespace, client: Client, terminal: Terminal) -> bool:
    """Compile; return True. Raises CompileFailed after what was reached is written."""
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
    terminal.say(_summary(compilation, name_of(given.source)))
    return True


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
    return "\n".join(filter(None, lines))


def _assumed(compilation: Compilation) -> str:
    """Return a line that says that the answer rests on assumptions, nothing where it does not."""
    if compilation.complete:
        return ""
    lines = ", ".join(str(item["line"]) for item in compilation.assumptions)
    return f"incomplete: this rests on assumptions about line {lines}, see the warnings"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
