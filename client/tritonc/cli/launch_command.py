"""`tritonc launch`: the report to standard output, what the kernel printed to standard error."""

import json
import sys
from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.argument_syntax import assignment, launch_argument
from tritonc.cli.kernel_flags import PAIRS, WORDS, add_json, add_kernel, add_wait, kernel_members
from tritonc.cli.request_file import read_request
from tritonc.cli.streams import name_of, read, write, write_json
from tritonc.cli.terminal import Terminal
from tritonc.diagnostic import POSTED_SOURCE, printable
from tritonc.launch_body import KernelMembers
from tritonc.service_errors import WaitExpired

LAUNCH = """\
arguments, with --argument NAME=VALUE:
  n=98432  scale=0.5  flag=true        a scalar
  x=fp32[98432]:uniform                a buffer: dtype, shape, and how it is filled
  x=fp32[64,64]:normal(seed=2,std=3)   zeros ones full(value) arange(start,step)
                                       uniform(low,high) normal(mean,std) randint(low,high)
  z=fp32[98432]:output                 an output; zeros:output is filled first, worked on in place
  x=@data.npy                          a .npy file; @data.npy:output is worked on in place
  x={"view": {"of": "y"}}              as the HTTP API writes it
Quote what a shell would read in its own way, such as 'x=fp32[98432]:uniform'.

A file given with --request (TOML or JSON) has the members of a launch request; flags add to it.
"""


def add_command(commands: Any) -> None:
    """Add `launch` to the parser's commands."""
    parser = commands.add_parser(
        "launch",
        help="run a kernel and say whether it is right",
        epilog=LAUNCH,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("source", metavar="FILE", nargs="?", help="Python file with the kernel, or -")
    add("--request", metavar="PATH", help="a launch request as TOML or JSON; see below")
    add("--target", help="cuda:90, ...; not needed on the CPU, nor where --device says it")
    add("--device", help="auto (default), interpreter (a CPU), or a target of `tritonc devices`")
    text = "on a CPU: run in Triton's interpreter what does not compile, which is a finding then"
    add("--interpret", action="store_true", help=text)
    add_kernel(parser)
    add("--argument", "--arg", **PAIRS, help="what is passed; see below")
    add("--grid", nargs="+", metavar="N", help='97, or "cdiv(n_elements, BLOCK_SIZE)"')
    add("--reference", metavar="PATH", help="Python file that defines reference(**arguments)")
    add("--rtol", type=float, help="tolerance of the comparison, relative")
    add("--atol", type=float, help="and absolute; defaults depend on the dtype")
    add("--return", **PAIRS, dest="returns", help="OUTPUT=values, summary, tensor or none")
    add("--save", **PAIRS, help="OUTPUT=PATH: write an output to a .npy file")
    checks = "memcheck racecheck initcheck determinism differential fuzz"
    add("--check", **WORDS, metavar="CHECK", help=checks)
    add("--fuzz-seed", type=int, metavar="SEED", help="fuzz with the cases of this seed again")
    text = "on a CPU: write accesses and values of a program, such as 0,0,0, to PATH as JSON"
    add("--step", type=assignment, metavar="PROGRAM=PATH", help=text)
    add("--time", action="store_true", help="measure how long the kernel takes; on a GPU only")
    text = "show which lines of the kernel take its time; on a GPU only"
    add("--hot-lines", action="store_true", help=text)
    add("--timeout-s", type=float, metavar="S", help="bound of the execution itself")
    add_json(parser)
    add_wait(parser, default=60)


def run(given: Namespace, client: Client, terminal: Terminal) -> bool:
    """Launch and report; return whether the verdict is good.

    Raises ArgumentTypeError for what the flags or the request file do not say, WaitExpired.
    """
    request = read_request(given.request)
    source, saved = launch_source(given, request), dict(given.save)
    launch = client.launch(
        source, wait_s=given.wait_s, check=False, **launch_members(given, request)
    )
    if not launch.finished:
        raise WaitExpired(launch.id, f"it is {launch.state}", given.wait_s)
    sys.stderr.write(printable(launch.stdout))
    for name, path in saved.items():
        if name in launch.outputs:
            write(client.launches.output(launch.id, name), path)
    if given.step and launch.verdict is not None:
        trace = client.launches.trace(launch.id)
        write(json.dumps(trace, indent=1).encode() + b"\n", given.step[1])
    if given.json:
        write_json(launch.raw)
    else:
        name = name_of(given.source or POSTED_SOURCE)
        terminal.text(launch.render(name))
    return launch.good


def launch_source(given: Namespace, request: dict[str, Any]) -> dict[str, Any]:
    """Take what is compiled out of `request` and return it, with what the flags add."""
    key, compilation = request.pop("compilation_key", None), request.pop("compilation", {})
    beside = KernelMembers.__annotations__.keys() & request.keys()
    compilation |= {name: request.pop(name) for name in beside}
    if key is not None:
        if given_twice := ", ".join(_merged(compilation, kernel_members(given))):
            message = f"{given_twice}: a compilation_key names a kernel that is compiled already"
            raise ArgumentTypeError(message)
        return {"compilation_key": key}
    if given.source is not None:
        compilation = compilation | {"source": read(given.source)}
    if not compilation.keys() & {"source", "ir"}:
        raise ArgumentTypeError("which kernel? give a FILE, or --request with a `compilation`")
    return _merged(compilation, kernel_members(given))


def launch_members(given: Namespace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the other members of the launch: those of the request file, and what flags add."""
    flags = {
        "arguments": {name: launch_argument(text) for name, text in given.argument},
        "grid": [int(word) if word.isdecimal() else word for word in given.grid or ()],
        "device": _device(given.device),
        "reference": _reference(given),
        "returns": dict(given.returns) | dict.fromkeys(dict(given.save), "tensor"),
        "checks": _checks(given, request),
        "fuzz": None if given.fuzz_seed is None else {"seed": given.fuzz_seed},
        "fallback": "interpret" if given.interpret else None,
        "trace": _trace(given.step),
        "timing": {} if given.time else None,
        "profile": "lines" if given.hot_lines else None,
        "timeout_s": given.timeout_s,
    }
    given_members = {name: member for name, member in flags.items() if member or name == "timing"}
    request["returns"] = request.pop("return", {})
    merged = _merged({"arguments": {}, "cases": []} | request, given_members)
    if "grid" not in merged:
        raise ArgumentTypeError("how many programs? give --grid, such as --grid 97")
    return {name: member for name, member in merged.items() if member is not None}


def _checks(given: Namespace, request: Mapping[str, Any]) -> list[str]:
    """Return the checks that are asked for; whoever gives a seed to fuzz with wants that one."""
    checks = list(given.check or ())
    if given.fuzz_seed is None or "fuzz" in checks:
        return checks
    return [*(checks or request.get("checks") or ()), "fuzz"]


def _merged(members: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Return `members` with what is `added`; objects within are merged, too."""
    merged = dict(members)
    for name, member in added.items():
        known = merged.get(name)
        both = isinstance(known, Mapping) and isinstance(member, Mapping)
        merged[name] = {**known, **member} if both and known else member
    return merged


def _reference(given: Namespace) -> dict[str, Any]:
    source = {"source": read(given.reference)} if given.reference else {}
    bounds = {"rtol": given.rtol, "atol": given.atol}
    return source | {name: bound for name, bound in bounds.items() if bound is not None}


def _trace(step: tuple[str, str] | None) -> dict[str, Any] | None:
    """Return what traces the program that a step names, with its values.

    Raises ArgumentTypeError for what is no program.
    """
    if step is None:
        return None
    program = step[0].split(",")
    if not all(axis.isdecimal() for axis in program):
        raise ArgumentTypeError(f"--step {step[0]}: a program is written as 0, or as 0,0,0")
    return {"programs": [[int(axis) for axis in program]], "values": True}


def _device(word: str | None) -> Any:
    return {"target": word} if word is not None and ":" in word else word
