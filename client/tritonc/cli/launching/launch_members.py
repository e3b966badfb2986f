"""Builds a launch from flags and a request file: the compilation and the other members.

`checked_launch` chooses its checks where none is named.
"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tritonc.cli.argument_syntax import launch_argument
from tritonc.cli.kernel_flags import PAIRS, kernel_members, number
from tritonc.cli.posted_file import PostedFile
from tritonc.cli.streams import read_python
from tritonc.launch import Launch
from tritonc.launch_body import KernelMembers
from tritonc.launch_run import GOOD
from tritonc.target_names import target_name

RACES = "racecheck"
_NO_CHECK = "none"
_CUT_SHORT = ("timeout", "out_of_memory")
"""Verdicts that a launch may have only because of its checks."""


def add_launch(parser: ArgumentParser) -> None:
    """Add the flags for arguments, the device, and the reference."""
    add = parser.add_argument
    add("--request", metavar="PATH", help="a request as TOML or JSON; flags add to it")
    add("--device", help="auto (default), cpu, gpu, or a target of `tritonc devices`")
    add("--argument", "--arg", **PAIRS, help="an argument of the kernel; see below")
    add("--grid", nargs="+", metavar="N", help="97, or 'cdiv(n_elements, BLOCK_SIZE)'")
    add("--reference", metavar="PATH", help="Python file that defines reference(**arguments)")
    add("--rtol", type=number, help="relative tolerance of the comparison; default: by dtype")
    add("--atol", type=number, help="absolute tolerance of the comparison; default: by dtype")


def unused_of_launches() -> dict[str, Any]:
    """Return defaults of the other launch flags, for a command that lacks them."""
    nothing = ("fuzz_seed", "trace", "step", "timeout_s", "check")
    never = ("interpret", "time", "hot_lines")
    return {
        **dict.fromkeys(nothing),
        **dict.fromkeys(never, False),
        "returns": [],
        "save": [],
    }


def launch_source(
    args: Namespace, request: dict[str, Any], posted: PostedFile | None
) -> dict[str, Any]:
    """Take the compilation out of `request` and return it, completed by file and flags.

    Raises ArgumentTypeError unless exactly one of them gives the kernel.
    """
    key, compilation = request.pop("compilation_key", None), request.pop("compilation", {})
    moved = KernelMembers.__annotations__.keys() & request.keys()
    compilation |= {name: request.pop(name) for name in moved}
    flags = kernel_members(args) | ({"target": args.target} if args.target else {})
    if key is not None:
        sources = [args.source] if posted else []
        if twice := ", ".join([*sources, *_merged(compilation, flags)]):
            raise ArgumentTypeError(
                f"{twice}: not allowed with compilation_key, whose kernel is compiled already"
            )
        return {"compilation_key": key}
    if posted is not None:
        compilation = _merged(compilation, posted.members)
    if not compilation.keys() & {"source", "ir"}:
        raise ArgumentTypeError("no kernel; give a FILE, or --request with a `compilation`")
    return _merged(compilation, flags)


def launch_members(args: Namespace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the other members of the launch, from the request file and the flags."""
    flags = {
        "arguments": {name: _argument(name, text) for name, text in args.argument},
        "grid": _grid(args.grid or ()),
        "device": _device(args.device),
        "reference": _reference(args),
        "returns": dict(args.returns) | dict.fromkeys(dict(args.save), "tensor"),
        "fuzz": None if args.fuzz_seed is None else {"seed": args.fuzz_seed},
        "trace": _trace(args.trace, args.step),
        "timing": {} if args.time else None,
        "profile": "lines" if args.hot_lines else None,
        "timeout_s": args.timeout_s,
    }
    given_members = {name: member for name, member in flags.items() if member or name == "timing"}
    request["returns"] = request.pop("return", {})
    merged = _merged({"arguments": {}, "cases": []} | request, given_members)
    if (checks := _checks(args, request)) is not None:
        merged["checks"] = checks
    if "grid" not in merged:
        raise ArgumentTypeError("no grid; give --grid, such as --grid 'cdiv(n, BLOCK)'")
    return {name: member for name, member in merged.items() if member is not None}


def _grid(words: Sequence[str]) -> list[int | str]:
    """Return the grid. Raises ArgumentTypeError for an expression that the shell has split."""
    if any(word.count("(") != word.count(")") for word in words):
        split = " ".join(words)
        raise ArgumentTypeError(f"--grid {split}: quote the expression, as in 'cdiv(n, BLOCK)'")
    return [int(word) if word.isdecimal() else word for word in words]


def _argument(name: str, text: str) -> Any:
    """Return the argument of `text`. Raises ArgumentTypeError for a buffer that nothing fills."""
    argument = launch_argument(text)
    is_buffer = isinstance(argument, dict) and "shape" in argument
    if is_buffer and argument.keys().isdisjoint({"init", "output"}):
        raise ArgumentTypeError(
            f"--argument {name}: fill the buffer, such as {name}={text}:zeros, or let the kernel "
            f"write it: {name}={text}:output"
        )
    return argument


def _checks(args: Namespace, request: Mapping[str, Any]) -> list[str] | None:
    """Return the requested checks, None without any word on them; a fuzz seed implies `fuzz`.

    Raises ArgumentTypeError for a check next to `none`.
    """
    checks: list[str] | None = list(args.check) if args.check else request.get("checks")
    if args.check and _NO_CHECK in args.check:
        if len(args.check) > 1:
            raise ArgumentTypeError("--check none: leave out `none`, or the other checks")
        checks = []
    if args.fuzz_seed is None or "fuzz" in (checks or ()):
        return checks
    return [*(checks or ()), "fuzz"]


def checked_launch(
    submit: Callable[[dict[str, Any]], Launch], source: Mapping[str, Any], members: dict[str, Any]
) -> tuple[Launch, list[str]]:
    """Launch, with a check for races if nothing names checks and a CPU runs the kernel.

    If the check takes more time or memory than there is, launch without. Return the launch, and
    remarks on what it was not asked to do or could not.
    """
    if not _may_check_races(source, members):
        launch = submit(members)
        return launch, _remarks(launch, members)
    checked = members | {"checks": [RACES]}
    launch = submit(checked)
    if launch.verdict not in _CUT_SHORT or "race" in launch.counts:
        return launch, _remarks(launch, checked)
    unchecked = submit(members)
    if unchecked.verdict in _CUT_SHORT:
        return unchecked, []
    ended = f"races were not checked: with this check, the launch ended as {launch.verdict}"
    return unchecked, [f"{ended}; launch a smaller grid"]


def _may_check_races(source: Mapping[str, Any], members: Mapping[str, Any]) -> bool:
    device = members.get("device", "auto")
    is_cpu = device in ("cpu", "interpreter")
    if device == "auto":  # a GPU needs a target, and traces nothing
        has_target = not source.keys().isdisjoint({"target", "compilation_key"})
        is_cpu = members.get("trace") is not None or not has_target
    return is_cpu and "checks" not in members and members.get("timing") is None


def _remarks(launch: Launch, members: Mapping[str, Any]) -> list[str]:
    """Return what the CPU device did not do: time, and check for races unless it was asked to."""
    if not (launch.device or {}).get("interpreter"):
        return []
    remarks = []
    if members.get("timing") is not None:
        gpu = "run it on a GPU, with --device gpu"
        remarks.append(f"not timed: the CPU device does not time; {gpu}")
    is_checked = RACES in members.get("checks", ()) or launch.proof is not None
    if launch.verdict in GOOD and not is_checked:
        remarks.append("races were not checked: add --check racecheck")
    return remarks


def _merged(members: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Return `members` updated with `added`, merging nested objects."""
    merged = dict(members)
    for name, member in added.items():
        known = merged.get(name)
        both = isinstance(known, Mapping) and isinstance(member, Mapping)
        merged[name] = {**known, **member} if both and known else member
    return merged


def _reference(args: Namespace) -> dict[str, Any]:
    source = {"source": read_python(args.reference)} if args.reference else {}
    bounds = {"rtol": args.rtol, "atol": args.atol}
    return source | {name: bound for name, bound in bounds.items() if bound is not None}


def _trace(traced: str | None, step: tuple[str, str] | None) -> dict[str, Any] | None:
    """Return the trace request for --trace and --step; the latter includes values.

    Raises ArgumentTypeError for a malformed program id.
    """
    words = dict.fromkeys(word for word in (traced, step and step[0]) if word is not None)
    if not words:
        return None
    for word in words:
        if not all(axis.isdecimal() for axis in word.split(",")):
            flag = "--trace" if word == traced else "--step"
            raise ArgumentTypeError(f"{flag} {word}: not a program id; write 0, or 0,0,0")
    programs = [[int(axis) for axis in word.split(",")] for word in words]
    return {"programs": programs} | ({"values": True} if step else {})


def _device(word: str | None) -> Any:
    name = None if word is None else target_name(word)
    return {"target": name} if name is not None and ":" in name else word
