"""`tritonc launch`: the report goes to standard output, kernel output to standard error."""

import json
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.argument_syntax import assignment
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import PAIRS, WORDS, add_json, add_kernel, add_wait, number
from tritonc.cli.launching.launch_members import (
    add_launch,
    checked_launch,
    launch_members,
    launch_source,
)
from tritonc.cli.launching.launch_report import accesses, values
from tritonc.cli.launching.request_file import read_request
from tritonc.cli.posted_file import read_source, with_constexprs
from tritonc.cli.recent_keys import remember
from tritonc.cli.refusal_words import WRONG_REQUEST, flag_line, in_flags, is_wrong_request
from tritonc.cli.streams import check_writable, name_of, write, write_json
from tritonc.cli.terminal import Terminal
from tritonc.diagnostic import POSTED_REFERENCE, POSTED_SOURCE
from tritonc.launch import Launch
from tritonc.service_errors import WaitExpired

LAUNCH = """\
arguments, with --argument NAME=VALUE:
  n=98432  scale=0.5  flag=true         a scalar
  'x=fp32[98432]:uniform'               a buffer: dtype, shape and contents
  'x=fp32[64,64]:normal(seed=2,std=3)'  zeros ones full(value) arange(start,step)
                                        uniform(low,high) normal(mean,std) randint(low,high)
  'z=fp32[98432]:output'                an output; zeros:output initialises it first
  x=@data.npy                           a .npy file; @data.npy:output is modified in place
  'x={"view": {"of": "y"}}'             JSON of the HTTP API
The quotes protect brackets, stars and parentheses from the shell.

example:
  tritonc launch vector_add.py --device cpu --constexpr BLOCK_SIZE=1024 \\
      --grid 'cdiv(n_elements, BLOCK_SIZE)' --argument 'x_ptr=fp32[100]:uniform' \\
      'y_ptr=fp32[100]:ones' 'output_ptr=fp32[100]:output' n_elements=100 --return output_ptr

A file given with --request (TOML or JSON) has the members of a launch request; flags add to it.
Its `reference` may be the path of a Python file. A reference that imports torch gets tensors, for
which the service needs torch (`make torch` in its checkout); any other gets NumPy arrays.
"""


def add_command(commands: Any) -> None:
    """Add `launch` to the parser's commands."""
    parser = commands.add_parser(
        "launch",
        help="run a kernel and check its results",
        epilog=LAUNCH,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("source", metavar="FILE", nargs="?", help="Python file with the kernel, IR, or -")
    add("--target", help="cuda:90, h100, ...; not needed on the CPU, or if --device names it")
    add_kernel(parser)
    add_launch(parser)
    returned = WORDS | {"type": _returned, "dest": "returns", "metavar": "OUTPUT[=HOW]"}
    add("--return", **returned, help="print its values; or HOW: summary, tensor, none")
    add("--save", **PAIRS | {"metavar": "OUTPUT=PATH"}, help="write an output to a .npy file")
    checks = "memcheck racecheck initcheck determinism fuzz, or none; default on the CPU: racecheck"
    add("--check", **WORDS, metavar="CHECK", help=checks)
    add("--fuzz-seed", type=int, metavar="SEED", help="repeat the fuzz cases of this seed")
    text = "CPU only: print the loads and stores of a program instance (default 0)"
    add("--trace", nargs="?", const="0", metavar="PROGRAM", help=text)
    text = "CPU only: write accesses and values of an instance, such as 0,0,0, to PATH as JSON"
    add("--step", type=assignment, metavar="PROGRAM=PATH", help=text)
    add("--time", action="store_true", help="measure the kernel's time; GPU only")
    text = "show which lines of the kernel take its time; GPU only"
    add("--hot-lines", action="store_true", help=text)
    add(
        "--timeout-s", type=number, metavar="S", help="limit of each run, reference and compilation"
    )
    add_json(parser)
    add_wait(parser, default=60)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool | int:
    """Launch and report; return whether the verdict is good, or WRONG_REQUEST.

    Raises WaitExpired, and ArgumentTypeError if the flags and the request file are incomplete.
    """
    for name, path in (*args.save, *([args.step] if args.step else [])):
        check_writable(path, f"{name}={path}")
    request = read_request(args.request)
    posted = None if args.source is None else read_source(args.source, args)
    if posted is not None and args.verbose:
        posted.say_sent(terminal)
    source = launch_source(args, request, posted)
    members = launch_members(args, request)
    source = with_constexprs(source, members, posted, client, terminal.say)

    def submit(members: dict[str, Any]) -> Launch:
        launch = _launched(args, client, terminal, source, members)
        while posted is not None and posted.supply(launch.problem):
            source.update(posted.members)
            launch = _launched(args, client, terminal, source, members)
        return launch

    launch, remarks = checked_launch(submit, source, members)
    terminal.say("\n".join(posted.package.notes if posted and posted.package else []))
    terminal.say(launch.stdout)
    for name, path in args.save:
        if name in launch.outputs:
            write(client.launches.output(launch.id, name), path)
    is_traced = (args.trace or args.step) and launch.verdict is not None
    trace = client.launches.trace(launch.id) if is_traced else None
    if trace is not None and args.step:
        write(json.dumps(trace, indent=1).encode() + b"\n", args.step[1])
    if args.json:
        write_json(launch.raw if trace is None else {**launch.raw, "trace": trace})
    else:
        reported = replace(launch, problem=in_flags(launch.problem, args))
        _report(args, reported, trace, terminal)
        terminal.say("\n".join([*remarks, *_traceable(args, launch)]))
    terminal.say(flag_line(launch.problem, args, is_reported=not (args.json or launch.cases)))
    return WRONG_REQUEST if is_wrong_request(launch.problem) else launch.good


def _launched(
    args: Namespace,
    client: Client,
    terminal: Terminal,
    source: Mapping[str, Any],
    members: dict[str, Any],
) -> Launch:
    """Submit, then wait. Raises Interrupted, WaitExpired."""
    going_on: list[str] = []
    with waiting(args, terminal, "submitting the launch", going_on) as say:
        submitted = client.launch(source, wait_s=0, check=False, **members)
        going_on.append(submitted.id)
        remember(args, [submitted.id], name_of(args.source or POSTED_SOURCE))
        if args.verbose:
            terminal.say(f"submitted {submitted.id}")
        say(f"launch {submitted.id}: {submitted.state}")
        launch = submitted
        if not launch.finished and args.wait_s > 0:
            launch = client.launches.get(submitted.id, wait_s=args.wait_s)
    if not launch.finished:
        raise WaitExpired(launch.id, f"it is {launch.state}", args.wait_s)
    return replace(launch, sources=submitted.sources)


def _report(
    args: Namespace, launch: Launch, trace: Mapping[str, Any] | None, terminal: Terminal
) -> None:
    name = name_of(args.source or POSTED_SOURCE)
    if trace is not None and args.trace:
        terminal.draw(accesses(trace, name))
    wanted = [output for output, how in args.returns if how == "values"]
    terminal.text(values(launch, wanted))
    terminal.text(launch.render(name, args.reference or POSTED_REFERENCE))


def _traceable(args: Namespace, launch: Launch) -> Iterator[str]:
    """Yield how to see which line stored a wrong element, if a trace would show it."""
    if args.trace or launch.cases or not (launch.device or {}).get("interpreter"):
        return
    for name, output in launch.outputs.items():
        comparison = output.comparison or {}
        first = comparison.get("first_mismatch")
        if first and comparison.get("mismatched") != comparison.get("unwritten"):
            yield (
                f"--trace PROGRAM lists the lines that store to {name}{first['index']}: "
                "name the program that computes it, such as 2 or 0,1"
            )
            return


def _returned(word: str) -> tuple[str, str]:
    name, _, how = word.partition("=")
    return name, how or "values"
