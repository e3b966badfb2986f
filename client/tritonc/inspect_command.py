"""`tritonc inspect`: the kernels of a file, one paragraph each."""

import sys
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from tritonc._sync.client import Client
from tritonc.diagnostic import Diagnostic, Problem, printable, render_all
from tritonc.streams import name_of, read, write_json


def run(given: Namespace, client: Client) -> bool:
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
    said = render_all(diagnostics, name_of(given.source)) or f"error: {Problem.from_json(problem)}"
    sys.stderr.write(said + "\n")
    return False


def _paragraph(kernel: Mapping[str, Any]) -> str:
    lines = [f"{kernel['name']}({', '.join(_parameter(p) for p in kernel['parameters'])})"]
    used = {name: kernel[name] for name in ("calls", "heuristics") if kernel.get(name)}
    lines += [f"  {name}: {', '.join(map(str, words))}" for name, words in used.items()]
    lines += [f"  config: {config}" for config in kernel.get("configs") or ()]
    return "\n".join(lines)


def _parameter(parameter: Mapping[str, Any]) -> str:
    said: str = parameter["name"]
    annotation = "constexpr" if parameter.get("constexpr") else parameter.get("annotation")
    if annotation:
        said += f": {annotation}"
    default = parameter.get("default")
    if isinstance(default, Mapping):
        said += f" = {default.get('expression', default.get('literal'))}"
    return said
