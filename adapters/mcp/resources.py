"""Pages and lessons that language models read on demand. Runs in: service.

Pages are those of the documentation on what the tools take and answer: requests, verdicts,
contracts, errors. Lessons come from `GET /v1/lessons`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fastapi import Request
from mcp import types

from compiler.rejection import did_you_mean
from service.http.inner_request import ask_itself

_SCHEME: Final = "tritond://"
_MARKDOWN: Final = "text/markdown"
_HERE: Final = Path(__file__).parent
PAGES: Final[Mapping[str, tuple[str, str]]] = {
    "launches": ("reference/launches.md", "Launches: arguments, references, checks, verdicts"),
    "programs": ("reference/programs.md", "Programs of PyTorch: requests, flags, reward"),
    "proofs": ("reference/proofs.md", "Proofs: contracts, verdicts, what is not proved and why"),
    "sweeps": ("reference/sweeps.md", "Sweeps: axes, conditions, columns"),
    "assumed": ("reference/assumed.md", "What is assumed where types or values are left out"),
    "errors": ("reference/errors.md", "Every error: what it means, and what to do"),
    "tuning": ("how-to/tools.md", "What makes a kernel slow, and the tools of this server"),
    "correctness": ("explanation/correctness.md", "How a launch is judged, and what escapes it"),
}
"""Pages by name: their path below docs, and a title."""


async def listed_resources(request: Request) -> list[types.Resource]:
    """Return the entries of all pages and lessons."""
    pages = [_entry(f"docs/{name}", title) for name, (_, title) in PAGES.items()]
    lessons = await _lessons(request)
    return pages + [
        _entry(f"lessons/{lesson['name']}", f"Lesson: {lesson['title']}. {lesson['goal']}")
        for lesson in lessons
    ]


async def resource(request: Request, uri: str) -> types.ReadResourceResult:
    """Return the text of a page or a lesson. Raises ValueError for an unknown URI."""
    kind, _, name = uri.removeprefix(_SCHEME).partition("/")
    if kind == "docs" and name in PAGES:
        text = _page(PAGES[name][0])
    else:
        lessons = {lesson["name"]: lesson for lesson in await _lessons(request)}
        if kind != "lessons" or name not in lessons:
            known = [f"docs/{page}" for page in PAGES] + [f"lessons/{lesson}" for lesson in lessons]
            meant = did_you_mean(uri[:200].removeprefix(_SCHEME), known)
            raise ValueError(f"There is no resource {uri[:200]!r}.{meant}")
        text = "\n\n".join(_lesson(lessons[name]))
    content = types.TextResourceContents(uri=uri, mimeType=_MARKDOWN, text=text)
    return types.ReadResourceResult(contents=[content])


def _entry(path: str, title: str) -> types.Resource:
    return types.Resource(
        name=path.rpartition("/")[2], uri=_SCHEME + path, description=title, mimeType=_MARKDOWN
    )


def _page(path: str) -> str:
    """Return a page of the documentation: in an installation next to this file, else docs."""
    installed = _HERE / "pages" / path
    folder = installed if installed.is_file() else _HERE.parents[1] / "docs" / path
    return folder.read_text("utf-8")


async def _lessons(request: Request) -> Sequence[Mapping[str, Any]]:
    answered = await ask_itself(request, "GET", "/v1/lessons")
    if answered.is_problem:
        raise ValueError(str(answered.json["detail"]))
    lessons: Sequence[Mapping[str, Any]] = answered.json["lessons"]
    return lessons


def _lesson(lesson: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts of a lesson, with its launch in the words of the tool."""
    yield f"# {lesson['title']}"
    yield from lesson["text"]
    yield f"Goal: {lesson['goal']}"
    yield f"Begin with:\n\n```python\n{lesson['start']}```"
    body = lesson["launches"][0]["body"]
    arguments = {
        "constexprs": body["compilation"]["constexprs"],
        "arguments": body["arguments"],
        "grid": body["grid"],
        "reference": body["reference"]["source"],
        "checks": body["checks"],
    }
    yield f"Judge it with `launch`, and these arguments:\n\n```json\n{json.dumps(arguments)}\n```"
    sizes = [launch["sizes"] for launch in lesson["launches"][1:]]
    if sizes:
        yield "\n".join(["It must pass with these sizes, too:", *(f"- {size}" for size in sizes)])
    if lesson["proof"]:
        contract = lesson["proof"]["contract"]
        yield f"`prove` must prove it, with this contract:\n\n```text\n{contract}\n```"
    yield "\n".join(["Hints:", *(f"{n}. {hint}" for n, hint in enumerate(lesson["hints"], 1))])
    yield f"Solution:\n\n```python\n{lesson['solution']}```"
