"""Parses MLIR's generic form of a module: every operation alike, with all attributes.

One pass over the text, in time linear in it. Must not know what any operation means.
"""

import re
from collections.abc import Sequence

from compiler.lines.mlir import MlirLocations
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.refusal import Untranslatable

MAX_DEPTH = 60
"""Regions inside of regions; Python's own parser ends at 100 levels of indentation."""
_START = '"builtin.module"'
_NAMED = re.compile(r'^(#loc\w*) = loc\("([A-Za-z_][\w.]*)"\(', re.MULTILINE | re.ASCII)
_NAME = re.compile(r'"([A-Za-z_][\w.]*)"\(', re.ASCII)
"""The name in a location, `"n"(#loc)`; `"t.0"(#loc)` of an item of a tuple."""
_PRINTED = re.compile(r"%([A-Za-z_]\w*?)(?:_\d+)?(?:#\d+)?", re.ASCII)
_LAYOUT_ALIAS = re.compile(r"^(#(?!loc\d*\b)\w+) = (#.+)$", re.MULTILINE | re.ASCII)
"""`#blocked = #ttg.blocked<{sizePerThread = [1], ...}>`, above the module."""

_LOOP = re.compile(r"^ *(?:%[^\s=]+ = )?scf\.for (?:unsigned )?%(\w+) =", re.MULTILINE | re.ASCII)
_DEFINED = re.compile(r"%(\w+)(?::\d+)? =", re.ASCII)
_NUMBERED = re.compile(r"(.+)_\d+", re.ASCII)
_BLANK = re.compile(r"(?:\s+|//[^\n]*)*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PLAIN = re.compile(r'[^"(\[{<)\]}>,=:\n]+')
_IDENTIFIER = re.compile(r"[%^@#]?[\w$.-]+(?:#\d+)?")
_TYPE = re.compile(r"[!\w.]+")
_OPENING, _CLOSING = "([{<", ")]}>"


def loop_names(text: str) -> list[str]:
    """Return the user's name of the number of each `scf.for` of readable IR, "" where it has none.

    MLIR prints these names, but what parses its text again has lost them.
    """
    defined = set(_DEFINED.findall(text))
    names = []
    for printed in _LOOP.findall(text):
        numbered = _NUMBERED.fullmatch(printed)
        name = numbered[1] if numbered and numbered[1] in defined else printed
        is_name = name.isidentifier() and not _UNNAMED.fullmatch(name)
        names.append(name if is_name else "")
    return names


def module_of(text: str, names: Sequence[str] = ()) -> Operation:
    """Return the module that `text` prints. Raises `Untranslatable` for other texts.

    `names` are those of the numbers of its loops; any other number of them is ignored.
    """
    start = text.find(_START)
    if start < 0:
        message = "its module was not printed in generic form"
        raise Untranslatable(message)
    reader = _ModuleReader(text, start)
    module = reader.operation()
    if len(reader.loops) == len(names):
        for loop, name in zip(reader.loops, names, strict=True):
            loop.regions[0][0].arguments[0].name = name
    return module


def layout_aliases(text: str) -> dict[str, str]:
    """Return the definitions of the aliases of layouts that a module's types use."""
    return dict(_LAYOUT_ALIAS.findall(text))


_COUNT_DIGITS = 4
_UNNAMED = re.compile(r"arg\d+|c\d+_\w+|cst\w*|true\w*|false\w*")
"""MLIR's names of unnamed values."""


class _ModuleReader:
    def __init__(self, text: str, start: int) -> None:
        self._cursor = _Cursor(text, start)
        self._locations = MlirLocations(text)
        self._names = {match[1]: match[2] for match in _NAMED.finditer(text)}
        self._scopes: list[dict[str, Value]] = [{}]
        self.loops: list[Operation] = []
        self._operations = 0

    def operation(self) -> Operation:
        """Read one operation with all that is inside of it."""
        cursor = self._cursor
        printed = self._results()
        cursor.needs("")
        name = cursor.string()
        operation = Operation(name, self._values("(", ")"), number=self._operations)
        self._operations += 1
        if name == "scf.for":
            self.loops.append(operation)
        if cursor.takes("["):
            self._successors(operation)
        if cursor.takes("<{"):
            self._attributes(operation)
            cursor.needs(">")
        if cursor.takes("("):
            self._regions(operation)
        if cursor.takes("{"):
            self._attributes(operation)
        cursor.needs(":")
        cursor.types()
        cursor.needs("->")
        types = cursor.types()
        location = self._location()
        operation.chain = self._locations.resolve(location)
        operation.locations = self._locations.locations(location)
        for key, type_ in zip(printed, types, strict=False):
            value = self._defined(key, location, type_)
            value.made_by = operation
            operation.results.append(value)
        return operation

    def _results(self) -> list[str]:
        cursor, results = self._cursor, []
        while cursor.sees("%"):
            name = cursor.identifier()
            if cursor.takes(":"):
                results += [f"{name}#{index}" for index in range(self._count_of(name))]
            else:
                results.append(name)
            if not cursor.takes(","):
                cursor.needs("=")
                break
        return results

    def _count_of(self, name: str) -> int:
        """Read how many results have `name`."""
        count = self._cursor.identifier()
        if not (count.isascii() and count.isdecimal() and len(count) <= _COUNT_DIGITS):
            message = f"{name} names {count[:20]!r} results, which is not a number up to 9999"
            raise Untranslatable(message)
        return int(count)

    def _values(self, opening: str, closing: str) -> list[Value]:
        self._cursor.needs(opening)
        values = []
        while not self._cursor.takes(closing):
            values.append(self._value(self._cursor.identifier()))
            self._cursor.takes(",")
        return values

    def _successors(self, operation: Operation) -> None:
        cursor = self._cursor
        while not cursor.takes("]"):
            label, arguments = cursor.identifier(), []
            if cursor.takes("("):
                while not cursor.takes(":"):
                    arguments.append(self._value(cursor.identifier()))
                    cursor.takes(",")
                cursor.until("")
                cursor.needs(")")
            operation.successors.append((label, arguments))
            cursor.takes(",")

    def _attributes(self, operation: Operation) -> None:
        cursor = self._cursor
        while not cursor.takes("}"):
            name = cursor.until(",=}").strip('"')
            operation.attributes[name] = cursor.until(",}") if cursor.takes("=") else ""
            if not cursor.takes(","):
                cursor.needs("}")
                break

    def _regions(self, operation: Operation) -> None:
        if len(self._scopes) > MAX_DEPTH:
            message = f"regions are nested more than {MAX_DEPTH} deep"
            raise Untranslatable(message)
        while not self._cursor.takes(")"):
            self._scopes.append({})
            operation.regions.append(self._region())
            self._scopes.pop()
            self._cursor.takes(",")

    def _region(self) -> list[IrBlock]:
        cursor, blocks = self._cursor, list[IrBlock]()
        cursor.needs("{")
        while not cursor.takes("}"):
            if cursor.sees("^"):
                blocks.append(IrBlock(cursor.identifier()))
                if cursor.takes("("):
                    self._arguments(blocks[-1])
                cursor.needs(":")
                continue
            if not blocks:
                blocks.append(IrBlock("^bb0"))
            blocks[-1].operations.append(self.operation())
        return blocks

    def _arguments(self, block: IrBlock) -> None:
        cursor = self._cursor
        while not cursor.takes(")"):
            key = cursor.identifier()
            cursor.needs(":")
            type_ = cursor.type()
            location = self._location()
            block.arguments.append(self._defined(key, location, type_))
            block.arguments[-1].path = self._path_of(location)
            cursor.takes(",")

    def _location(self) -> str:
        """Return the inside of the `loc(...)` that comes next, "" where there is none."""
        if not self._cursor.takes("loc("):
            return ""
        inside = self._cursor.until("")
        self._cursor.needs(")")
        return inside

    def _value(self, key: str) -> Value:
        """Return the value that `key` names here; one that is defined further down is made now."""
        for scope in reversed(self._scopes):
            if key in scope:
                return scope[key]
        return self._scopes[-1].setdefault(key, Value(""))

    def _defined(self, key: str, location: str, type_: str) -> Value:
        scope = self._scopes[-1]
        known = scope.get(key)
        value = known if known is not None and not known.type else Value("")
        scope[key] = value
        value.name, value.type = self._name_of(key, location), type_
        return value

    def _path_of(self, location: str) -> str:
        """Return the path in the location of a parameter, "" where it has none."""
        match = _NAME.match(location)
        return match[1] if match else self._names.get(location, "")

    def _name_of(self, key: str, location: str) -> str:
        """Return the user's name of a value: the one in its location, else MLIR's."""
        path = self._path_of(location)
        if path and "." not in path:
            return path
        match = _PRINTED.fullmatch(key)
        return match[1] if match and not _UNNAMED.fullmatch(match[1]) else ""


class _Cursor:
    """Reads `text` from `index` on. All raise `Untranslatable` where the text ends early."""

    def __init__(self, text: str, index: int = 0) -> None:
        self.text = text
        self.index = index
        self._types: dict[str, str] = {}

    def sees(self, token: str) -> bool:
        """Return whether `token` comes next, ignoring spaces."""
        match = _BLANK.match(self.text, self.index)
        assert match is not None
        self.index = match.end()
        return self.text.startswith(token, self.index)

    def takes(self, token: str) -> bool:
        """Step over `token` if it comes next."""
        if not self.sees(token):
            return False
        self.index += len(token)
        return True

    def needs(self, token: str) -> None:
        """Step over `token`. Raises `Untranslatable` if something else comes."""
        if not self.takes(token):
            rest = self.text[self.index : self.index + 40]
            raise Untranslatable(f"its printed form has {rest!r} where {token!r} belongs")

    def identifier(self) -> str:
        """Return the name that comes next, with its sigil: `%x`, `^bb1`, `%acc#1`."""
        return self._matched(_IDENTIFIER)

    def string(self) -> str:
        """Return the quoted string that comes next, without its quotes."""
        return self._matched(_STRING)[1:-1]

    def type(self) -> str:
        """Return the type that comes next."""
        self.sees("")
        start = self.index
        self._matched(_TYPE)
        if self.text.startswith("<", self.index):
            self.index += 1
            self.until("")
            self.index += 1
        text = self.text[start : self.index].strip()
        return self._types.setdefault(text, text)

    def types(self) -> list[str]:
        """Return the types of `(a, b)` or of a single one without brackets."""
        if not self.takes("("):
            return [self.type()]
        types = []
        while not self.takes(")"):
            types.append(self.type())
            self.takes(",")
        return types

    def until(self, stops: str) -> str:
        """Return the text up to one of `stops`, or to the surrounding closing bracket."""
        self.sees("")
        text, start, depth = self.text, self.index, 0
        index = start
        while index < len(text):
            plain = _PLAIN.match(text, index)
            if plain is not None:
                index = plain.end()
                continue
            character = text[index]
            if character == '"':
                match = _STRING.match(text, index)
                index = match.end() if match is not None else len(text)
                continue
            if depth == 0 and character in stops:
                break
            if character in _OPENING:
                depth += 1
            elif character in _CLOSING and not (character == ">" and text[index - 1] == "-"):
                if depth == 0:
                    break
                depth -= 1
            index += 1
        else:
            raise Untranslatable("its printed form ends early")
        self.index = index
        return text[start:index].strip()

    def _matched(self, pattern: re.Pattern[str]) -> str:
        self.sees("")
        match = pattern.match(self.text, self.index)
        if match is None:
            rest = self.text[self.index : self.index + 40]
            raise Untranslatable(f"its printed form has {rest!r} where a name belongs")
        self.index = match.end()
        return match[0]
