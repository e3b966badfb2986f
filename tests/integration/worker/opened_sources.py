"""Prints the sources of tritond that a process loads or opens which compiles, or proves.

$ python -m tests.integration.worker.opened_sources compiling|proving ENTRY...
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def compile_a_kernel() -> None:
    """Compile as a zygote does before its first job."""
    import_module("compiler.front.tasks").warm_up()


def prove_a_kernel() -> None:
    """Prove a kernel, one of whose accesses is refuted and replayed, and re-check it."""
    import_module("launch.proof_tasks").warm_up()
    text = import_module("launch.cpu.small_kernel").TEXT
    wanted = {
        "target": import_module("compiler.target").Target("cuda", 90, 32),
        "checks": ["bounds", "overflow", "races"],
        "most_size": 2**30,
        "most_elements": 2**36,
    }
    kernel = {
        "contract": "x_ptr: n - 1\nz_ptr: n\ngrid: cdiv(n, 32)\n",
        "constants": {},
        "parameters": ["x_ptr", "z_ptr", "n"],
        "files": [],
    }
    order = import_module("launch.proof.proof_messages").ProveOrder(**wanted, **kernel)
    report = import_module("launch.proof.prove_kernel").prove_kernel(order, text, _send)
    verdicts = [access.answers["bounds"].verdict for access in report.accesses]
    assert verdicts == ["refuted", "proved"], report
    messages = import_module("launch.recheck.recheck_messages")
    again = messages.RecheckedKernel(ttir_bytes=len(text), **kernel)
    running = import_module("launch.recheck.recheck_by_running").recheck
    by_bits = import_module("launch.recheck.recheck_by_bits").recheck_bits
    for recheck, kind in ((running, messages.RecheckOrder), (by_bits, messages.BitsOrder)):
        found = recheck(kind(kernel=again, **wanted), text, _send)
        outcomes = [access.checks["bounds"].outcome for access in found.accesses]
        assert outcomes == ["violated", "agrees"], found


def _send(*_: object) -> None:
    """Drop a message."""


def main(what: str, entries: list[str]) -> None:
    """Print the paths below ROOT, as JSON."""
    opened: set[Path] = set()

    def note(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[0], str) and args[0].endswith(".py"):
            opened.add(Path(args[0]))

    import_module("worker")  # its digest opens what it covers
    sys.addaudithook(note)
    for name in entries:
        import_module(name)
    {"compiling": compile_a_kernel, "proving": prove_a_kernel}[what]()
    loaded = {Path(one.__file__) for one in sys.modules.values() if getattr(one, "__file__", None)}
    below = [path for path in opened | loaded if path.is_relative_to(ROOT)]
    sys.stdout.write(json.dumps([str(path.relative_to(ROOT)) for path in below]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
