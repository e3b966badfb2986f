"""Progress while a command waits for the service, and instructions after an interruption."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tritonc.cli.terminal import Say, Terminal


class Interrupted(Exception):
    """Ctrl-C during work in the service; the message names what runs and how to get its result."""


@contextmanager
def waiting(
    args: Namespace,
    terminal: Terminal,
    text: str,
    going_on: Sequence[str],
    *,
    is_silent: bool = False,
) -> Iterator[Say]:
    """Show progress during a wait; `going_on` collects the ids of submitted work.

    `is_silent` is for callers that draw their own progress. Raises Interrupted on Ctrl-C.
    """
    try:
        with terminal.progress(text, is_silent=is_silent) as say:
            yield say
    except KeyboardInterrupt:
        raise Interrupted(_way_back(args, going_on)) from None


def _way_back(args: Namespace, going_on: Sequence[str]) -> str:
    if not going_on:
        return "interrupted before anything was submitted"
    program = f"tritonc --url {args.url}" if args.url else "tritonc"
    shown = [f"  {program} get {name} --wait-s 60" for name in going_on]
    ended = [f"  {program} cancel {name}" for name in going_on]
    return "\n".join(["interrupted; this keeps running:", *shown, "cancel it with:", *ended])
