"""`tritonc watch`: compiles a file whenever it is saved, and reports the changes."""

import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.compiling.compile_command import (
    WantedCompilation,
    compile_all,
    report,
    wanted_compilations,
)
from tritonc.cli.compiling.compile_report import is_number
from tritonc.cli.kernel_flags import add_json, add_kernel, add_like, add_targets, add_wait
from tritonc.cli.refusal_words import refused
from tritonc.cli.streams import write_json
from tritonc.cli.terminal import Terminal
from tritonc.compilation import Compilation
from tritonc.service_errors import ProblemError, ServerUnavailable, WaitExpired
from tritonc.signature_sources import InvalidSignatureSource

LOOK_EVERY_S = 0.25
Resources = dict[str, dict[str, Any]]  # by target


def add_command(commands: Any) -> None:
    """Add `watch` to the parser's commands."""
    text = "compile a file whenever it or a module that it imports is saved; Ctrl-C stops"
    parser = commands.add_parser("watch", help=text)
    parser.add_argument("source", metavar="FILE", help="Python file with the kernel, or IR")
    add_targets(parser)
    add_kernel(parser)
    add_like(parser)
    add_json(parser)
    add_wait(parser, default=60)
    unused = {"priority": None, "timeout_s": None, "refresh": False, "stop_after": None}
    parser.set_defaults(run=run, **unused)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Compile now and after each change, until Ctrl-C; then return True.

    Raises OSError if the file cannot be read at first, and Interrupted during a compilation.
    """
    args.sources = [args.source]
    before: Resources = {}
    Path(args.source).read_bytes()
    args.asked = {}
    watched = [Path(args.source), *(Path(path) for _, path in args.file)]
    files = ", ".join(map(str, watched))
    terminal.say(f"watching {files} and the modules that it needs; press Ctrl-C to stop")
    try:
        while True:
            saved = _saved(watched)
            before, modules = _compile(args, client, terminal, before)
            added = [path for path in modules if path not in watched]
            watched += added
            _wait_for_save(watched, saved | _saved(added))
    except KeyboardInterrupt:
        terminal.say("tritonc: stopped watching")
        return True


def _compile(
    args: Namespace, client: Client, terminal: Terminal, before: Resources
) -> tuple[Resources, list[Path]]:
    """Compile for every target and report changes.

    Return the current resources, and the paths of the modules that were sent along.
    """
    try:
        wanted = wanted_compilations(args, client, [], terminal.say)
        made = compile_all(wanted, args, client, terminal)
    except ProblemError as error:  # the next save, or the service's recovery, may fix it
        terminal.say(f"tritonc: {refused(error, args)}")
        return before, []
    except (ServerUnavailable, WaitExpired, InvalidSignatureSource, OSError) as error:
        terminal.say(f"tritonc: {error}")
        return before, []
    if (package := wanted[0].source.package) is not None:
        args.asked = {args.source: package.asked}  # the next time they are sent at once
    now = dict(before)
    failed: dict[str, list[str]] = {}
    for item, compilation in zip(wanted, made, strict=True):
        known = before.get(item.target, {})
        if args.json:
            write_json(_document(item, compilation, known), indent=None)
        elif not compilation.succeeded:
            failed.setdefault(report(item, compilation, args, client), []).append(item.target)
        else:
            terminal.text(_line(item, compilation, known))
        if compilation.succeeded:
            now[item.target] = _numbers(compilation)
    for text, names in failed.items():  # most errors are the same for every target
        terminal.text(text if len(wanted) == 1 else f"for {', '.join(names)}:\n{text}")
    return now, [*wanted[0].source.paths.values()]


def _line(item: WantedCompilation, compilation: Compilation, known: Mapping[str, Any]) -> str:
    numbers = _numbers(compilation)
    changed = [
        f"{name} {known[name]} → {number}"
        for name, number in numbers.items()
        if name in known and known[name] != number
    ]
    shown = [f"{name} {number}" for name, number in numbers.items() if number]
    what = ", ".join(changed if known else shown) or "no change in resources"
    at = time.strftime("%H:%M:%S")
    return f"{at} {compilation.kernel or item.source.name} for {item.target}: {what}"


def _document(
    item: WantedCompilation, compilation: Compilation, known: Mapping[str, Any]
) -> dict[str, Any]:
    numbers = _numbers(compilation)
    changed = {
        name: {"before": known.get(name), "now": number}
        for name, number in numbers.items()
        if known and known.get(name) != number
    }
    return {"file": item.source.name, "changed": changed, **compilation.raw}


def _numbers(compilation: Compilation) -> dict[str, Any]:
    return {n: number for n, number in compilation.resources.items() if is_number(number)}


def _wait_for_save(watched: Sequence[Path], saved: Mapping[Path, Any]) -> None:
    """Return once a file has changed; wait for a missing file, since editors replace files."""
    while (now := _saved(watched)) == saved or watched[0] not in now:
        time.sleep(LOOK_EVERY_S)


def _saved(watched: Sequence[Path]) -> dict[Path, Any]:
    """Return the modification time of each existing file."""
    states: dict[Path, Any] = {}
    for path in watched:
        try:
            status = path.stat()
        except OSError:
            continue
        states[path] = (status.st_ino, status.st_mtime_ns, status.st_size)
    return states
