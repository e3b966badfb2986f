"""Terminal output of all commands: colours, tables and progress.

Results go to standard output, everything about them to standard error. Files and pipes get plain
whole lines without cursor movement. Text from servers is escaped, so that it cannot control a
terminal.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from tritonc.diagnostic import printable

if TYPE_CHECKING:  # most commands draw nothing, so rich is imported only when needed
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

SHOW_AFTER_S = 1.0  # shorter waits need no progress display
_WIDEST = 10_000  # columns of a file or pipe, so that nothing is wrapped or cut
_STYLES = (  # `word` gets the style
    (r"(?m)^(?:\S[^\n]*?: )?(?P<word>error): ", "bold red"),
    (r"(?m)^(?:\S[^\n]*?: )?(?P<word>warning|incomplete): ", "bold yellow"),
    (r"(?m)^ *(?P<word>hint|note): ", "cyan"),
    (r"(?m)^ *(?P<word>\^+)$", "bold red"),
    (r"(?m)^(?P<word>spills: .*)$", "yellow"),
    (r"(?m)^(?P<word>verdict: (?:passed|not_checked))\b", "bold green"),
    (r"(?m)^(?P<word>verdict: (?!passed|not_checked)\w+)", "bold red"),
)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Terminal:
    """The two streams of a command; `environment` decides on their colours.

    A non-empty NO_COLOR turns colours off. FORCE_COLOR (not empty, not 0) turns them on. Otherwise
    terminals get colours, except for TERM=dumb. Only terminals get redrawn output.
    """

    environment: Mapping[str, str]

    def text(self, text: str) -> None:
        """Write a result in whole lines to standard output, coloured but otherwise unchanged."""
        self._write(text, sys.stdout)

    def say(self, text: str) -> None:
        """Write a message about a result to standard error."""
        self._write(text, sys.stderr)

    def draw(self, drawn: "TextTable", stream: TextIO | None = None) -> None:
        """Write a table, by default as a result; plain lines if the stream is not a terminal."""
        stream = stream or sys.stdout
        if is_terminal(stream, self.environment):
            self.console(stream).print(drawn.drawn())
            stream.flush()
        else:
            self._write(drawn.plain(), stream)

    def console(self, stream: TextIO) -> "Console":
        """Return rich's console of a stream; it never interprets text as markup."""
        from rich.console import Console

        is_drawn = is_terminal(stream, self.environment)
        return Console(
            file=stream,
            force_terminal=is_drawn,
            force_jupyter=False,
            color_system="standard" if has_colour(stream, self.environment) else None,
            width=None if is_drawn else _WIDEST,
            markup=False,
            highlight=False,
            emoji=False,
            _environ=self.environment,
        )

    @property
    def is_live(self) -> bool:
        """True if progress can be drawn: standard error is a terminal."""
        return is_terminal(sys.stderr, self.environment)

    @contextmanager
    def progress(
        self, text: str, *, is_silent: bool = False, line_every_s: float | None = None
    ) -> Iterator[Say]:
        """Show a progress message after SHOW_AFTER_S; the yielded function replaces it.

        It is drawn on terminals only. Elsewhere messages are lines, one in `line_every_s`, and by
        default none.
        """
        if not is_silent and not self.is_live and line_every_s is not None:
            yield self._lines_of_progress(line_every_s)
            return
        if is_silent or not self.is_live:
            yield _say_nothing
            return
        status = self.console(sys.stderr).status(_cell(text))
        timer = Timer(SHOW_AFTER_S, status.start)
        timer.daemon = True
        timer.start()
        try:
            yield lambda text: status.update(_cell(text))
        finally:
            timer.cancel()
            timer.join()  # it may be about to start the status
            status.stop()

    def _lines_of_progress(self, every_s: float) -> Say:
        """Return a function that writes its message unless it wrote one less than that ago."""
        last_s = monotonic()

        def say(text: str) -> None:
            nonlocal last_s
            if monotonic() - last_s >= every_s:
                last_s = monotonic()
                self.say(text)

        return say

    def _write(self, text: str, stream: TextIO) -> None:
        text = printable(text.rstrip("\n"))
        if text and has_colour(stream, self.environment):
            self.console(stream).print(_coloured(text), soft_wrap=True)
        elif text:
            stream.write(text + "\n")
        stream.flush()


def is_terminal(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Return whether a user looks at `stream`, on a terminal that can move its cursor."""
    return stream.isatty() and environment.get("TERM") != "dumb"


def has_colour(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Return whether to write colours to `stream`; see no-color.org and force-color.org."""
    if environment.get("NO_COLOR"):
        return False
    forced = environment.get("FORCE_COLOR")
    return forced != "0" if forced else is_terminal(stream, environment)


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts: drawn on a terminal, plain columns elsewhere."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""

    def drawn(self) -> "Table":
        """Return rich's table, with columns of numbers aligned to the right."""
        from rich import box
        from rich.table import Table

        title = _cell(self.title) if self.title else None
        drawn = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
        for index, column in enumerate(self.columns):
            side = "right" if self._has_numbers(index) else "left"
            drawn.add_column(_cell(column), justify=side)  # type: ignore[arg-type]
        for row in self.rows:
            drawn.add_row(*map(_cell, row))
        return drawn

    def plain(self) -> str:
        """Return lines with two spaces between columns and no trailing ones."""
        lines = [[" ".join(cell.split()) for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        numbers = [self._has_numbers(index) for index in range(len(widths))]
        shown = [
            "  ".join(
                cell.rjust(width) if is_number else cell.ljust(width)
                for cell, width, is_number in zip(line, widths, numbers, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*([self.title] if self.title else []), *shown])

    def _has_numbers(self, index: int) -> bool:
        return bool(self.rows) and all(_NUMBER.fullmatch(row[index]) for row in self.rows)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> TextTable:
    """Return a table of texts for `Terminal.draw`."""
    return TextTable(columns, [list(row) for row in rows], title)


_NUMBER = re.compile(r"[-+±\d.,e %x→]*")


def _cell(text: str) -> "Text":
    from rich.text import Text

    return Text(printable(text))


def _coloured(text: str) -> "Text":
    """Return the text of a compiler or a launch with coloured keywords."""
    styled = _cell(text)
    for pattern, style in _STYLES:
        for match in re.finditer(pattern, text):
            styled.stylize(style, *match.span("word"))
    return styled


def _say_nothing(_: str) -> None:
    pass
