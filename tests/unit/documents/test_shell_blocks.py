"""Commands in documents work unchanged in bash and in interactive zsh.

Interactive zsh refuses patterns that match no file, and does not treat `#` as a comment.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCUMENTS = [
    path
    for folder in ("*.md", "docs/**/*.md", "client/*.md", "examples/*.md", "benchmarks/**/*.md")
    for path in sorted(ROOT.glob(folder))
]
BLOCK = re.compile(r"^```(?:console|sh|shell|bash|zsh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SPECIAL = "*?[]#^~!"


def commands(block: str) -> Iterator[str]:
    """Yield each command after a `$` with its continuation lines."""
    command = ""
    for line in block.splitlines(keepends=True):
        if command:
            command += line
        elif line.startswith("$ "):
            command = line[2:]
        if command and not command.endswith("\\\n") and not is_open(command):
            yield command
            command = ""
    assert not command, f"the quotes of a command are not closed: {command}"


def is_open(command: str) -> bool:
    return unquoted(command) is None


def unquoted(command: str) -> str | None:
    """Return the characters outside quotes, or None if a quote is unclosed."""
    found, quote, escaped = [], "", False
    for character in command:
        if escaped:
            escaped = False
        elif character == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            found.append(character)
    return None if quote else "".join(found)


COMMANDS = [
    (str(path.relative_to(ROOT)), command)
    for path in DOCUMENTS
    for block in BLOCK.findall(path.read_text())
    for command in commands(block)
]


def test_nothing_that_a_shell_expands_is_left_unquoted():
    found = [each for each in COMMANDS if set(unquoted(each[1]) or "") & set(SPECIAL)]

    assert found == [], "quote these, or say it in the text instead"


def test_the_documents_have_commands():
    assert len(COMMANDS) > 15
    assert unquoted("""a 'b' "c" \\d [e]""") == "a    [e]"
