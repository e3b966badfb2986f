"""The text of a stage for comparison: lines whose names are separated from their meaning.

Two texts that differ in nothing but the names of values, labels, aliases and metadata do the same.
So a line is its skeleton, which has a blank for each name, and the names that fill them.
Registers of a machine are no names: which one it is can matter, as they come in pairs and quads.
They are blank in the skeleton, and `exact` has them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from compiler.stages import BY_NAME, COMPARED, Syntax

_STRING = r'"(?:[^"\\]|\\.)*(?:"|\\?$)'
_Numbered = tuple[int, str]

_LOCATION = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?$)| loc\(')
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?$)|[()]')
_LOCATION_ALIAS = re.compile(r"#loc\w* = loc\(")


_NODE = re.compile(r"(!\d+) = (?:distinct )?(!DI)?")
_NODE_NAME = re.compile(r"!\d+")
_DEBUG_REFERENCE = re.compile(r",? !dbg !\d+")
_LLVM_NOISE = re.compile(
    r"\s*;|source_filename =|!llvm\.(?:dbg|ident)|\s*#dbg_|\s*(?:tail )?call void @llvm\.dbg\."
)
_LLVM_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\\?$))|;.*$')


_COMMENT = re.compile(r'("[^"]*")|//.*$')
_DIRECTIVE = r"\.loc\s[^;]*|\.file\s[^;\"]*\"[^\"]*\"[^;]*|\.reg\s+\.\w+\s+%\w+<\d+>;"
_PTX_NOISE = re.compile(  # alone on its line: behind it inline assembly may go on
    rf"\s*(?:{_DIRECTIVE}|\$L__(?:tmp|func_begin|func_end|info_string|debug)\w*:)$"
)
_DEBUG_SECTION = re.compile(r"\s*\.section\s+\.debug")


_SASS_LINE = re.compile(r"\s*(?:/\*[0-9a-f]{4,16}\*/\s*(?P<words>.*)|(?P<label>\.?[\w.$]+:)\s*$)")
_FILLING = "NOP;"


_AMD_KEPT = re.compile(r"\s+(?:[a-z]\w*(?:\s|;|$)|\.amdhsa_)|[\w.$]+:")
_AMD_NOISE = re.compile(r"\s*\.L(?:tmp|func_|debug|info_|str|section|cst)\w*:")
_AMD_COMMENT = re.compile(r"\s;.*$")
_SECTION = re.compile(r"\s*\.(?:section\s+(?P<name>\S+)|(?P<metadata>amdgpu_metadata)|text\b)")


class Name(NamedTuple):
    """A name in a line: its position in the text, and whether the line redefines it.

    Those that are not of the whole module's are of a function's.
    """

    text: str
    start: int
    end: int
    is_definition: bool
    is_of_module: bool


@dataclass(frozen=True, slots=True)
class StageLine:
    """A line of a stage: `number` is its 1-based line in the artifact, `text` its content."""

    number: int
    text: str
    skeleton: str
    exact: str
    names: tuple[Name, ...]
    begins_function: bool


@dataclass(frozen=True, slots=True)
class StageLanguage:
    """The syntax of names in a text.

    `name` finds names, strings and registers in groups of that name; names that begin with one of
    `module_wide` are those of a module, others of a function. Where `definition` follows a
    reused name, it is redefined; otherwise a name means one thing in all of a function.
    """

    name: re.Pattern[str]
    function: re.Pattern[str]
    module_wide: tuple[str, ...] = ()
    definition: re.Pattern[str] | None = None

    @property
    def reuses_names(self) -> bool:
        """True if a function may use a name for several values, one after the other."""
        return self.definition is not None

    def line(self, number: int, text: str) -> StageLine:
        """Return the line `text`."""
        skeleton, exact, names, start = [], [], [], 0
        for match in self.name.finditer(text):
            if match.lastgroup == "string":
                continue
            between = text[start : match.start()]
            start = match.end()
            skeleton += [between, _blank(match)]
            exact += [between, match[0] if match.lastgroup == "register" else _blank(match)]
            if match.lastgroup != "register":
                names.append(self._name(match, text))
        rest = text[start:]
        return StageLine(
            number,
            text,
            "".join([*skeleton, rest]),
            "".join([*exact, rest]),
            tuple(names),
            self.function.match(text) is not None,
        )

    def _name(self, match: re.Match[str], text: str) -> Name:
        is_new = self.definition is not None and bool(self.definition.match(text, match.end()))
        word = "%" + match[0][:-1] if match.lastgroup == "label" else match[0]
        end = match.end() - (match.lastgroup == "label")
        return Name(word, match.start(), end, is_new, word.startswith(self.module_wide))


def _blank(match: re.Match[str]) -> str:
    """Return the placeholder of a name: its kind, which renaming cannot change."""
    if match.lastgroup == "label":
        return "_:"
    if match.lastgroup == "register":
        return _register_class(match[0])
    return _DIGITS.sub("_", match[0]) if match.lastgroup == "numbered" else match[0][0] + "_"


def _register_class(register: str) -> str:
    """Return `R` of `R12`, and `v[4]` of `v[8:11]`."""
    kind, _, both = register.partition("[")
    if not both:
        return _DIGITS.sub("", register)
    first, _, last = both[:-1].partition(":")
    return f"{kind}[{int(last) - int(first) + 1}]"


_DIGITS = re.compile(r"\d+$")
_MLIR = StageLanguage(
    name=re.compile(
        rf"(?P<string>{_STRING})|(?P<name>%[\w$][\w$.-]*|\^bb\d+|#[A-Za-z_]\w*(?![\w.]))"
    ),
    function=re.compile(r"\s*(?:tt|llvm|func)\.func\b"),
    module_wide=("#",),
    definition=re.compile(r"(?::\d+)? = |: "),
)
_LLVM = StageLanguage(
    name=re.compile(
        rf'(?P<label>^[\w$.-]+:)|(?P<name>%(?:[\w$.-]+|"[^"]*")|!\d+|#\d+)|(?P<string>{_STRING})'
    ),
    function=re.compile(r"define\b"),
    module_wide=("!", "#"),
)
_PTX = StageLanguage(
    name=re.compile(
        rf"(?P<numbered>%[a-z]{{1,2}}\d+\b|\$L__BB\d+_\d+|\$L_\w*?\d+\b)|(?P<string>{_STRING})"
    ),
    function=re.compile(r"(?:\.\w+ )*\.(?:entry|func)\b"),
)
_SASS = StageLanguage(
    name=re.compile(r"(?P<numbered>\.L_x_\d+)|(?P<register>\bU?[RPB]\d{1,4}\b)"),
    function=re.compile(r"\.text\."),
)
_AMD = StageLanguage(
    name=re.compile(
        r"(?P<numbered>\.LBB\d+_\d+|\.L_x_\d+)"
        r"|(?P<register>\b(?:[vsa]|ttmp)(?:\d{1,4}\b|\[\d{1,4}:\d{1,4}\]))"
    ),
    function=re.compile(r"[A-Za-z_]\w*:"),
)
LANGUAGES: Mapping[Syntax, StageLanguage] = {
    "mlir": _MLIR,
    "llvm": _LLVM,
    "ptx": _PTX,
    "sass": _SASS,
    "amdgcn": _AMD,
}


def stage_lines(stage: str, text: str) -> list[StageLine]:
    """Return the lines of the stage that are compared. Raises KeyError for a binary stage."""
    language = LANGUAGES[BY_NAME[stage].syntax]
    cleaned = _CLEANED[stage](text)
    return [language.line(number, line) for number, line in cleaned if line.strip()]


class Interner:
    """Gives equal values of both texts equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def __call__(self, value: object) -> int:
        """Return the number of `value`."""
        return self._numbers.setdefault(value, len(self._numbers))


def plain_keys(lines: Iterable[StageLine], intern: Interner) -> list[int]:
    """Return keys by which lines are equal that do the same, with whatever values."""
    return [intern(("plain", line.skeleton)) for line in lines]


def exact_keys(lines: Iterable[StageLine], intern: Interner) -> list[int]:
    """Return keys by which lines are equal that do the same in the same registers."""
    return [intern(("exact", line.exact)) for line in lines]


def value_keys(lines: Iterable[StageLine], intern: Interner, *, is_deep: bool) -> list[int]:
    """Return keys by which lines are equal that do the same with values that are made by the same.

    A value is what the line does in which it occurs first; with `is_deep` also with which values
    that line does it, and so on.
    """
    keys: list[int] = []
    of_module: dict[str, int] = {}
    of_function: dict[str, int] = {}
    for line in lines:
        if line.begins_function:
            of_function.clear()
        plain = intern(("plain", line.skeleton))
        used = tuple(
            (of_module if name.is_of_module else of_function).get(name.text, -1)
            for name in line.names
            if not name.is_definition
        )
        keys.append(intern(("made", plain, used)))
        for index, name in enumerate(line.names):
            names = of_module if name.is_of_module else of_function
            if name.is_definition or name.text not in names:
                names[name.text] = intern((keys[-1] if is_deep else plain, index))
    return keys


# The relevant lines of a stage's text: without locations, comments and debug sections.
#
# Each is given with its 1-based number in the artifact, so that readers of a diff find it there.


def _mlir_lines(text: str) -> Iterator[_Numbered]:
    """Yield the lines of TTIR, TTGIR or the IR of the source without their locations."""
    for number, line in _numbered(text):
        if not _LOCATION_ALIAS.match(line) and not line.lstrip().startswith("//"):
            yield number, _without_locations(line)


def _without_locations(line: str) -> str:
    """Return a line of MLIR without every `loc(...)`; unclosed ones stay."""
    kept, start, at = [], 0, 0
    while match := _LOCATION.search(line, at):
        at = match.end()
        if match[0][0] == '"':
            continue
        end = _end_of_bracket(line, at)
        if end < 0:
            break
        kept.append(line[start : match.start()])
        start = at = end
    return "".join([*kept, line[start:]]).rstrip()


def _end_of_bracket(line: str, start: int) -> int:
    """Return where the bracket ends that was opened before `start`, -1 if nowhere."""
    depth = 1
    for bracket in _BRACKET.finditer(line, start):
        depth += {"(": 1, ")": -1}.get(bracket[0], 0)
        if depth == 0:
            return bracket.end()
    return -1


def _llvm_lines(text: str) -> Iterator[_Numbered]:
    """Yield the lines of LLVM IR, and those metadata that are not there for debuggers alone."""
    nodes: dict[str, _Numbered] = {}
    wanted: list[str] = []
    for number, line in _numbered(text):
        if node := _NODE.match(line):
            if node[2] is None:
                nodes[node[1]] = number, line
        elif not _LLVM_NOISE.match(line):
            kept = _DEBUG_REFERENCE.sub("", line)
            kept = _LLVM_COMMENT.sub(lambda match: match[1] or "", kept).rstrip()
            wanted += _NODE_NAME.findall(kept)
            yield number, kept
    reached: dict[str, _Numbered] = {}
    while wanted:
        name = wanted.pop()
        if name in nodes and name not in reached:
            reached[name] = nodes[name]
            wanted += _NODE_NAME.findall(nodes[name][1])
    yield from sorted(reached.values())


def _ptx_lines(text: str) -> Iterator[_Numbered]:
    """Yield the lines of PTX without how many virtual registers there are."""
    is_debug = False
    for number, line in _numbered(text):
        if is_debug or _DEBUG_SECTION.match(line):
            is_debug = not line.rstrip().endswith("}")
        elif not _PTX_NOISE.match(words := _COMMENT.sub(r"\1", line).rstrip()):
            yield number, words


def _sass_lines(text: str) -> Iterator[_Numbered]:
    """Yield the instructions and labels of SASS, without their addresses."""
    for number, line in _numbered(text):
        match = _SASS_LINE.match(line)
        if match is None:
            continue
        words = match["label"] or "    " + match["words"].replace(".reuse", "").rstrip()
        if words.strip() != _FILLING:
            yield number, words


def _amd_lines(text: str) -> Iterator[_Numbered]:
    """Yield the instructions, labels and settings of AMD assembly."""
    is_debug = False
    for number, line in _numbered(text):
        if section := _SECTION.match(line):
            is_debug = bool(section["metadata"]) or (section["name"] or "").startswith(".debug")
        elif not is_debug and _AMD_KEPT.match(line) and not _AMD_NOISE.match(line):
            yield number, _AMD_COMMENT.sub("", line).rstrip()


def _numbered(text: str) -> Iterator[_Numbered]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r")


CLEANERS: Mapping[Syntax, Callable[[str], Iterator[_Numbered]]] = {
    "mlir": _mlir_lines,
    "llvm": _llvm_lines,
    "ptx": _ptx_lines,
    "sass": _sass_lines,
    "amdgcn": _amd_lines,
}
"""The reader of a text whose lines are compared, by its syntax."""
_CLEANED = {name: CLEANERS[BY_NAME[name].syntax] for name in COMPARED}
"""The same by the name of a stage, in the order of the pipeline."""
