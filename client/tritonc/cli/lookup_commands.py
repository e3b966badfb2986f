"""The commands that compile and launch nothing: on a source, a key, or the deployment."""

import sys
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.streams import STANDARD, name_of, read, write, write_json
from tritonc.diagnostic import Diagnostic, Problem, printable, render_all

KEY_DIGITS = 64  # of a compilation's key; the ids of launches are shorter


def inspect(given: Namespace, client: Client) -> bool:
    """Write what is known of the kernels; return whether the source could be read."""
    files = {name: read(path) for name, path in given.file}
    inspection = client.inspect(read(given.source), files=files, wait_s=given.wait_s)
    if given.json:
        write_json(inspection)
    else:
        for kernel in inspection.get("kernels") or ():
            sys.stdout.write(printable(_paragraph(kernel)) + "\n")
    problem = inspection.get("problem")
    if problem is None:
        return True
    diagnostics = [Diagnostic.from_json(d) for d in inspection.get("diagnostics") or ()]
    text = render_all(diagnostics, name_of(given.source)) or f"error: {Problem.from_json(problem)}"
    sys.stderr.write(text + "\n")
    return False


def run_on_key(given: Namespace, client: Client) -> None:
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


def show_deployment(given: Namespace, client: Client) -> None:
    """Write one of the documents on what the service can do, and how it is."""
    documents = {"targets": client.targets, "devices": client.devices, "system": client.system}
    write_json(documents[given.command]())


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
