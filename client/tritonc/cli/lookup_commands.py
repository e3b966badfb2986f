"""The commands that compile and launch nothing: on a source, a key, or the deployment."""

import argparse
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.kernel_flags import add_files, add_json, add_wait
from tritonc.cli.streams import STANDARD, name_of, read, write, write_json
from tritonc.cli.terminal import Terminal
from tritonc.diagnostic import Diagnostic, Problem, render_all

KEY_DIGITS = 64  # of a compilation's key; the ids of launches are shorter


def add_commands(commands: Any) -> None:
    """Add these commands to the parser's."""
    inspecting = commands.add_parser("inspect", help="show the kernels of a file")
    inspecting.add_argument("source", metavar="FILE", help="Python file, or - for standard input")
    add_files(inspecting)
    add_json(inspecting)
    add_wait(inspecting, default=60)
    inspecting.set_defaults(run=inspect)
    _add_kept(commands)
    documents = {
        "targets": "show targets and options, as JSON",
        "devices": "show the GPUs that kernels run on, as JSON",
        "system": "show the state of the deployment, as JSON",
    }
    for name, text in documents.items():
        commands.add_parser(name, help=text).set_defaults(run=show_deployment)


def _add_kept(commands: Any) -> None:
    """Add the commands on what is there, by key."""
    either = "the key of a compilation, or the id of a launch"
    got = _add_key(commands.add_parser("get", help="show a compilation or a launch"), either)
    add_wait(got, default=0)
    artifact = _add_key(commands.add_parser("artifact", help="write one stage's bytes to stdout"))
    artifact.add_argument("stage", metavar="STAGE", help="ttir, ttgir, llir, ptx, cubin, ...")
    export = _add_key(commands.add_parser("export", help="write the kernel as source to stdout"))
    formats = "c, cuda-inline, rust, python, triton-cache"
    export.add_argument("format", metavar="FORMAT", help=formats)
    made = {
        "sass": "write the disassembled machine code to stdout",
        "numpy": "write the kernel as a Python module on NumPy to stdout",
        "lines": "show what each line of the source became, as JSON",
        "passes": "show what each compiler pass did, as JSON",
    }
    for name, text in made.items():
        add_wait(_add_key(commands.add_parser(name, help=text)), default=60)
    for parser in (artifact, export):
        add_wait(parser, default=60)
    text = "withdraw interest in a compilation, or end a launch"
    _add_key(commands.add_parser("cancel", help=text), either)


def _add_key(
    parser: argparse.ArgumentParser, text: str = "the compilation's key: 64 hexadecimal digits"
) -> argparse.ArgumentParser:
    parser.add_argument("key", metavar="KEY", help=text)
    parser.set_defaults(run=run_on_key)
    return parser


def inspect(given: Namespace, client: Client, terminal: Terminal) -> bool:
    """Write what is known of the kernels; return whether the source could be read."""
    files = {name: read(path) for name, path in given.file}
    inspection = client.inspect(read(given.source), files=files, wait_s=given.wait_s)
    if given.json:
        write_json(inspection)
    else:
        for kernel in inspection.get("kernels") or ():
            terminal.text(_paragraph(kernel))
    problem = inspection.get("problem")
    if problem is None:
        return True
    diagnostics = [Diagnostic.from_json(d) for d in inspection.get("diagnostics") or ()]
    text = render_all(diagnostics, name_of(given.source)) or f"error: {Problem.from_json(problem)}"
    terminal.say(text)
    return False


def run_on_key(given: Namespace, client: Client, _: Terminal) -> bool:
    """Write what there is under the key of a compilation or the id of a launch, or cancel it."""
    is_launch = len(given.key) < KEY_DIGITS
    match given.command:
        case "get" if is_launch:
            write_json(client.launches.get(given.key, wait_s=given.wait_s).raw)
        case "get":
            write_json(client.get(given.key, wait_s=given.wait_s).raw)
        case "artifact":
            write(client.artifact(given.key, given.stage, wait_s=given.wait_s), STANDARD)
        case "sass" | "numpy" as made:
            write(getattr(client, made)(given.key, wait_s=given.wait_s), STANDARD)
        case "lines":
            write_json(client.lines(given.key, wait_s=given.wait_s))
        case "passes":
            write_json(client.passes(given.key, wait_s=given.wait_s))
        case "export":
            write(client.export(given.key, given.format, wait_s=given.wait_s), STANDARD)
        case "cancel" if is_launch:
            write_json(client.launches.cancel(given.key).raw)
        case "cancel":
            write_json(client.cancel(given.key).raw)
    return True


def show_deployment(given: Namespace, client: Client, _: Terminal) -> bool:
    """Write one of the documents on what the service can do, and how it is."""
    documents = {"targets": client.targets, "devices": client.devices, "system": client.system}
    write_json(documents[given.command]())
    return True


def _paragraph(kernel: Mapping[str, Any]) -> str:
    lines = [f"{kernel['name']}({', '.join(_parameter(p) for p in kernel['parameters'])})"]
    used = {name: kernel[name] for name in ("calls", "heuristics") if kernel.get(name)}
    lines += [f"  {name}: {', '.join(map(str, words))}" for name, words in used.items()]
    lines += [f"  config: {config}" for config in kernel.get("configs") or ()]
    return "\n".join(lines)


def _parameter(parameter: Mapping[str, Any]) -> str:
    text: str = parameter["name"]
    annotation = "constexpr" if parameter.get("constexpr") else parameter.get("annotation")
    if annotation:
        text += f": {annotation}"
    default = parameter.get("default")
    if isinstance(default, Mapping):
        text += f" = {default.get('expression', default.get('literal'))}"
    return text
