"""The flags of every command, and what `--help` says of them. Nothing is done here."""

import argparse
from typing import Any

from tritonc.cli.argument_syntax import assignment

EPILOG = """\
exit codes:
  0  done; of a launch: the verdict is passed, or not_checked without a reference
  1  the kernel did not compile, did not run, or its verdict is not good
  2  the request is wrong: unknown option, type, target, file, key, or not permitted
  3  the service cannot be reached, or cannot serve now
  4  not finished within --wait-s; `tritonc get KEY` asks again

environment:
  TRITOND_URL      where the service is (default http://127.0.0.1:8000)
  TRITOND_API_KEY  the key to send; not a flag, because command lines are visible to others
"""
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


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of `tritonc`; the chosen command is in `command`."""
    root = argparse.ArgumentParser(
        prog="tritonc",
        description="Compile and run Triton GPU kernels on a tritond service.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--url", "--server", help="where the service is; overrides TRITOND_URL")
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    _add_compile(commands.add_parser("compile", help="compile a kernel"))
    raw = argparse.RawDescriptionHelpFormatter
    launch = commands.add_parser(
        "launch",
        help="run a kernel and say whether it is right",
        epilog=LAUNCH,
        formatter_class=raw,
    )
    _add_launch(launch)
    inspect = commands.add_parser("inspect", help="show the kernels of a file")
    inspect.add_argument("source", metavar="FILE", help="Python file, or - for standard input")
    _add_files(inspect)
    _add_json(inspect)
    _add_wait(inspect, default=60)
    _add_kept(commands)
    commands.add_parser("targets", help="show targets and options, as JSON")
    commands.add_parser("devices", help="show the GPUs that kernels run on, as JSON")
    commands.add_parser("system", help="show the state of the deployment, as JSON")
    return root


def _add_compile(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="FILE", help="Python file with the kernel, or - for standard input")
    add("--target", required=True, help="cuda:90, ...; `tritonc targets` lists them")
    _add_kernel(parser)
    emit: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    add("--emit", **emit, metavar="STAGE[=PATH]", help="write a stage to PATH, - is stdout")
    add("--stop-after", metavar="STAGE", help="default: the target's last stage")
    add("--priority", choices=["interactive", "batch"])
    add("--timeout-s", type=float, metavar="S", help="bound of the compile itself")
    add("--refresh", action="store_true", help="compile again, and replace what was cached")
    _add_json(parser)
    _add_wait(parser, default=60)


def _add_launch(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    words: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    pairs = words | {"type": assignment, "metavar": "NAME=VALUE"}
    add("source", metavar="FILE", nargs="?", help="Python file with the kernel, or -")
    add("--request", metavar="PATH", help="a launch request as TOML or JSON; see below")
    add("--target", help="cuda:90, ...; not needed on the CPU, nor where --device says it")
    add("--device", help="auto (default), interpreter (a CPU), or a target of `tritonc devices`")
    text = "on a CPU: run in Triton's interpreter what does not compile, which is a finding then"
    add("--interpret", action="store_true", help=text)
    _add_kernel(parser)
    add("--argument", "--arg", **pairs, help="what is passed; see below")
    add("--grid", nargs="+", metavar="N", help='97, or "cdiv(n_elements, BLOCK_SIZE)"')
    add("--reference", metavar="PATH", help="Python file that defines reference(**arguments)")
    add("--rtol", type=float, help="tolerance of the comparison, relative")
    add("--atol", type=float, help="and absolute; defaults depend on the dtype")
    add("--return", **pairs, dest="returns", help="OUTPUT=values, summary, tensor or none")
    add("--save", **pairs, help="OUTPUT=PATH: write an output to a .npy file")
    checks = "memcheck racecheck initcheck determinism differential fuzz"
    add("--check", **words, metavar="CHECK", help=checks)
    add("--fuzz-seed", type=int, metavar="SEED", help="fuzz with the cases of this seed again")
    text = "on a CPU: write accesses and values of a program, such as 0,0,0, to PATH as JSON"
    add("--step", type=assignment, metavar="PROGRAM=PATH", help=text)
    add("--time", action="store_true", help="measure how long the kernel takes; on a GPU only")
    text = "show which lines of the kernel take its time; on a GPU only"
    add("--hot-lines", action="store_true", help=text)
    add("--timeout-s", type=float, metavar="S", help="bound of the execution itself")
    _add_json(parser)
    _add_wait(parser, default=60)


def _add_kept(commands: Any) -> None:
    """Add the commands on what is there, by key."""
    either = "the key of a compilation, or the id of a launch"
    got = _add_key(commands.add_parser("get", help="show a compilation or a launch"), either)
    _add_wait(got, default=0)
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
        _add_wait(_add_key(commands.add_parser(name, help=text)), default=60)
    for parser in (artifact, export):
        _add_wait(parser, default=60)
    text = "withdraw interest in a compilation, or end a launch"
    _add_key(commands.add_parser("cancel", help=text), either)


def _add_kernel(parser: argparse.ArgumentParser) -> None:
    """Add what says how a kernel is compiled."""
    add = parser.add_argument
    words: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    pairs = words | {"type": assignment, "metavar": "NAME=VALUE"}
    add("--kernel", metavar="NAME", help="needed when the file has several")
    types = 'name=*fp32:16 ..., or all by position: "*fp32:16,*fp32,i32"'
    add("--signature", **words, metavar="TYPE", help=types)
    add("--constexpr", **pairs, help="compile-time values")
    add("--hint", **pairs, help="x_ptr=divisible_by_16, ...; several with commas")
    add("--option", **pairs, help="num_warps=4, num_stages=3, ...")
    add("--triton", metavar="VERSION", help="a Triton version that the service offers")
    _add_files(parser)


def _add_files(parser: argparse.ArgumentParser) -> None:
    text = "further modules that FILE imports: helpers.py=path/helpers.py"
    pairs: dict[str, Any] = {"nargs": "+", "action": "extend", "default": [], "type": assignment}
    parser.add_argument("--file", **pairs, metavar="NAME=PATH", help=text)


def _add_json(parser: argparse.ArgumentParser) -> None:
    text = "write the whole answer to stdout, as JSON"
    parser.add_argument("--json", action="store_true", help=text)


def _add_key(
    parser: argparse.ArgumentParser, text: str = "the compilation's key: 64 hexadecimal digits"
) -> argparse.ArgumentParser:
    parser.add_argument("key", metavar="KEY", help=text)
    return parser


def _add_wait(parser: argparse.ArgumentParser, default: float) -> None:
    text = f"how long to wait for it to finish (default {default:g})"
    parser.add_argument("--wait-s", type=float, default=default, metavar="S", help=text)
