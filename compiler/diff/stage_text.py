"""The text of a stage for comparison: lines whose names are separated from their meaning.

Two texts that differ in nothing but the names of values, labels, aliases and metadata do the same.
So a line is its skeleton, which has a blank for each name, and the names that stand there.
Registers of a machine are no names: which one it is can matter, as they come in pairs and quads.
They are blank in the skeleton, and `exact` has them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from compiler.diff.cleaning import CLEANED
from compiler.stages import BY_NAME, Syntax

_STRING = r'"(?:[^"\\]|\\.)*(?:"|\\?$)'


class Name(NamedTuple):
    """A name in a line: its position in the text, and whether the line defines it anew.

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
    `module_wide` are those of a module, others of a function. Where `definition` stands behind a
    name that is reused, it is defined anew; without it a name means one thing in all of a function.
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
        for found in self.name.finditer(text):
            if found.lastgroup == "string":
                continue
            between = text[start : found.start()]
            start = found.end()
            skeleton += [between, _blank(found)]
            exact += [between, found[0] if found.lastgroup == "register" else _blank(found)]
            if found.lastgroup != "register":
                names.append(self._name(found, text))
        rest = text[start:]
        return StageLine(
            number,
            text,
            "".join([*skeleton, rest]),
            "".join([*exact, rest]),
            tuple(names),
            self.function.match(text) is not None,
        )

    def _name(self, found: re.Match[str], text: str) -> Name:
        is_new = self.definition is not None and bool(self.definition.match(text, found.end()))
        word = "%" + found[0][:-1] if found.lastgroup == "label" else found[0]
        end = found.end() - (found.lastgroup == "label")
        return Name(word, found.start(), end, is_new, word.startswith(self.module_wide))


def _blank(found: re.Match[str]) -> str:
    """Return the placeholder of a name: its kind, which renaming cannot change."""
    if found.lastgroup == "label":
        return "_:"
    if found.lastgroup == "register":
        return _register_class(found[0])
    return _DIGITS.sub("_", found[0]) if found.lastgroup == "numbered" else found[0][0] + "_"


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
    cleaned = CLEANED[stage](text)
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
