"""Waiting for what goes on in the service: its progress, and the way back when one leaves."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tritonc.cli.terminal import Say, Terminal


class Interrupted(Exception):
    """Ctrl-C while something went on; the message says what, and how to come back to it."""


@contextmanager
def waiting(
    given: Namespace,
    terminal: Terminal,
    text: str,
    going_on: Sequence[str],
    *,
    is_silent: bool = False,
) -> Iterator[Say]:
    """Show the progress of what is waited for; `going_on` has the ids of what is submitted then.

    What draws its own progress `is_silent`. Raises Interrupted on Ctrl-C.
    """
    try:
        with terminal.progress(text, is_silent=is_silent) as say:
            yield say
    except KeyboardInterrupt:
        raise Interrupted(_way_back(given, going_on)) from None


def _way_back(given: Namespace, going_on: Sequence[str]) -> str:
    if not going_on:
        return "interrupted before anything was submitted"
    program = f"tritonc --url {given.url}" if given.url else "tritonc"
    shown = [f"  {program} get {name} --wait-s 60" for name in going_on]
    ended = [f"  {program} cancel {name}" for name in going_on]
    return "\n".join(["interrupted; this goes on:", *shown, "or is ended by:", *ended])
