"""A place in a text that only moves forward, so that reading with it is linear."""

import re

from compiler.ttir_to_numpy.refusal import Untranslatable

_BLANK = re.compile(r"(?:\s+|//[^\n]*)*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PLAIN = re.compile(r'[^"(\[{<)\]}>,=:\n]+')
_IDENTIFIER = re.compile(r"[%^@#]?[\w$.-]+(?:#\d+)?")
_TYPE = re.compile(r"[!\w.]+")
_OPENING, _CLOSING = "([{<", ")]}>"


class Cursor:
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
            found = self.text[self.index : self.index + 40]
            raise Untranslatable(f"its printed form has {found!r} where {token!r} belongs")

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
        found = []
        while not self.takes(")"):
            found.append(self.type())
            self.takes(",")
        return found

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
            found = self.text[self.index : self.index + 40]
            raise Untranslatable(f"its printed form has {found!r} where a name belongs")
        self.index = match.end()
        return match[0]
