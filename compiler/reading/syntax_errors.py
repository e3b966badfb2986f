"""Explains syntax errors: Python's own words, the place, and what people usually meant."""

import ast
import re

from compiler.diagnostic import USER_FILE, Diagnostic, Failure, Span, diagnostic, excerpt
from compiler.posted_text import python_text

_HINTS = (
    (r"cannot mix bytes and nonbytes", "Write either b before every string or before none."),
    (r"expected ':'", "A line that opens a block (`def`, `if`, `for`, `while`) ends with a colon."),
    (r"was never closed", "The bracket that the caret shows is still open at the end of the file."),
    (r"unmatched|does not match opening", "Check which bracket this one closes."),
    (r"Perhaps you forgot a comma", "Check for a missing comma or operator near the caret."),
    (r"invalid decimal literal|invalid (imaginary|hexadecimal) literal",
     "A name cannot start with a digit; or an operator is missing after the number."),
    (r"Maybe you meant '=='", "Use == to compare; = only assigns."),
    (r"cannot assign to", "The left side of = must be a name, an attribute or an element."),
    (r"unexpected indent", "This line is indented more than the block it belongs to."),
    (r"unindent does not match|inconsistent use of tabs",
     "Indent every line of a block alike; do not mix tabs and spaces."),
    (r"expected an indented block",
     "A block needs at least one indented line; `pass` does nothing."),
    (r"unterminated (f-)?string", "The string is not closed on its line."),
    (r"unterminated triple-quoted", "The triple-quoted string is never closed."),
    (r"invalid non-printable character|invalid character",
     "This character was probably pasted from a web page or a document: type it again."),
    (r"Missing parentheses in call to 'print'", "Write print(...) with parentheses."),
    (r"non-default argument follows default argument|parameter without a default follows",
     "Parameters without a default come before those with one."),
    (r"'return' outside function|'await' outside function", "Check the indentation of this line."),
    (r"null bytes", "The source holds a NUL character: was a binary file posted?"),
)  # fmt: skip

_PASTED = (
    (r"^[ \t\f]*#.*coding[:=]",
     "The posted source is Unicode already: leave this line out."),
    (r"^\s*else\s+if\b", "Python writes `elif`."),
    (r"&&|\|\|", "Python writes `and` and `or`; between tensors write & and |."),
    (r"(?<![=!<>\"'])!(?!=)\s*[\w(]",
     "Python writes `not`; for values of the running kernel write `n == 0`, or ~ for conditions."),
    (r"\w\s*(\+\+|--)\s*;?\s*$", "Python writes `i += 1` and `i -= 1`."),
    (r"\?[^:?]*:", "Python writes `a if condition else b`; for tensors tl.where(condition, a, b)."),
    (r"^\s*(const |unsigned |int |float |double |half |bool |auto )+\s*\*?\w+\s*(=|;|$)",
     "Python declares no types: write `name = value`."),
    (r"^\s*(__global__|__device__|template\s*<|#include\b|extern \"C\")",
     "This looks like CUDA C++: the source is Python with functions under @triton.jit."),
    (r"^\s*<(!DOCTYPE|html|\?xml|div|p)\b", "This is a web page, not Python."),
    (r"^\s*(%{1,2}|!)\w+(?!.* = )", "This looks like a notebook command: leave it out."),
    (
        r"^\s*(>>>|\.\.\.) ",
        "This looks like a copied Python prompt: leave out the >>> and ... marks.",
    ),
    (r"^\s*(In|Out) ?\[\d*\]:", "This looks like a notebook's cell mark: leave it out."),
    (r"^\s*```", "This looks like a Markdown fence: leave out the ``` lines."),
)  # fmt: skip

_PROSE = (
    (r"^(?:\w+Error|Traceback \(most recent|\w+Warning)\b",
     "This looks like the message of an error that was copied with the code: leave it out."),
    (r"^(?:[A-Z][\w'`]*|\d+\.|[-*#]) [\w'`*]+[ :,]|^tensor\(\[",
     "This line looks like prose or output that was copied with the code: leave it out, or put # "
     "before it."),
)  # fmt: skip

_OTHER_TEXTS = (
    (
        r"^[ \t]*(?:module\b.*\{$|tt\.func\b|%[\w-]+ = \w+\.\w+)",
        'There is MLIR in this text. Post it alone, as {"ir": {"language": "ttir", "text": ...}}; '
        "with tritonc: --language ttir.",
    ),
    (
        r"^(?:In|Out) ?\[[\w ]*\]:",
        "This looks like a notebook with its prose and output: post the code of its cells only.",
    ),
    (r"^```", "This looks like Markdown: post only the code between the ``` lines."),
    (
        r"^[ \t]*\.version [\d.]+$",
        "There is PTX in this text, which is what a compilation gives: post the Triton source.",
    ),
)
"""Likely kinds of a whole text that is not Python."""


def text_of(posted: str) -> str:
    """Return a posted text as Python reads it. Raises `Failure` (`syntax_error`)."""
    try:
        return python_text(posted)
    except SyntaxError as error:
        raise failure_of(error, posted) from error


def parse(text: str) -> ast.Module:
    """Parse Python text. Raises `Failure` (`syntax_error`) with line, column, excerpt and hint."""
    try:
        tree = ast.parse(text)
        # what only the compiler finds wrong, such as `import *` in a function, stops Python too
        compile(tree, USER_FILE, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise failure_of(error, text) from error
    except ValueError as error:
        raise Failure("syntax_error", "request", str(error), [_plain(str(error))]) from error
    except RecursionError as error:
        message = "the source is nested too deeply to be read"
        raise Failure("syntax_error", "request", message, [_plain(message)]) from error
    return tree


def _plain(message: str) -> Diagnostic:
    return diagnostic("error", "request", message, hint=_hint(message, "", ""))


def failure_of(error: SyntaxError, text: str, file: str = USER_FILE) -> Failure:
    """Return the failure (`syntax_error`) for Python's error about `text`, posted as `file`."""
    lines = text.split("\n")
    line = min(max(error.lineno or 1, 1), len(lines))
    column = max(error.offset or 1, 1)
    same_line = error.end_lineno == error.lineno and (error.end_offset or 0) > column
    end = error.end_offset if same_line else column + 1
    span = Span(file, line, column, line, end)
    shown = excerpt(lines, span)
    hint = _hint(error.msg, lines[line - 1], text)
    error_shown = diagnostic("error", "request", error.msg, hint=hint, span=span, excerpt=shown)
    place = f"line {line}" if file == USER_FILE else f"{file}, line {line}"
    return Failure("syntax_error", "request", f"{place}: {error.msg}", [error_shown])


def _hint(message: str, line: str, text: str) -> str | None:
    for pattern, hint in _PASTED:
        if re.search(pattern, line):
            return hint
    for pattern, hint in _OTHER_TEXTS:
        if re.search(pattern, text, re.MULTILINE):
            return hint
    for pattern, hint in _PROSE:
        if re.search(pattern, line):
            return hint
    for pattern, hint in _HINTS:
        if re.search(pattern, message):
            return hint
    if message == "invalid syntax" and re.search(r"\w\s+\w+\s*[,)\]]|[)\]]\s+[\w(]", line):
        return "Is a comma or an operator missing before the caret?"
    return None
