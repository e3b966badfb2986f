"""Cleans up Triton's messages: unwraps exceptions behind a `repr`, writes types readably."""

import ast
import re

from compiler.diagnostic import without_addresses
from compiler.front.environment import StandInUsed

MAX_MESSAGE = 4000
_REPR = re.compile(r"^(?P<kind>[A-Z]\w*)\((?P<arguments>.*)\)$", re.DOTALL)
_BLOCK = re.compile(r"<\[(?P<shape>(?:'?\d+'?(?:, )?)*)\], (?P<element>[\w*<>]+)>")
_SCALAR = re.compile(r"\b(u?int\d+|b?fp?\d+\w*)\[\]")
_BLOCK_STR = re.compile(r"\b(?P<element>u?int\d+|b?fp?\d+\w*)\[constexpr\[(?P<shape>[^\[\]]*)\]\]")
_OBJECT = re.compile(r"<triton\.language\.core\.(\w+) object>")
_CONSTEXPR = re.compile(r"constexpr(?:_type)?\[(-?\d+(?:\.\d+)?)\]")
_GLOBAL = re.compile(
    r"Cannot access global variable (\w+) from within @jit'ed function\..*", re.DOTALL
)
_INSTALLED = re.compile(r" \(/(?!kernel/)[^()]*\)$")
_NOISE = (
    (re.compile(r"`?constexpr\[<class 'triton\.language\.core\.(\w+)'>\]`?"), r"a \1"),
    (re.compile(r"<class 'triton\.language\.core\.(\w+)'>"), r"\1"),
    (re.compile(r"<class '(?:\w+\.)*(\w+)'>"), r"\1"),
    (re.compile(r"\btriton\.language\.(?=u?int\d|b?float\d)"), "tl."),
    (re.compile(r"got multiple values for argument '_\w+'"), "too many positional arguments"),
    (re.compile(r"! Please make sure that the type stays consistent\.$"), ""),
    (
        re.compile(r"^(?:KeyError: )?\((tl\.\w+(?:, tl\.\w+)*),?\)$"),
        r"the function has no form for arguments of type \1",
    ),
)
_NO_MESSAGE = "<failed to evaluate assertion message"
_PLAIN = frozenset({"AssertionError", "ValueError", "TypeError", "NameError", "AttributeError",
                    "NotImplementedError", "RuntimeError"})  # fmt: skip


def words_of(error: BaseException) -> str:
    """Return the kind and words of an exception, without where Python lies on this machine.

    The error of a stand-in has words only: its class is not one of Python or a library.
    """
    if isinstance(error, StandInUsed):
        return without_addresses(str(error))
    return without_addresses(f"{type(error).__name__}: {_INSTALLED.sub('', str(error))}")


def cleaned(message: str | None) -> str:
    """Return a message of the front end without `repr` marks, addresses and type noise."""
    text = _unwrapped(without_addresses((message or "")[:MAX_MESSAGE].strip()))
    if text.startswith("UnsupportedLanguageConstruct"):
        text = text.split("\n")[-1]
    text = _BLOCK.sub(lambda m: f"{m['element']}[{_shape(m['shape'])}]", text)
    text = _BLOCK_STR.sub(lambda m: f"{m['element']}[{_shape(m['shape'])}]", text)
    text = _CONSTEXPR.sub(r"\1", text)
    text = _SCALAR.sub(r"\1", text)
    text = _OBJECT.sub(r"a \1", text)
    for pattern, replacement in _NOISE:
        text = pattern.sub(replacement, text)
    return _GLOBAL.sub(
        r"the kernel reads the global variable '\1', which is not a tl.constexpr", text
    )


def of_assertion(message: str | None) -> str:
    """Return the message of a static assertion, or why it has none, without `repr` marks."""
    text = _unwrapped(message or "")
    if not text.startswith(_NO_MESSAGE):
        return cleaned(text)
    _, end, inner = text.rpartition(">, '")  # after the source and the node: another `repr`
    why = cleaned(_words(f"'{inner.removesuffix(')>')}")) if end else ""
    return f"(its message cannot be made: {why})" if why else "(its message cannot be made)"


def _unwrapped(text: str) -> str:
    match = _REPR.match(text)
    if match is None:
        return text
    words = _words(match["arguments"])
    if not words:
        return f"a check inside Triton failed ({match['kind']})"
    return words if match["kind"] in _PLAIN else f"{match['kind']}: {words}"


def _words(arguments: str) -> str:
    try:
        value = ast.literal_eval(arguments) if arguments else ""
    except (ValueError, SyntaxError):
        return arguments
    return str(value)


def _shape(text: str) -> str:
    return ", ".join(re.findall(r"\d+", text))
