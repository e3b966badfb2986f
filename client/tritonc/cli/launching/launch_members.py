"""A launch as flags and a request file say it: these flags, what is compiled, the other members."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from typing import Any

from tritonc.cli.argument_syntax import launch_argument
from tritonc.cli.kernel_flags import PAIRS, kernel_members, number
from tritonc.cli.posted_file import PostedFile
from tritonc.cli.streams import read_python
from tritonc.launch_body import KernelMembers


def add_launch(parser: ArgumentParser) -> None:
    """Add what is passed to the kernel, where it runs, and what outputs are compared with."""
    add = parser.add_argument
    add("--request", metavar="PATH", help="a request as TOML or JSON; flags add to it")
    add("--device", help="auto (default), cpu, gpu, or a target of `tritonc devices`")
    add("--argument", "--arg", **PAIRS, help="what is passed; see below")
    add("--grid", nargs="+", metavar="N", help="97, or 'cdiv(n_elements, BLOCK_SIZE)'")
    add("--reference", metavar="PATH", help="Python file that defines reference(**arguments)")
    add("--rtol", type=number, help="tolerance of the comparison, relative")
    add("--atol", type=number, help="and absolute; defaults depend on the dtype")


def unused_of_launches() -> dict[str, Any]:
    """Return the words of the other flags of a launch, for a command that has none of them."""
    nothing = ("fuzz_seed", "trace", "step", "timeout_s", "check")
    never = ("interpret", "time", "hot_lines")
    return {
        **dict.fromkeys(nothing),
        **dict.fromkeys(never, False),
        "returns": [],
        "save": [],
    }


def launch_source(
    given: Namespace, request: dict[str, Any], posted: PostedFile | None
) -> dict[str, Any]:
    """Take what is compiled out of `request` and return it, with what file and flags add.

    Raises ArgumentTypeError where neither says what is compiled, or both do.
    """
    key, compilation = request.pop("compilation_key", None), request.pop("compilation", {})
    beside = KernelMembers.__annotations__.keys() & request.keys()
    compilation |= {name: request.pop(name) for name in beside}
    flags = kernel_members(given) | ({"target": given.target} if given.target else {})
    if key is not None:
        said = [given.source] if posted else []
        if twice := ", ".join([*said, *_merged(compilation, flags)]):
            raise ArgumentTypeError(
                f"{twice}: a compilation_key names a kernel that is compiled already"
            )
        return {"compilation_key": key}
    if posted is not None:
        compilation = _merged(compilation, posted.members)
    if not compilation.keys() & {"source", "ir"}:
        raise ArgumentTypeError("which kernel? give a FILE, or --request with a `compilation`")
    return _merged(compilation, flags)


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
        "trace": _trace(given.trace, given.step),
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
    source = {"source": read_python(given.reference)} if given.reference else {}
    bounds = {"rtol": given.rtol, "atol": given.atol}
    return source | {name: bound for name, bound in bounds.items() if bound is not None}


def _trace(traced: str | None, step: tuple[str, str] | None) -> dict[str, Any] | None:
    """Return what traces the programs of --trace and --step, the latter with values.

    Raises ArgumentTypeError for what is no program.
    """
    words = dict.fromkeys(word for word in (traced, step and step[0]) if word is not None)
    if not words:
        return None
    for word in words:
        if not all(axis.isdecimal() for axis in word.split(",")):
            flag = "--trace" if word == traced else "--step"
            raise ArgumentTypeError(f"{flag} {word}: a program is written as 0, or as 0,0,0")
    programs = [[int(axis) for axis in word.split(",")] for word in words]
    return {"programs": programs} | ({"values": True} if step else {})


def _device(word: str | None) -> Any:
    return {"target": word} if word is not None and ":" in word else word
