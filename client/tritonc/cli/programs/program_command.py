"""`tritonc program run` and `tritonc program tape` (or `tape`): write results to stdout."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import WORDS, add_files, add_json, add_wait, count, number
from tritonc.cli.posted_file import PostedFile, read_program
from tritonc.cli.recent_keys import remember, whole_key
from tritonc.cli.refusal_words import WRONG_REQUEST, flag_line, in_flags, is_wrong_request
from tritonc.cli.streams import STANDARD, name_of, write_json
from tritonc.cli.terminal import Terminal
from tritonc.programs.program import Program, ProgramFailed
from tritonc.service_errors import WaitExpired

EPILOG = """\
entry points, with --entry and --reference-entry:
  model:ModelNew      a class with `forward` (the default; for a reference: model:Model)
  function:add        a function (default: custom_kernel; for a reference: ref_kernel)
  script              the file itself; script:y,z names the variables with its results
`get_inputs` makes the inputs, `get_init_inputs` the constructor's arguments. The reference defines
them, or the file of --inputs; without a reference FILE itself.

exit codes: 0 the verdict is passed, or not_checked without a reference; 1 it is another one, or the
program cannot be recorded; otherwise as for tritonc.

examples:
  tritonc program run model_new.py --reference model.py
  tritonc program run model_new.py --reference model.py --device gpu
  tritonc program tape model_new.py --reference model.py
"""
_KINDS = "model:CLASS, function:NAME, script[:NAMES]"
DEVICES = "auto (default), gpu, cpu, or a target of `tritonc devices`"
REFERENCE_INPUTS = "Python file with the reference, which defines the inputs"


def add_command(commands: Any) -> None:
    """Add `program`, and `tape` as a shortcut, to the parser's commands."""
    parser = commands.add_parser(
        "program",
        help="run code that launches kernels, compared with a reference, or show its recording",
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", metavar="run|tape", required=True)
    named: dict[str, Any] = {"epilog": EPILOG, "formatter_class": RawDescriptionHelpFormatter}
    _add_run(actions.add_parser("run", help="run a program and check its results", **named))
    for among in (actions, commands):
        text = "show the recording of a program"
        _add_tape(among.add_parser("tape", help=text, **named))


def _add_run(parser: ArgumentParser) -> None:
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("source", metavar="FILE", help="Python file with the program, or -")
    add_program(parser, "Python file with the program that gives the correct results")
    add("--rtol", type=number, metavar="R", help="relative tolerance; default: per dtype")
    add("--atol", type=number, metavar="A", help="absolute tolerance; default: per dtype")
    add("--trials", type=count, metavar="N", help="compare N times on other values (default 1)")
    add("--device", metavar="DEVICE", help=DEVICES)
    add("--check", **WORDS, metavar="CHECK", help="determinism; on a CPU also initcheck, racecheck")
    add("--timeout-s", type=number, metavar="S", help="time limit of each run")
    add_json(parser)
    add_wait(parser, default=120)


def _add_tape(parser: ArgumentParser) -> None:
    parser.set_defaults(run=show_tape)
    add = parser.add_argument
    add("source", metavar="FILE|ID", help="Python file with the program, -, or a program's id")
    add("--of-reference", action="store_true", help="show the tape of its reference")
    add_program(parser)
    add_json(parser)
    add_wait(parser, default=60)


def add_program(parser: ArgumentParser, reference: str = REFERENCE_INPUTS) -> None:
    """Add the flags for entry points and inputs; `reference` is the help of --reference."""
    add = parser.add_argument
    add("--reference", metavar="FILE", help=reference)
    add("--reference-entry", type=entry, metavar="KIND[:NAME]", help="its entry point")
    add("--entry", type=entry, metavar="KIND[:NAME]", help=f"the entry point: {_KINDS}")
    text = "Python file that defines get_inputs, or the name of such a function"
    add("--inputs", metavar="FILE[:FUNCTION]", help=text)
    add(
        "--seed",
        type=count,
        metavar="N",
        help="seed of torch's generators (default: drawn by the service)",
    )
    add("--triton", metavar="VERSION", help="a Triton version that the service offers")
    add_files(parser)


def entry(word: str) -> dict[str, Any]:
    """Parse an entry point. Raises ArgumentTypeError if its kind is unknown."""
    kind, _, name = word.partition(":")
    match kind:
        case "model":
            return {"kind": kind} | ({"class": name} if name else {})
        case "function":
            return {"kind": kind} | ({"name": name} if name else {})
        case "script":
            return {"kind": kind} | ({"outputs": name.split(",")} if name else {})
    raise ArgumentTypeError(f"{word!r} is not one of {_KINDS}")


def run(args: Namespace, client: Client, terminal: Terminal) -> bool | int:
    """Run and report; return whether the verdict is good, or WRONG_REQUEST.

    Raises ArgumentTypeError if the GPU is missing, WaitExpired, ProblemError, OSError.
    """
    members = run_members(args, client)
    reference = reference_of(args)
    program = submit_and_wait(args, client, terminal, members, reference)
    if args.json:
        write_json(program.raw)
    else:
        reported = replace(program, problem=in_flags(program.problem, args))
        terminal.text(reported.render(*names_of(args)))
    terminal.say(flag_line(program.problem, args, is_reported=not args.json))
    return WRONG_REQUEST if is_wrong_request(program.problem) else program.good


def run_members(args: Namespace, client: Client) -> dict[str, Any]:
    """Return the request members of all flags of `program run`. Raises ArgumentTypeError."""
    members = members_of(args)
    tolerance = {name: getattr(args, name) for name in ("rtol", "atol")}
    return members | {
        "tolerance": {n: bound for n, bound in tolerance.items() if bound is not None} or None,
        "checks": args.check or None,
        "device": _device(args.device, client),
        "trials": args.trials,
        "timeout_s": args.timeout_s,
    }


def _device(word: str | None, client: Client) -> Any:
    """Return the device that a word names. Raises ArgumentTypeError if there is no such GPU."""
    match word:
        case "cpu":
            return "cpu"
        case "gpu":
            for device in client.devices()["devices"]:
                if device.get("programs"):
                    return {name: device[name] for name in ("target", "model")}
            raise ArgumentTypeError("--device gpu: no GPU of this service runs programs now")
        case _:
            return word


def show_tape(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Write the tape of a program, recording a file first; return True.

    Raises ProgramFailed if it cannot be recorded, WaitExpired, ProblemError, OSError.
    """
    if args.source == STANDARD or Path(args.source).is_file():
        members = members_of(args) | {"stop_after": "tape"}
        program = submit_and_wait(args, client, terminal, members, reference_of(args))
        if is_wrong_request(program.problem):
            raise ArgumentTypeError(flag_line(program.problem, args).removeprefix("tritonc: "))
        if program.state != "completed":
            raise ProgramFailed(program, *names_of(args))
        program_id = program.id
    elif Path(args.source).suffix == ".py":
        raise ArgumentTypeError(f"{args.source}: no such file")
    else:
        program_id = whole_key(args.source, args.recent, client)
    if args.json:
        write_json(client.programs.tape(program_id, of_reference=args.of_reference))
    else:
        terminal.text(client.programs.tape_text(program_id, of_reference=args.of_reference))
    return True


def names_of(args: Namespace) -> tuple[str, str]:
    """Return the files of the source and the reference, for reports."""
    return name_of(args.source), name_of(args.reference or "reference")


def members_of(args: Namespace) -> dict[str, Any]:
    """Return the request members of the flags that `add_program` adds."""
    return {
        "entry": args.entry,
        "inputs": _inputs(args.inputs, args),
        "seed": args.seed,
        "triton": args.triton,
    }


def _inputs(word: str | None, args: Namespace) -> dict[str, Any] | None:
    if word is None:
        return None
    path, colon, function = word.rpartition(":")
    path, function = (path, function) if colon and function.isidentifier() else (word, "")
    return {"source": _alone(path, args).text} | ({"function": function} if function else {})


def reference_of(args: Namespace) -> Mapping[str, Any] | None:
    """Return the JSON of the reference. Raises ArgumentTypeError, OSError."""
    if args.reference is None:
        if args.reference_entry:
            raise ArgumentTypeError("--reference-entry: needs a --reference")
        return None
    members = _alone(args.reference, args).members
    return members | ({"entry": args.reference_entry} if args.reference_entry else {})


def _alone(path: str, args: Namespace) -> PostedFile:
    """Return a file without the modules of --file, which belong to the program."""
    alone = Namespace(file=[], no_local_imports=args.no_local_imports)
    return read_program(path, alone)


def submit_and_wait(
    args: Namespace,
    client: Client,
    terminal: Terminal,
    members: dict[str, Any],
    reference: Mapping[str, Any] | None,
    text: str | None = None,
) -> Program:
    """Submit, then wait; `text` is the program if known. Raises Interrupted, WaitExpired."""
    posted = read_program(args.source, args, text)
    if args.verbose:
        posted.say_sent(terminal)
    going_on: list[str] = []
    with waiting(args, terminal, "submitting the program", going_on) as say:
        submitted = client.program(
            posted.members, reference=reference, wait_s=0, check=False, **members
        )
        going_on.append(submitted.id)
        remember(args, [submitted.id], posted.name)
        if args.verbose:
            terminal.say(f"submitted {submitted.id}")
        say(f"program {submitted.id}: {submitted.state}")
        program = submitted
        if not program.finished and args.wait_s > 0:
            program = client.programs.get(submitted.id, wait_s=args.wait_s)
    if not program.finished:
        raise WaitExpired(program.id, f"it is {program.state}", args.wait_s)
    return replace(program, sources=submitted.sources)
