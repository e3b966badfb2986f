"""`tritonc compile`: writes artifacts to files and the report to standard error."""

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.compiling.compile_report import describe, flags_to_add, overview, why_lines
from tritonc.cli.compiling.emissions import Emissions
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import (
    WORDS,
    add_json,
    add_kernel,
    add_like,
    add_targets,
    add_wait,
    kernel_members,
    number,
    rare_members,
    targets_of,
)
from tritonc.cli.posted_file import PostedFile, read_source, say_modules, specialized
from tritonc.cli.recent_keys import remember
from tritonc.cli.refusal_words import WRONG_REQUEST, flag_line, is_wrong_request
from tritonc.cli.streams import write_json
from tritonc.cli.terminal import Say, Terminal
from tritonc.compilation import Compilation, CompileFailed
from tritonc.packages.package import Package, needs_of
from tritonc.service_errors import WaitExpired


@dataclass(frozen=True, slots=True)
class WantedCompilation:
    """A compilation to request: one file, one target and the other request members.

    `specialize` finds the members again, as more modules of the file show more of its types.
    """

    source: PostedFile
    target: str
    members: Mapping[str, Any]
    specialize: Callable[[Say], Mapping[str, Any]] | None = None

    def post(self, client: Client, wait_s: float) -> Compilation:
        """Submit the compilation and return its state after at most `wait_s`."""
        how = {"target": self.target, "wait_s": wait_s, "check": False, **self.members}
        if self.source.language:
            ir = {**self.source.members["ir"], **how}
            return client.compile_ir(ir.pop("text"), **ir)
        return client.compile(**self.source.members, **how)

    def with_more_modules(self) -> "WantedCompilation":
        """Return the compilation as it is requested again, with the modules of its file by then."""
        if self.specialize is None:
            return self
        return replace(self, members={**self.members, **self.specialize(lambda _: None)})


def add_command(commands: Any) -> None:
    """Add `compile` to the parser's commands."""
    parser = commands.add_parser("compile", help="compile kernels")
    parser.set_defaults(run=run)
    add = parser.add_argument
    text = "Python file with the kernel, IR (.ttir, .ttgir, .mlir), or - for standard input"
    add("sources", metavar="FILE", nargs="+", help=text)
    add_targets(parser)
    add_kernel(parser)
    add_like(parser)
    text = "write STAGE to PATH (- is stdout); PATH may contain {file} and {target}"
    add("--emit", **WORDS, metavar="STAGE[=PATH]", help=text)
    add("--stop-after", metavar="STAGE", help="default: the target's last stage")
    add("--priority", choices=["interactive", "batch"])
    add("--timeout-s", type=number, metavar="S", help="time limit of the compilation")
    add("--refresh", action="store_true", help="compile again and replace the cached result")
    text = "for each cache miss, show how its key differs from your nearest earlier one"
    add("--why", action="store_true", help=text)
    add_json(parser)
    add_wait(parser, default=60)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool | int:
    """Compile every file for every target; return whether all compile, or WRONG_REQUEST.

    Raises the errors of reading files, sending requests and waiting.
    """
    emissions = Emissions.of(args.emit, args.sources, targets_of(args))
    wanted = wanted_compilations(args, client, emissions.included, terminal.say)
    if args.verbose:
        for source in dict.fromkeys(item.source.name for item in wanted):
            next(item.source for item in wanted if item.source.name == source).say_sent(terminal)
    made = compile_all(wanted, args, client, terminal)
    if args.json:
        write_json(_document(wanted, made))
    reported: dict[str, str] = {}
    wrote: list[str] = []
    for item, compilation in zip(wanted, made, strict=True):
        # write the reached stages before reporting a failure: the user needs them to debug it
        emissions.write(
            item.source.name, item.target, compilation, client, args.wait_s, wrote.append
        )
        text = report(item, compilation, args, client)
        first = reported.setdefault(text, item.target)
        terminal.say(text if first == item.target else f"for {item.target} as for {first}")
        if args.why:
            terminal.say(why_lines(client.why(compilation.key)))
    if len(wanted) > 1:
        names = [(item.source.name, item.target) for item in wanted]
        terminal.draw(overview(names, made), sys.stderr)
    terminal.say("\n".join(wrote))
    if any(is_wrong_request(compilation.problem) for compilation in made):
        return WRONG_REQUEST
    return all(compilation.succeeded for compilation in made)


def wanted_compilations(
    args: Namespace, client: Client, include: Iterable[str], say: Say
) -> list[WantedCompilation]:
    """Read every file, then return the requested compilations; nothing is compiled before.

    `say` gets what was inferred, once for each file.
    """
    sources = [read_source(path, args) for path in args.sources]
    fixed = kernel_members(args)
    rest = rare_members(args) | {"include": list(include), "stop_after": args.stop_after}
    notes: list[str] = []
    wanted = []
    for source in sources:
        for target in targets_of(args):
            make = partial(specialized, source, args, fixed, target, client)
            wanted.append(WantedCompilation(source, target, make(notes.append) | rest, make))
    for line in dict.fromkeys(notes):  # two targets infer the same
        say(line)
    return wanted


def compile_all(
    wanted: list[WantedCompilation], args: Namespace, client: Client, terminal: Terminal
) -> list[Compilation]:
    """Submit all compilations so that they run in parallel, then wait for each.

    Those that ask for modules are submitted again, and replaced in `wanted`. Raises Interrupted,
    and WaitExpired with the first one that does not finish in time.
    """
    deadline = time.monotonic() + args.wait_s
    made: dict[int, Compilation] = {}
    going_on: list[str] = []
    left = list(range(len(wanted)))
    with waiting(args, terminal, f"submitting {_shown(wanted)}", going_on) as say:
        while left:
            made |= {index: wanted[index].post(client, 0) for index in left}
            for index in left:
                if args.verbose:
                    terminal.say(f"submitted {made[index].key}")
                if not made[index].finished:
                    going_on.append(made[index].key)
            for index in left:
                item = wanted[index]
                if not made[index].finished and args.wait_s > 0:
                    say(f"compiling {item.source.name} for {item.target}: {made[index].state}")
                    left_s = max(0.0, deadline - time.monotonic())
                    first = made[index]
                    made[index] = _finished(item, first, client, left_s)
                    # a new toolchain gives the second request another key
                    going_on.remove(first.key)
            left = _asking(wanted, made, left, terminal if args.verbose else None)
            for index in left:
                wanted[index] = wanted[index].with_more_modules()
    for index, item in enumerate(wanted):
        remember(args, [made[index].key], item.source.name)
    late = [compilation for compilation in made.values() if not compilation.finished]
    if late:
        others = "".join(f", and {compilation.key}" for compilation in late[1:])
        raise WaitExpired(late[0].key + others, f"it is {late[0].state}", args.wait_s)
    return [made[index] for index in range(len(wanted))]


def _asking(
    wanted: Sequence[WantedCompilation],
    made: Mapping[int, Compilation],
    among: Sequence[int],
    terminal: Terminal | None,
) -> list[int]:
    """Return the compilations that ask for modules, once their files have more of them.

    The targets of one file ask together. `terminal` gets the names of the new modules.
    """
    needs: dict[int, tuple[Package, list[str], list[int]]] = {}
    for index in among:
        package = wanted[index].source.package
        if package is not None and (asked := needs_of(made[index].problem)):
            _, names, indices = needs.setdefault(id(package), (package, [], []))
            names += asked
            indices.append(index)
    again: list[int] = []
    for package, names, indices in needs.values():
        before = set(package.files)
        if package.supply(names):
            again += indices
        if terminal is not None:
            new = package.files.keys() - before
            say_modules(terminal, {name: package.files[name] for name in sorted(new)})
    return sorted(again)


def _finished(
    item: WantedCompilation, first: Compilation, client: Client, wait_s: float
) -> Compilation:
    """Wait for a submitted compilation; submit it again if the service lost it meanwhile."""
    if item.members.get("refresh"):
        again = client.get(first.key, include=item.members["include"], wait_s=wait_s)
    else:
        again = item.post(client, wait_s)
    return replace(again, cache=first.cache)


def report(
    item: WantedCompilation, compilation: Compilation, args: Namespace, client: Client
) -> str:
    """Return the output of a compilation and its report."""
    package = item.source.package
    notes = [] if package is None else package.notes
    if compilation.succeeded:
        text = compilation.stdout + describe(compilation, item.source.name)
        return "\n".join([text, *_share(item, compilation), *notes])
    words = flags_to_add(compilation, item.source, args, client)
    hint = f"hint: add {words}" if words else ""
    is_ir = item.source.language is not None  # no flag changes its kernel
    flag = "" if is_ir else flag_line(compilation.problem, args, compilation.diagnostics)
    is_placed = any(item.line for item in compilation.diagnostics)
    # an error of the request that is about no line is in the line of its flag
    reason = "" if flag and not is_placed else CompileFailed(compilation).render(item.source.name)
    return "\n".join(filter(None, [compilation.stdout + reason, hint, flag, *notes]))


def _share(item: WantedCompilation, compilation: Compilation) -> list[str]:
    """Return a line on how much of the file's package was needed, if it has one."""
    share = item.source.package.share if item.source.package is not None else ""
    name = compilation.kernel or item.source.name
    return [f"{name} for {compilation.target}: {share}"] if share else []


def _document(
    wanted: Sequence[WantedCompilation], made: Sequence[Compilation]
) -> Mapping[str, Any]:
    """Return the document of --json: the answer itself if there is only one."""
    # show the cache result of the first request: a later one that waits for its own job is a join
    answers = [{**each.raw, "cache": each.cache} for each in made]
    if len(answers) == 1:
        return answers[0]
    both = zip(wanted, answers, strict=True)
    return {"compilations": [{"file": item.source.name, **each} for item, each in both]}


def _shown(wanted: Sequence[WantedCompilation]) -> str:
    return wanted[0].source.name if len(wanted) == 1 else f"{len(wanted)} compilations"
