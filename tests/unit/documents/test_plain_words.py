"""Texts avoid phrases that made them hard to read: docstrings, comments, messages, documents."""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from jobs.features import NAMES

ROOT = Path(__file__).parents[3]
TEXTS = [
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"),
    *("docs", "examples", "benchmarks", ".github", "action.yml", "Makefile", "Dockerfile"),
    *("adapters", "client", "compiler", "jobs", "launch", "page", "service", "store", "tests"),
    *("worker", *NAMES),
]
FOREIGN = re.compile(
    r"\bhangs? on\b"  # depends on
    r"|\b(?:is|are|be) told\b"  # receives; reports; name the actor
    r"|\bnobody\b|\bwhoever\b"  # name the actor
    # a docstring names its subject; "Which" and "That" open a clause without one
    r'|(?:"""|/\*\* )(?:What|Whether|How|Which|Who|That)\b',
    re.IGNORECASE,
)
PARTS = (
    "hang",
    " told",
    "nobody",
    "whoever",
    *(f"{quote}{word}" for quote in ('"""', "/** ") for word in ("wh", "how", "that")),
)
"""One of them is in each such phrase, and is found much sooner than the expression."""
ALLOWED = {
    # the tape as the recorder writes it
    ("docs/reference/programs-tape.md", "hangs on"),
}
PLAIN = {
    r"\bbeside\b": "next to, with, in addition to",
    r"\bsaid\b": "given, reported; for a name: the thing",
    r"\bsays\b": "contains, returns, reports, names",
    r"\b(?:some|any)body\b": "the actor",
    r"\bof what\b": "of the thing",
    r"(?<!there )\bis no (?!longer\b)": "is not a",
    r"\bstands?\b(?!-in| for )": "is, comes",
    r"\bof (?:its|their|our) own\b": "its own, separate",
    r"\bof ours\b": "our",
    r"\bso many\b": "that many, N",
    r"\b(?:as|device|numbers|change|bound|it) in words\b": "as text",
    r"\bunder way\b": "running",
    r"\bbut for\b": "except",
    r"\banew\b": "again",
    r"\bmend(?:s|ed|ing)?\b": "fix",
}
"""Phrases of another language, and what a native engineer writes."""
ANY_PHRASE = re.compile("|".join(PLAIN), re.IGNORECASE)
PLAIN_PARTS = (
    *(
        "beside",
        "said",
        "says",
        "ybody",
        "of what",
        "is no ",
        "stand",
        "of its own",
        "of their own",
    ),
    *("of our", "so many", "in words", "under way", "but for", "anew", "mend"),
)
"""One of them is in each of `PLAIN`, and is found much sooner than the expression."""
IN_PLAIN_WORDS = (
    *("adapters", "client", "jobs", "service", "store"),
    "page/src/operation_texts.json",
)
"""Packages and files without any of `PLAIN`; add one when it is."""
MESSAGES_IN_PLAIN_WORDS = (
    *("benchmarks", "compiler", "launch", "programs", "proofs", "sweeps", "worker"),
)
"""Packages whose strings other than docstrings are without any of it."""
FRAME_MEMBERS = {"beside"}
"""Strings that processes of tritond exchange."""
PROSE_IN_PLAIN_WORDS = (
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs"),
    *(
        "client",
        "compiler",
        "examples",
        "launch",
        "programs",
        "proofs",
        "sweeps",
        "tests",
        "worker",
    ),
)
"""Documents (without code and tables) and packages (comments, docstrings) without any of it."""
NO_NAMES = {"beside", "found", "given", "mended", "one", "said"}
"""Words that name nothing: a variable or parameter has the noun for what it holds."""
NAMES_IN_PLAIN_WORDS = (
    *("adapters", "benchmarks", "client", "compiler", "jobs", "launch", "programs", "proofs"),
    *("service", "store", "sweeps", "worker"),
)
"""Packages without such names; add one when it is."""
READ_BY_PROGRAMS = [
    # copied into the artifact `numpy`
    ROOT / "compiler/ttir_to_numpy/runtime",
    # sources of users; `# says:` begins an expected message
    ROOT / "tests/kernels",
]
EXAMPLES = Path(__file__)
"""Has the phrases themselves."""
WRITTEN = {
    ".py",
    ".md",
    ".ts",
    ".mjs",
    ".js",
    ".html",
    ".css",
    ".lua",
    ".sh",
    ".bash",
    ".yml",
    ".toml",
}
BUILT = {"node_modules", "built", "__pycache__"}


def texts(tops: Iterable[str] = TEXTS) -> Iterator[Path]:
    for top in (ROOT / name for name in tops):
        if top.is_file():
            yield top
        for path in top.rglob("*"):
            if path.suffix not in WRITTEN or path == EXAMPLES:
                continue
            if not BUILT.intersection(path.parts):
                yield path


def foreign_phrases(text: str) -> list[str]:
    lower = text.lower()
    if not any(part in lower for part in PARTS):
        return []
    return [match[0] for match in FOREIGN.finditer(text)]


def test_texts_avoid_phrases_that_made_them_hard_to_read() -> None:
    found = {
        (str(path.relative_to(ROOT)), phrase.lower())
        for path in texts()
        for phrase in foreign_phrases(path.read_text())
    }

    assert sorted(found - ALLOWED) == []


def test_packages_in_plain_words_stay_so() -> None:
    phrases = {re.compile(phrase, re.IGNORECASE): instead for phrase, instead in PLAIN.items()}
    strange = [
        (str(path.relative_to(ROOT)), match[0], instead)
        for path in texts(IN_PLAIN_WORDS)
        if path.suffix in {".py", ".lua", ".json"}
        for phrase, instead in phrases.items()
        for match in phrase.finditer(path.read_text())
    ]

    assert strange == []


def names(path: Path) -> set[str]:
    """Return the names of a module's variables and parameters."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    variables = {node.id for node in nodes if isinstance(node, ast.Name)}
    return variables | {node.arg for node in nodes if isinstance(node, ast.arg)}


def test_names_in_plain_words_stay_so() -> None:
    strange = [
        (str(path.relative_to(ROOT)), name)
        for path in texts(NAMES_IN_PLAIN_WORDS)
        if path.suffix == ".py"
        for name in sorted(NO_NAMES & names(path))
    ]

    assert strange == []


def messages(path: Path) -> list[str]:
    """Return the strings of a module that are not docstrings."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


def test_messages_in_plain_words_stay_so() -> None:
    strange = [
        (str(path.relative_to(ROOT)), match[0], message)
        for path in texts(MESSAGES_IN_PLAIN_WORDS)
        if path.suffix == ".py"
        and not any(path.is_relative_to(folder) for folder in READ_BY_PROGRAMS)
        and any(part in path.read_text().lower() for part in PLAIN_PARTS)
        for message in messages(path)
        if message not in FRAME_MEMBERS
        for match in ANY_PHRASE.finditer(message)
    ]

    assert strange == []


def prose(path: Path) -> str:
    """Return a document without its code and tables, or the docstrings and comments of a module.

    Comments only where one may have a phrase: to find them takes longer than all else.
    """
    text = path.read_text()
    if path.suffix == ".md":
        text = re.sub(r"(?ms)^ *```.*?^ *```|^\|[^\n]*|`[^`\n]*`", "", text)
        return re.sub(r"(?<!\n)\n *", " ", text)
    comments = []
    if any(ANY_PHRASE.search(line.partition("#")[2]) for line in text.splitlines()):
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    docstrings = [
        re.sub(r"`[^`\n]*`|(?<!\n)\n *", " ", node.value.value)
        for node in statements(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return "\n".join(comments + docstrings)


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements, and the clauses around some; no expression is looked into."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for name in ("body", "handlers", "cases", "orelse", "finalbody"):
            waiting += getattr(node, name, [])


def test_prose_in_plain_words_stays_so() -> None:
    phrases = {re.compile(phrase, re.IGNORECASE): instead for phrase, instead in PLAIN.items()}
    suspects = [
        path
        for path in texts(PROSE_IN_PLAIN_WORDS)
        if path.suffix in {".py", ".md"}
        and not any(path.is_relative_to(folder) for folder in READ_BY_PROGRAMS)
        for line in [" ".join(path.read_text().lower().split())]
        if any(part in line for part in PLAIN_PARTS) and ANY_PHRASE.search(line)
    ]
    strange = [
        (str(path.relative_to(ROOT)), match[0], instead)
        for path in suspects
        for text in [prose(path)]
        for phrase, instead in phrases.items()
        for match in phrase.finditer(text)
    ]

    assert strange == []


def test_prose_of_a_module_is_its_comments_and_docstrings(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""A `name`."""\nsaid = "says"  # it says why\n')

    assert prose(module) == "# it says why\nA  ."


def test_messages_of_a_module_are_its_strings(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""Text."""\nwhy = f"{one} is no " "number"  # comment\n')

    assert messages(module) == [" is no number"]


def test_prose_has_phrases_that_a_line_break_divides(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""A child of\n    its own."""\n')

    assert "of its own" in prose(module)


def test_prose_of_a_document_has_no_code_and_no_tables(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text("Use `says`.\n\n```\nsaid\n```\n\n| says | of what |\n")

    assert prose(document).split() == ["Use", "."]


@pytest.mark.parametrize(
    "text",
    [
        '"""Whether it is over."""',
        "the result hangs on the seed",
        "a worker is told its limits",
        "Nobody waits for it",
        "/** What is on the page. */",
    ],
)
def test_such_a_phrase_is_found(text: str) -> None:
    assert foreign_phrases(text)


def test_names_that_hold_such_a_word_are_no_phrases() -> None:
    assert foreign_phrases("nobody_listens(error)") == []
