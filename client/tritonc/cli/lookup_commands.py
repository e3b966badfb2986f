"""Commands that neither compile nor launch: on a source, the deployment, or what a caller used."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Mapping
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.document_tables import show_tables
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import add_files, add_json, add_wait
from tritonc.cli.posted_file import read_source
from tritonc.cli.streams import write_json
from tritonc.cli.terminal import Terminal, table
from tritonc.diagnostic import Diagnostic, Problem, render_all
from tritonc.signature_sources import hinted_type, shown_value, template

_ALL = "*"
_COLUMNS = {
    "day": "day (UTC)",
    "caller": "caller",
    "requests": "requests",
    "received_bytes": "bytes received",
    "sent_bytes": "bytes sent",
    "cpu_seconds": "CPU seconds",
    "gpu_seconds": "GPU seconds",
}


def add_commands(commands: Any) -> None:
    """Add these commands to the parser's."""
    inspecting = commands.add_parser("inspect", help="show the kernels of a file")
    inspecting.add_argument("source", metavar="FILE", help="Python file, or - for standard input")
    text = "write the types and values as comments, to paste above the kernels"
    inspecting.add_argument("--template", action="store_true", help=text)
    add_files(inspecting)
    add_json(inspecting)
    add_wait(inspecting, default=60)
    inspecting.set_defaults(run=inspect)
    documents = {
        "targets": "show targets and options",
        "devices": "show the GPUs that kernels run on",
        "system": "show the state of the deployment",
    }
    for name, text in documents.items():
        parser = commands.add_parser(name, help=text)
        add_json(parser)
        parser.set_defaults(run=show_deployment)


def inspect(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Write the facts about the kernels; return whether the source could be parsed."""
    source = read_source(args.source, args)
    if source.language:
        message = f"{source.name} is {source.language.upper()}, and inspect reads Python: "
        raise ArgumentTypeError(f"{message}use compile or explain")
    if args.verbose:
        source.say_sent(terminal)
    with waiting(args, terminal, f"reading {source.name}", []):
        inspection = source.inspected(client, wait_s=args.wait_s)
    if args.json:
        write_json(inspection)
    else:
        kernels = inspection.get("kernels") or ()
        called = {name for kernel in kernels for name in kernel.get("calls") or ()}
        for kernel in kernels:
            if args.template and kernel["name"] in called:
                continue
            if args.template:
                terminal.text(f"{template(kernel)}\ndef {kernel['name']}(...)")
            else:
                terminal.text(_paragraph(kernel))
                if rows := [_row(p) for p in kernel["parameters"] if p.get("proposal")]:
                    terminal.draw(table(["parameter", "proposed", "line", "because"], rows))
    problem = inspection.get("problem")
    if problem is None:
        return True
    diagnostics = [Diagnostic.from_json(d) for d in inspection.get("diagnostics") or ()]
    text = render_all(diagnostics, source.name) or f"error: {Problem.from_json(problem)}"
    terminal.say(text)
    return False


def show_deployment(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Write one document about the deployment: its targets, devices or state."""
    documents = {"targets": client.targets, "devices": client.devices, "system": client.system}
    show_tables(args, documents[args.command](), terminal)
    return True


def _paragraph(kernel: Mapping[str, Any]) -> str:
    lines = [f"{kernel['name']}({', '.join(_parameter(p) for p in kernel['parameters'])})"]
    used = {name: kernel[name] for name in ("calls", "heuristics") if kernel.get(name)}
    lines += [f"  {name}: {', '.join(map(str, words))}" for name, words in used.items()]
    lines += [f"  config: {config}" for config in kernel.get("configs") or ()]
    return "\n".join(lines)


def _row(parameter: Mapping[str, Any]) -> list[str]:
    """Return the cells of a parameter's proposal."""
    proposal = parameter["proposal"]
    kind = hinted_type(proposal)
    values = ", ".join(shown_value(value) for value in proposal["values"][:8])
    proposed = values if proposal["type"] == "constexpr" else kind
    return [parameter["name"], proposed, str(proposal["line"]), proposal["reason"]]


def _parameter(parameter: Mapping[str, Any]) -> str:
    text: str = parameter["name"]
    annotation = "constexpr" if parameter.get("constexpr") else parameter.get("annotation")
    if annotation:
        text += f": {annotation}"
    default = parameter.get("default")
    if isinstance(default, Mapping):
        text += f" = {default.get('expression', default.get('literal'))}"
    return text


def add_command(commands: Any) -> None:
    """Add `usage` to the parser's commands."""
    parser = commands.add_parser("usage", help="show what you used on each of the last 35 days")
    text = "of another API key by its id, or * for all (only for admins)"
    parser.add_argument("--caller", metavar="ID", help=text)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Write the days as a table, newest first; return True."""
    usage = client.usage(args.caller)
    if args.json:
        write_json(usage)
        return True
    days = usage.get("days") or ()
    if not days:
        terminal.say("nothing was used in the last 35 days")
        return True
    members = [name for name in _COLUMNS if name != "caller" or args.caller == _ALL]
    rows = ([_cell(day, member) for member in members] for day in days)
    terminal.draw(table([_COLUMNS[member] for member in members], rows))
    return True


def _cell(day: Mapping[str, Any], member: str) -> str:
    amount = day.get(member)
    return f"{amount:,}" if isinstance(amount, int | float) else str(amount)
