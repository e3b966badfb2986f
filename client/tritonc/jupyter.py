"""`%%tritonc compile|launch|prove|...`: the code of a cell in a Jupyter notebook.

`%load_ext tritonc` registers the magic. It takes the flags of the command line without the
file: the cell is the source. IPython imports this module, not vice versa.
"""

import io
import os
import re
import shlex
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Protocol

from httpx import InvalidURL

from tritonc._sync.client import Client
from tritonc.cli.kernel_flags import kernel_members, rare_members, targets_of
from tritonc.cli.launching.launch_members import checked_launch, launch_members, launch_source
from tritonc.cli.launching.launch_report import accesses as table_of_accesses
from tritonc.cli.launching.launch_report import values
from tritonc.cli.launching.request_file import read_request
from tritonc.cli.main import main
from tritonc.cli.parser import command_parser
from tritonc.cli.posted_file import PostedFile, read_source, specialized, with_constexprs
from tritonc.cli.programs.program_command import (
    members_of,
    reference_of,
    run_members,
    submit_and_wait,
)
from tritonc.cli.refusal_words import in_flags, refused
from tritonc.cli.streams import STANDARD, name_of
from tritonc.cli.sweeping.sweep_command import sort_order, unposted_sweep
from tritonc.cli.terminal import Terminal
from tritonc.compilation import Compilation, CompileFailed
from tritonc.diagnostic import POSTED_SOURCE, printable, render_all
from tritonc.errors import TritoncError
from tritonc.html_panes import Shown, accesses, cells_pane, pane, plain
from tritonc.launch import Launch
from tritonc.service_errors import ProblemError, WaitExpired
from tritonc.sweeps.sweep import Sweep

CELL = "<cell>"
_USAGE = (
    "write %%tritonc compile --target cuda:90 --signature x=*fp32 ... --emit ptx ttir, "
    "%%tritonc launch --grid 4 --argument x=fp32[64]:ones ..., "
    "%%tritonc sweep --space N=32,64 ..., %%tritonc program --reference model.py, %%tritonc learn "
    "NAME, or %%tritonc explain, prove, inspect or diff, and the code below it; %tritonc? shows "
    "more"
)
_PRINTING = ("diff", "explain", "inspect", "learn", "prove")
"""Commands whose report is shown as it is."""
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
"""A colour of this program: the kernel of a notebook sets FORCE_COLOR. Text of users is escaped."""


class Shell(Protocol):
    """The part of IPython's shell that is used here."""

    def register_magic_function(
        self, func: Callable[..., Any], magic_kind: str, magic_name: str
    ) -> None:
        """Register `func` as a magic."""


def load_ipython_extension(shell: Shell) -> None:
    """Register the magic; `%load_ext tritonc` and `%load_ext tritonc.jupyter` call this."""
    shell.register_magic_function(tritonc, magic_kind="line_cell", magic_name="tritonc")


def tritonc(line: str, cell: str | None = None) -> Shown | Sweep:
    """Run a command of tritonc on the code of a cell, with the flags of the command line.

    %%tritonc compile --target cuda:90 --emit ptx sass     what the compiler makes of it
    %%tritonc explain --target cuda:90                     what limits it
    %%tritonc inspect                                      its kernels, and what would be assumed
    %%tritonc launch --grid 4 --argument x=fp32[64]:ones   run it on the CPU device, or a GPU
    %%tritonc prove --contract scale.contract              its accesses, for all sizes
    %%tritonc sweep --space BLOCK=64,128                   many variants; the result has to_pandas()
    %%tritonc diff --before num_warps=4 --after num_warps=8
    %%tritonc program --reference model.py                 a cell that defines ModelNew
    %%tritonc learn add_ten                                judge it as the kernel of a lesson

    %tritonc COMMAND --help lists the flags of a command; %tritonc runs those that need no source,
    such as %tritonc targets. Set TRITOND_URL to use another service.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        return _said(f"tritonc: {error}", is_good=False)
    if cell is None:
        return _printed(words or ["--help"], "")
    if words == ["learn"]:
        return _said(
            "tritonc: write %%tritonc learn NAME; %tritonc learn lists them", is_good=False
        )
    if words and words[0] in _PRINTING:
        lesson = ["--lesson"] if words[0] == "learn" else []
        return _printed([words[0], STANDARD, *lesson, *words[1:]], cell)
    try:
        args = _parse(line)
        try:
            with Client(args.url) as client:
                return _RUNS[args.command](args, cell, client)
        except ProblemError as error:
            return _said(f"tritonc: {refused(error, args)}", is_good=False)
    except CompileFailed as error:
        return _said(error.render(CELL), is_good=False)
    except (TritoncError, ArgumentTypeError, InvalidURL, OSError, ValueError) as error:
        return _said(f"tritonc: {error}", is_good=False)


def _printed(words: Sequence[str], cell: str) -> Shown:
    """Run a command on a cell as its standard input, and return what it prints."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    kept, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(cell.encode()), encoding="utf-8")
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            code = main(words)
    except SystemExit as ended:  # of the parser
        code = int(ended.code or 0)
    finally:
        sys.stdin = kept
    printed.seek(0)
    text = _COLOUR.sub("", printed.read()).replace(name_of(STANDARD), CELL)
    return _said(text, is_good=code == 0)


def _parse(line: str) -> Namespace:
    """Parse the flags. Raises ArgumentTypeError."""
    words = shlex.split(line)
    if not words or words[0] not in _RUNS:
        raise ArgumentTypeError(_meant(words) or _USAGE)
    if words[0] == "program" and words[1:2] not in (["run"], ["tape"]):
        words.insert(1, "run")
    if words[0] != "launch":
        words.insert(2 if words[0] == "program" else 1, "-")  # the cell is the file
    words = [_with_path(before, word) for before, word in zip(["", *words], words, strict=False)]
    errors = io.StringIO()
    try:
        with redirect_stderr(errors):
            args = command_parser().parse_args(words)
    except SystemExit:
        raise ArgumentTypeError(errors.getvalue().strip() or _USAGE) from None
    if args.command == "launch" and (args.source or args.save):
        raise ArgumentTypeError(
            "the cell is the source, and nothing can be saved; leave out FILE and --save"
        )
    return args


def _meant(words: Sequence[str]) -> str:
    """Return the command that a mistyped one is close to, "" for none."""
    close = get_close_matches(words[0], [*_RUNS, *_PRINTING], n=1) if words else []
    return f"there is no %%tritonc {words[0]}; did you mean %%tritonc {close[0]}?" if close else ""


def _with_path(before: str, word: str) -> str:
    """Return the value of `--step` with a dummy path, which a cell does not need."""
    return f"{word}=-" if before == "--step" and "=" not in word else word


def _compile(args: Namespace, cell: str, client: Client) -> Shown:
    stages = [word.partition("=")[0] for word in args.emit]
    if len(targets := targets_of(args)) > 1:
        raise ArgumentTypeError(f"a cell compiles for one target; choose {' or '.join(targets)}")
    source = _source(args, cell)
    notes: list[str] = []
    members = specialized(source, args, kernel_members(args), targets[0], client, notes.append)
    compilation = client.compile(
        **source.members,
        package=source.package,
        target=targets[0],
        stop_after=args.stop_after,
        wait_s=args.wait_s,
        **members,
        **rare_members(args),
    )
    shown = stages or _last_text(compilation)
    summary = "\n".join([*notes, _summary(compilation)])
    lines = client.lines(compilation.key, wait_s=args.wait_s)["lines"]
    panes = [plain(summary, is_good=True)]
    for index, stage in enumerate(shown):
        text = client.artifact(compilation.key, stage, wait_s=args.wait_s).decode(errors="replace")
        panes.append(pane(stage, text, _sources(lines, stage), is_open=index == 0))
    return Shown(summary, "".join(panes))


def _last_text(compilation: Compilation) -> list[str]:
    """Return the last reached stage that is text: PTX or AMD assembly if it compiled."""
    texts = [
        stage
        for stage, artifact in compilation.artifacts.items()
        if artifact.media_type.startswith("text/")
    ]
    return texts[-1:]


def _source(args: Namespace, cell: str) -> PostedFile:
    """Return the cell as a file to post; local modules come from the working directory."""
    return read_source(STANDARD, args, cell)


def _summary(compilation: Compilation) -> str:
    numbers = ("registers", "vgpr", "spill_store_bytes", "spill_load_bytes", "shared_bytes")
    resources = compilation.resources
    known = [f"{name} {resources[name]}" for name in numbers if resources.get(name) is not None]
    lines = [
        compilation.stdout.rstrip("\n"),
        render_all(compilation.diagnostics, CELL),
        f"{compilation.kernel} for {compilation.target}: {', '.join(known)}",
        f"key {compilation.key}",
    ]
    return printable("\n".join(filter(None, lines)))


def _sources(lines: Sequence[Mapping[str, Any]], stage: str) -> dict[int, list[int]]:
    """Return the lines of the cell by the line of `stage` that stems from them."""
    lines_of: dict[int, list[int]] = {}
    for row in lines:
        for number in row.get(stage, ()) if row["file"] == POSTED_SOURCE else ():
            lines_of.setdefault(number, []).append(row["line"])
    return lines_of


def _launch(args: Namespace, cell: str, client: Client) -> Shown:
    request = read_request(args.request)
    posted = None if "compilation_key" in request else _source(args, cell)
    source = launch_source(args, request, posted)
    members = launch_members(args, request)
    notes: list[str] = []
    source = with_constexprs(source, members, posted, client, notes.append)
    package = None if posted is None else posted.package

    def submit(members: dict[str, Any]) -> Launch:
        launch = client.launch(source, wait_s=args.wait_s, check=False, package=package, **members)
        if not launch.finished:
            raise WaitExpired(launch.id, f"it is {launch.state}", args.wait_s)
        return launch

    launch, remarks = checked_launch(submit, source, members)
    report = replace(launch, problem=in_flags(launch.problem, args)).render(CELL)
    text = printable(launch.stdout) + "\n".join([*notes, report, *remarks])
    returned = values(launch, [name for name, how in args.returns if how == "values"])
    text = f"{returned}\n{text}" if returned else text
    panes = [plain(text, is_good=launch.good), launch.cases_pane()]
    if (args.step or args.trace) and launch.verdict is not None:
        trace = client.launches.trace(launch.id)
        panes.append(accesses(trace))
        text += f"\n{table_of_accesses(trace, CELL).plain()}"
    return Shown(text, "".join(panes))


def _program(args: Namespace, cell: str, client: Client) -> Shown:
    is_tape = args.action == "tape"
    members = members_of(args) | {"stop_after": "tape"} if is_tape else run_members(args, client)
    reference = reference_of(args)
    program = submit_and_wait(args, client, Terminal(os.environ), members, reference, cell)
    text = program.render(CELL, args.reference or "reference")
    if is_tape and program.state == "completed":
        text = client.programs.tape_text(program.id, of_reference=args.of_reference)
        return _said(text, is_good=True)
    rows = [
        [kernel.name, str(kernel.line or ""), str(kernel.launches), kernel.compilation_key or ""]
        for kernel in program.kernels
    ]
    panes = [plain(text, is_good=program.good)]
    panes += [cells_pane(["kernel", "line", "launches", "key"], rows)] if rows else []
    return Shown(text, "".join(panes))


def _sweep(args: Namespace, cell: str, client: Client) -> Sweep:
    """Return the sweep itself: it shows its table, and has `to_pandas`."""
    if args.id or args.csv or args.winners:
        message = "the cell is the source, and its table is shown; leave out --id, --csv, --winners"
        raise ArgumentTypeError(message)
    unposted = unposted_sweep(args, client, Terminal(os.environ), cell)
    posted = unposted.post(client)
    order = sort_order(args, posted)
    while True:
        sweep = client.sweeps.get(posted.id, wait_s=args.wait_s, sort=order)
        if not unposted.supply(sweep):
            break
        posted = unposted.post(client)
    if not sweep.finished:
        raise WaitExpired(sweep.id, f"{sweep.over} of {sweep.total} rows are done", args.wait_s)
    return sweep


_RUNS: Mapping[str, Callable[[Namespace, str, Client], Shown | Sweep]] = {
    "compile": _compile,
    "launch": _launch,
    "program": _program,
    "sweep": _sweep,
}


def _said(text: str, *, is_good: bool) -> Shown:
    return Shown(printable(text), plain(printable(text), is_good=is_good))
