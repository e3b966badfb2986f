"""Writes docs/reference/errors.md from the table of problems: `make errors-page`."""

import textwrap
from pathlib import Path

from compiler.problem_kinds import GROUPS
from compiler.slug import ProblemKind, Slug

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "errors.md"
_HEAD = """\
# Errors

<!-- Written by `make errors-page` from compiler/problem_kinds.py: change that. -->

Everything that goes wrong is a *problem* (RFC 9457), in a refused request as
`application/problem+json`, and in a result as `problem`:

| member | meaning |
|---|---|
| `slug` | the word for what went wrong; the sections below |
| `reason` | a finer word: `static_assert` of `compile_error`, those of [programs](programs.md) |
| `fault` | the part to change: `request` (a field), `source` (the code you posted) or `service` |
| `retryable` | the same request may work later; `Retry-After` gives the delay |
| `file`, `line` | the place in what you posted; `diagnostics` have columns, excerpts and hints |
| `errors`, `parameter`, `limit` | wrong fields by JSON pointer; the parameter or limit at fault |
| `title`, `detail` | what went wrong, for people |

A kernel that does not compile is not an HTTP error: the answer is 200 and its `state` is `failed`.

**What is stable.** Decide by `slug`, `reason`, `fault` and `retryable`. A slug keeps its meaning,
fault and status in all versions of `/v1`. New slugs may come, so treat one that you do not know by
its `fault`. Titles and details are for people, and change. `program` of a program's problem is
`reference` where that is to blame.
"""


def errors_page() -> str:
    """Return the text of the page."""
    parts = [_HEAD]
    for title, kinds in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_section(slug, kind) for slug, kind in kinds.items()]
    return "\n".join(parts)


def _section(slug: Slug, kind: ProblemKind) -> str:
    answered = f"HTTP {kind.status}" if kind.status else "a result"
    again = ", retryable" if kind.is_retryable else ""
    text = textwrap.fill(
        f"{answered}, fault: {kind.fault}{again}. {kind.cause} {kind.remedy}", 100,
        break_on_hyphens=False,
    )  # fmt: skip
    text = text[0].upper() + text[1:]
    return f"### `{slug}`\n\n{text}\n\n    {kind.example}\n"


if __name__ == "__main__":
    DOCUMENT.write_text(errors_page())
