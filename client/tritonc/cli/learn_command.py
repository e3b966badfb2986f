"""`tritonc learn`: lessons on writing kernels, in a terminal and one's own editor."""

import textwrap
from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.batch import Batch, BatchItem, item_text
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import add_json, add_wait
from tritonc.cli.streams import STANDARD, name_of, read_python, write_json
from tritonc.cli.terminal import Terminal, table
from tritonc.diagnostic import POSTED_SOURCE
from tritonc.launch import Launch
from tritonc.launch_body import LaunchRequest

SUFFIX = ".py"
PASSED = "passed"
_WIDTH = 88
_EPILOG = """\
examples:
  tritonc learn                    lists the lessons
  tritonc learn add_ten            shows a lesson, and writes add_ten.py to begin with
  tritonc learn add_ten.py         judges your kernel, at the lesson's sizes and at hidden ones
  tritonc learn add_ten --hint 1   shows the first of three hints

exit codes: 0 the kernel is right, or a text was shown; 1 it is not right yet
"""


def add_command(commands: Any) -> None:
    """Add `learn` to the parser's commands."""
    parser = commands.add_parser(
        "learn",
        help="learn to write kernels, lesson by lesson",
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    text = "a lesson, or a file named after one; - is standard input"
    add("lesson", metavar="NAME|FILE", nargs="?", help=text)
    text = "the lesson of standard input, or of a file with another name"
    add("--lesson", dest="named", metavar="NAME", help=text)
    add(
        "--hint",
        type=int,
        choices=(1, 2, 3),
        help="show a hint: the third gives nearly everything away",
    )
    add("--solution", action="store_true", help="show a kernel that is right")
    add_json(parser)
    add_wait(parser, default=120)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """List lessons, show one, or judge a kernel; return whether it is right.

    Raises ArgumentTypeError for a lesson that does not exist, OSError for a file.
    """
    lessons: list[dict[str, Any]] = client.lessons()["lessons"]
    if args.lesson is None:
        _list(args, lessons, terminal)
        return True
    path = Path(args.lesson)
    is_file = args.lesson == STANDARD or args.lesson.endswith(SUFFIX)
    if args.lesson == STANDARD and args.named is None:
        raise ArgumentTypeError("standard input has no name; give --lesson NAME")
    lesson = _named(lessons, args.named or (path.stem if is_file else args.lesson))
    if args.hint is not None or args.solution:
        terminal.text(lesson["solution"] if args.solution else lesson["hints"][args.hint - 1])
        return True
    if is_file:
        return _judge(args, client, terminal, lesson)
    _show(args, lesson, terminal)
    return True


def _named(lessons: list[dict[str, Any]], name: str) -> dict[str, Any]:
    by_name = {lesson["name"]: lesson for lesson in lessons}
    if name in by_name:
        return by_name[name]
    close = get_close_matches(name[:100], by_name, 1)
    meant = f"; did you mean {close[0]}?" if close else "; `tritonc learn` lists them"
    raise ArgumentTypeError(f"there is no lesson {name[:100]!r}{meant}")


def _list(args: Namespace, lessons: list[dict[str, Any]], terminal: Terminal) -> None:
    if args.json:
        write_json({"lessons": lessons})
        return
    rows = [[item["chapter"], item["name"], item["title"]] for item in lessons]
    terminal.draw(table(["chapter", "lesson", "title"], rows))


def _show(args: Namespace, lesson: dict[str, Any], terminal: Terminal) -> None:
    """Write the text of a lesson, and its file unless that exists."""
    if args.json:
        write_json(lesson)
        return
    paragraphs = [f"{lesson['title']} ({lesson['chapter']})", *lesson["text"]]
    text = "\n\n".join(textwrap.fill(paragraph, _WIDTH) for paragraph in paragraphs)
    launch = lesson["launches"][0]
    grid = ", ".join(map(str, launch["body"]["grid"]))
    reference = textwrap.indent(launch["body"]["reference"]["source"], "    ")
    terminal.text(f"{text}\n\nTask: {lesson['goal']}\nSizes: {launch['sizes']}\nGrid: {grid}")
    terminal.text(f"Reference:\n\n{reference}")
    path = Path(lesson["name"] + SUFFIX)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(lesson["start"])
        terminal.say(f"wrote {path}; edit it, then: tritonc learn {path}")
    except FileExistsError:
        terminal.say(f"{path} already exists; to judge it, run: tritonc learn {path}")


def _judge(args: Namespace, client: Client, terminal: Terminal, lesson: dict[str, Any]) -> bool:
    """Report whether the kernel of a file is right; return that."""
    source, name = read_python(args.lesson), name_of(args.lesson)
    with waiting(args, terminal, f"judging {name}", []):
        faults = list(_faults(args, client, lesson, source, name))
    if args.json:
        write_json({"lesson": lesson["name"], "is_solved": not faults, "faults": faults})
    else:
        for fault in faults:
            terminal.text(fault)
        terminal.text("not right yet" if faults else "right, at these sizes and at hidden ones")
    return not faults


def _faults(
    args: Namespace, client: Client, lesson: Mapping[str, Any], source: str, name: str
) -> Iterator[str]:
    """Yield what is wrong with a kernel: of a launch, else of its proof or configurations.

    `name` is its file.
    """
    launches = [LaunchRequest(_with_source(each["body"], source)) for each in lesson["launches"]]
    batch: Batch = client.batches.launch(launches, wait_s=args.wait_s)
    for tried, item in zip(lesson["launches"], batch.items, strict=True):
        if not _has_passed(item):
            if tried["is_hidden"]:
                yield f"right at the sizes of the lesson, but not at others: {tried['sizes']}"
            yield _report(item, name, source)
            return
    if lesson["proof"] is not None:
        yield from _unproved(args, client, lesson["proof"], source, name)
    if lesson["sweep"] is not None:
        yield from _untuned(args, client, lesson, source)


def _with_source(body: Mapping[str, Any], source: str) -> dict[str, Any]:
    return {**body, "compilation": {**body["compilation"], "source": source}}


def _has_passed(item: BatchItem) -> bool:
    return isinstance(item.result, Launch) and item.result.verdict == PASSED


def _report(item: BatchItem, name: str, source: str) -> str:
    if not isinstance(item.result, Launch):
        return item_text(item)
    return replace(item.result, sources={POSTED_SOURCE: source}).render(name)


def _unproved(
    args: Namespace, client: Client, body: Mapping[str, Any], source: str, name: str
) -> Iterator[str]:
    kernel = {member: value for member, value in body.items() if member != "contract"}
    proof = client.prove(
        {**kernel, "source": source}, contract=body["contract"], wait_s=args.wait_s, check=False
    )
    if proof.verdict != "proved":
        yield "right at the sizes tried, but not proved for all:"
        yield from proof.short_lines(name)


def _untuned(
    args: Namespace, client: Client, lesson: Mapping[str, Any], source: str
) -> Iterator[str]:
    base = LaunchRequest(_with_source(lesson["sweep"]["base"], source))
    sweep = client.sweep(base, lesson["sweep"]["space"], wait_s=args.wait_s)
    wrong = [row for row in sweep.rows if row.verdict != PASSED]
    for row in wrong[:4]:
        values = ", ".join(f"{name} {value}" for name, value in row.values.items())
        yield f"wrong with {values}: {row.verdict or row.state}"
    count = len(sweep.rows) // len(lesson["launches"])
    if not wrong and count < lesson["configurations"]:
        needed = lesson["configurations"]
        yield f"right, but has only {count} configurations; list at least {needed}"
