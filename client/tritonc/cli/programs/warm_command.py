"""`tritonc warm`: bundles the compiled kernels of a program for Triton's cache.

The service records the program without data and without a GPU. It does not run here.
"""

import json
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.answer_tar import tar_files
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import add_json, add_wait
from tritonc.cli.programs.program_command import (
    add_program,
    members_of,
    names_of,
    reference_of,
    submit_and_wait,
)
from tritonc.cli.streams import STANDARD, check_writable, name_of, write, write_json
from tritonc.cli.terminal import Terminal
from tritonc.programs.program import ProgramFailed
from tritonc.service_errors import UnexpectedAnswer

EPILOG = """\
Unpack the bundle where the program will run, and run its install.py with that environment's
Python. Triton then finds every kernel in its cache, in all configurations of an autotuned
kernel. bundle.json lists the contents, and why something was left out.

Triton finds them where its version, wheel and minor version of Python, the kernels' text and
arguments, and the GPU's target are those of the bundle, and no environment variable that changes
compiling is set (TRITON_DEFAULT_FP_FUSION, MLIR_..., LLVM_...). install.py warns of differences in
the versions and variables, so run it with the job's variables.

get_inputs makes the inputs and get_init_inputs the arguments of a model. The reference defines
them, or the file of --inputs; without a reference the program itself. A script makes its own.

exit codes: 0 the bundle has every launched kernel; 1 something is left out, or the program
cannot be recorded; otherwise as for tritonc.

example:
  tritonc warm model_new.py --reference model.py --target cuda:90 -o model_new.tar
"""


def add_command(commands: Any) -> None:
    """Add `warm` to the parser's commands."""
    parser: ArgumentParser = commands.add_parser(
        "warm",
        help="compile every kernel that a program launches, for Triton's cache",
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=warm)
    add = parser.add_argument
    add("source", metavar="FILE", help="Python file with the program, or -")
    add("--target", metavar="TARGET", help="such as cuda:90; default: that of the service")
    add("-o", "--output", metavar="FILE", help="the bundle; default: FILE with .tar for .py")
    add_program(parser)
    add_json(parser)
    add_wait(parser, default=300)


def warm(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Write the bundle; return whether nothing was left out.

    Raises ProgramFailed if it cannot be recorded, WaitExpired, ProblemError, OSError.
    """
    output = args.output or _next_to(args.source)
    check_writable(output, f"--output {output}")
    members = members_of(args) | {"stop_after": "kernels", "target": args.target}
    program = submit_and_wait(args, client, terminal, members, reference_of(args))
    if program.state != "completed":
        raise ProgramFailed(program, *names_of(args))
    with waiting(args, terminal, "making the bundle", [program.id]):
        bundle = client.programs.bundle(program.id, wait_s=args.wait_s)
    write(bundle, output)
    manifest = _manifest(bundle)
    if args.json:
        write_json({"bundle": output, **manifest})
    else:
        say = terminal.say if output == STANDARD else terminal.text
        for line in summary_lines(manifest["entries"], name_of(args.source), output):
            say(line)
    for item in manifest["left_out"]:
        terminal.say(f"left out: {item['kernel']}: {item['why']}")
    return not manifest["left_out"]


def summary_lines(entries: Iterable[Mapping[str, Any]], source: str, output: str) -> Iterator[str]:
    """Yield a line for each kernel of a bundle and target, and the number of kernels."""
    made = Counter((each["kernel"], each["target"], each["triton"]) for each in entries)
    for (kernel, target, triton), count in made.items():
        times = f", {count} specializations" if count > 1 else ""
        yield f"{kernel} for {target}, Triton {triton}{times}"
    names = {kernel for kernel, _, _ in made}
    kernels = "1 kernel" if len(names) == 1 else f"{len(names)} kernels"
    yield f"{kernels} of {source} in {output}"


def _next_to(source: str) -> str:
    return STANDARD if source == STANDARD else str(Path(source).with_suffix(".tar"))


def _manifest(bundle: bytes) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(tar_files(bundle)["bundle.json"])
    except (KeyError, ValueError, RecursionError) as error:
        raise UnexpectedAnswer("the service sent a bundle without its bundle.json") from error
    return manifest
