"""`tritonc prove`: writes what is proved of a kernel, for all sizes, to standard output."""

import re
from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import (
    PAIRS,
    WORDS,
    add_json,
    add_kernel,
    add_like,
    add_wait,
    kernel_members,
)
from tritonc.cli.launching.request_file import read_request
from tritonc.cli.posted_file import PostedFile, read_source, specialized
from tritonc.cli.recent_keys import remember
from tritonc.cli.streams import STANDARD, name_of, read, write, write_json
from tritonc.cli.terminal import Say, Terminal
from tritonc.compile_body import members_json
from tritonc.proof import Proof, ProofFailed
from tritonc.proof_sarif import proof_annotations, proof_sarif
from tritonc.service_errors import ProblemError, WaitExpired
from tritonc.signature_sources import chosen_kernel

_USUAL = ("bounds", "overflow")
PROVED, REFUTED, UNKNOWN = 0, 1, 2
CONTRACT_SUFFIX = ".contract"
_PLACE = re.compile(r"line (\d{1,9}), column (\d{1,9}): (.*)", re.DOTALL)
"""The place of a mistake in a contract, as the service names it."""
_DEFAULT_TARGET = "cuda:90"
_EPILOG = """\
The contract is what every launch keeps: how many elements buffers have, how sizes relate, the grid.
It comes from --contract, or from FILE with the suffix .contract (.KERNEL.contract with --kernel) or
is inferred from the cases of --request (a launch request in TOML or JSON; default: FILE with the
suffix .toml or .json). Three cases whose sizes are different primes distinguish all sizes; cases of
one size prove nothing for all.

exit codes: 0 everything is proved; 1 something is refuted; 2 something is unknown or possible, or
the request is wrong; otherwise as for tritonc.

examples:
  tritonc prove softmax.py --constexpr BLOCK=1024 --request launches.toml --write-contract
  tritonc prove softmax.py --signature 'x_ptr=*fp32' stride=i32 n_cols=i32 --constexpr BLOCK=1024 \\
      --contract softmax.contract
"""


def add_command(commands: Any) -> None:
    """Add `prove` to the parser's commands."""
    parser = commands.add_parser(
        "prove",
        help="prove, for all sizes, that accesses stay in bounds and 32-bit integers do not wrap",
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("source", metavar="FILE", help="Python file with the kernel, IR, or -")
    add("--contract", metavar="PATH", help="file with the contract, or -")
    add("--request", metavar="PATH", help="launch request with `cases`, to infer a contract from")
    text = "keep the inferred contract next to FILE"
    add("--write-contract", action="store_true", help=text)
    add("--check", **WORDS, metavar="CHECK", help="bounds, overflow (default: both), races")
    add("--limit", **PAIRS, help="largest sizes: size=1073741824, elements=68719476736")
    add("--sarif", metavar="PATH", help="write what is not proved as SARIF, for code scanning")
    add(
        "--github", metavar="PATH", help="write it as annotations of a GitHub workflow; - is stdout"
    )
    add("--target", default=_DEFAULT_TARGET, help=f"default {_DEFAULT_TARGET}")
    add_kernel(parser)
    add_like(parser)
    add_json(parser)
    add_wait(parser, default=120)


def run(args: Namespace, client: Client, terminal: Terminal) -> int:
    """Prove and report; return 0, 1 or 2 by the verdict.

    Raises WaitExpired, ProofFailed, ArgumentTypeError without a contract or cases.
    """
    _check_flags(args)
    posted = read_source(args.source, args)
    contract_file = _contract_file(args)
    contract = _contract(args, contract_file)
    request = _request(args)
    members = _requested(request) | kernel_members(args)
    specialize = partial(specialized, posted, args, members, args.target, client, with_hints=False)
    members = specialize(terminal.say)
    limits = {name: _size(name, text) for name, text in args.limit} or None
    made = {"contract": contract, "checks": args.check, "limits": limits}
    made["cases"] = [] if contract is not None else cases_of(request)
    if contract is None and not made["cases"]:
        raise _without_contract(args, contract_file, posted, client)
    if not posted.language and members.get("signature") is None and not made["cases"]:
        raise _unchosen(posted, client)
    try:
        proof = _with_modules(args, client, terminal, posted, members, specialize, made)
    except (ProblemError, ProofFailed) as error:
        raise placed(error, contract or "", args.contract or str(contract_file)) from error
    if args.write_contract and proof.is_inferred and proof.contract:
        contract_file.write_text(proof.contract)
    if args.sarif:
        write(proof_sarif(proof, name_of(args.source)).encode(), args.sarif)
    if args.github:
        write(proof_annotations(proof, name_of(args.source)).encode(), args.github)
    if args.json:
        write_json(proof.raw)
    else:
        _report(args, proof, len(made["cases"]), terminal)
        terminal.say(_unchecked(proof, args.check))
    return {"proved": PROVED, "refuted": REFUTED}.get(proof.verdict or "", UNKNOWN)


def _size(name: str, text: str) -> int:
    """Return a largest size. Raises ArgumentTypeError unless it is written in digits."""
    if not re.fullmatch(r"\d{1,30}", text, re.ASCII):
        message = (
            f"--limit {name}: {text[:40]!r} is not a number; write its digits: {name}=2147483648"
        )
        raise ArgumentTypeError(message)
    return int(text)


def _unchecked(proof: Proof, checks: Sequence[str]) -> str:
    """Return the remarks that a proof left out a usual check or races, "" if it has all."""
    if proof.verdict != "proved":
        return ""
    left_out = [check for check in _USUAL if checks and check not in checks]
    usual = f"not checked: {', '.join(left_out)}; add --check {' '.join(left_out)}"
    added = " ".join(["races"] if checks else [*_USUAL, "races"])  # --check replaces the usual ones
    races = f"races were not checked: add --check {added}"
    return "\n".join([usual] * bool(left_out) + [races] * ("races" not in checks))


def _with_modules(
    args: Namespace,
    client: Client,
    terminal: Terminal,
    posted: PostedFile,
    members: Mapping[str, Any],
    specialize: Callable[[Say], Mapping[str, Any]],
    made: Mapping[str, Any],
) -> Proof:
    """Prove the kernel, again with each module that it asks for. Raises ProofFailed, WaitExpired.

    More modules of the file show more of its types, so `specialize` finds the members again.
    """
    proof = _proved(args, client, terminal, _kernel(args, posted, members), made)
    while posted.supply(proof.problem):
        members = specialize(lambda _: None)
        proof = _proved(args, client, terminal, _kernel(args, posted, members), made)
    if proof.state != "completed":
        raise ProofFailed(proof, name_of(args.source))
    return proof


def _kernel(args: Namespace, posted: PostedFile, members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kernel's members of a proof request."""
    return members_json({**posted.members, **members, "target": args.target})


def _check_flags(args: Namespace) -> None:
    """Raise ArgumentTypeError for flags that exclude each other."""
    if args.contract == args.source == STANDARD:
        raise ArgumentTypeError("--contract: standard input is the kernel; name a file")
    if args.source == STANDARD and args.write_contract:
        raise ArgumentTypeError("--write-contract: standard input has no folder; name a FILE")
    if args.contract is not None and args.write_contract:
        raise ArgumentTypeError("--write-contract keeps an inferred contract; leave --contract out")


def _unchosen(posted: PostedFile, client: Client) -> ArgumentTypeError:
    """Return why no types of a kernel were found."""
    kernels = posted.inspected(client)["kernels"]
    if not kernels:
        return ArgumentTypeError(f"{posted.name} has no kernel: no function with @triton.jit")
    names = ", ".join(item["name"] for item in kernels)
    return ArgumentTypeError(f"--kernel: {posted.name} has {names}; choose one")


def _without_contract(
    args: Namespace, contract_file: Path, posted: PostedFile, client: Client
) -> ArgumentTypeError:
    """Return what to do, with the service's draft of a contract where it knows the kernel.

    The draft of a file is written next to it, unless there is one.
    """
    kernel = None if posted.language else chosen_kernel(posted.inspected(client), args.kernel)
    if kernel is None and not posted.language:
        return _unchosen(posted, client)
    draft = kernel and kernel.get("contract")
    is_file = args.source != STANDARD
    if not isinstance(draft, str) or not draft or (is_file and contract_file.exists()):
        written = f"write {contract_file.name}, or " if is_file else ""
        return ArgumentTypeError(
            f"{posted.name}: no contract and no cases; {written}give --contract PATH, or "
            "--request PATH with cases"
        )
    if not is_file:
        return ArgumentTypeError(
            f"{posted.name} has no contract. Here is a draft: replace each ?, check the rest, "
            "write it to a file, and pass that with --contract PATH. Or give --request PATH with "
            f"cases to infer one\n\n{draft}"
        )
    contract_file.write_text(draft)
    return ArgumentTypeError(
        f"{args.source} has no contract. I wrote a draft, {contract_file}: replace each ?, check "
        "the rest, and run this again. Or give --request with cases to infer one"
    )


def _contract_file(args: Namespace) -> Path:
    """Return the file of a contract next to FILE: the kernel's own, if --kernel names one.

    A file without a kernel in its name is read for each kernel that has no separate one.
    """
    of_file = Path(args.source).with_suffix(CONTRACT_SUFFIX)
    if args.kernel is None or not args.kernel.isidentifier():
        return of_file
    of_kernel = of_file.with_suffix(f".{args.kernel}{CONTRACT_SUFFIX}")
    return of_file if of_file.exists() and not of_kernel.exists() else of_kernel


def _contract(args: Namespace, contract_file: Path) -> str | None:
    if args.contract is not None:
        return read(args.contract)
    is_kept = args.request is None and not args.write_contract and contract_file.is_file()
    return read(str(contract_file)) if is_kept else None


def _request(args: Namespace) -> dict[str, Any]:
    """Return the launch request: with a contract, too, it names constexprs."""
    if args.request is None:
        candidates = (Path(args.source).with_suffix(suffix) for suffix in (".toml", ".json"))
        args.request = next((str(path) for path in candidates if path.is_file()), None)
    return read_request(args.request)


def _requested(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the compile settings of a launch request, whose kernel may be in `compilation`."""
    compiled = request.get("compilation")
    parts = [request, compiled] if isinstance(compiled, Mapping) else [request]
    return {
        name: part[name]
        for part in parts
        for name in ("constexprs", "options", "kernel", "signature")
        if part.get(name) is not None
    }


def placed(error: ProblemError | ProofFailed, contract: str, path: str) -> Exception:
    """Return the error with its place in the contract's file, itself if it has none."""
    texts = [str(error)]
    if isinstance(error, ProblemError):
        texts = [each.message for each in error.errors if each.pointer == "/contract"]
    match = next(filter(None, map(_PLACE.search, texts)), None)
    if match is None or not contract:
        return error
    line, column = int(match[1]), int(match[2])
    lines = contract.splitlines()
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    shown = f"\n  {text}\n  {' ' * (column - 1)}^" if text else ""
    return ArgumentTypeError(f"{path}:{line}:{column}: {match[3]}{shown}")


def cases_of(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the cases of a launch request, each with all its arguments and its grid."""
    common, grid = request.get("arguments") or {}, request.get("grid")
    cases: Sequence[Mapping[str, Any]] = request.get("cases") or ([{}] if common else [])
    return [
        {
            "arguments": _merged(common, case.get("arguments") or {}),
            "grid": case.get("grid", grid),
        }
        for case in cases
    ]


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(common)
    for name, argument in own.items():
        before = made.get(name)
        if isinstance(before, dict) and isinstance(argument, dict):
            argument = before | argument
        made[name] = argument
    return made


def _proved(
    args: Namespace,
    client: Client,
    terminal: Terminal,
    kernel: Mapping[str, Any],
    made: Mapping[str, Any],
) -> Proof:
    """Submit, then wait. Raises Interrupted, WaitExpired."""
    going_on: list[str] = []
    with waiting(args, terminal, "submitting the proof", going_on) as say:
        submitted = client.prove(kernel, **made, wait_s=0, check=False)
        going_on.append(submitted.id)
        remember(args, [submitted.id], name_of(args.source))
        if args.verbose:
            terminal.say(f"submitted {submitted.id}")
        say(f"proof {submitted.id}: {submitted.state}")
        proof = submitted
        if not proof.finished and args.wait_s > 0:
            proof = client.proofs.get(submitted.id, wait_s=args.wait_s)
    proof = replace(proof, sources=submitted.sources)
    if not proof.finished:
        raise WaitExpired(proof.id, f"it is {proof.state}", args.wait_s)
    return proof


def _report(args: Namespace, proof: Proof, cases: int, terminal: Terminal) -> None:
    if proof.is_inferred and proof.contract:
        kept = "kept" if args.write_contract else "--write-contract keeps it"
        several = f"{cases} cases" if cases > 1 else "1 case: give 3 whose sizes differ"
        terminal.text(f"contract (inferred from {several}; {kept} next to the kernel)")
        terminal.text("\n".join(f"  {line}" for line in proof.contract.splitlines()))
    terminal.text(proof.render(name_of(args.source)))
