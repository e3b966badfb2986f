"""The relevant lines of a stage's text: without locations, comments and debug sections.

Each is given with its 1-based number in the artifact, so that readers of a diff find it there.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from compiler.stages import BY_NAME, COMPARED, Syntax

Numbered = tuple[int, str]

_LOCATION = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?$)| loc\(')
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?$)|[()]')
_LOCATION_ALIAS = re.compile(r"#loc\w* = loc\(")


def mlir_lines(text: str) -> Iterator[Numbered]:
    """Yield the lines of TTIR, TTGIR or the IR of the source without their locations."""
    for number, line in _numbered(text):
        if not _LOCATION_ALIAS.match(line) and not line.lstrip().startswith("//"):
            yield number, without_locations(line)


def without_locations(line: str) -> str:
    """Return a line of MLIR without every `loc(...)`; unclosed ones stay."""
    kept, start, at = [], 0, 0
    while found := _LOCATION.search(line, at):
        at = found.end()
        if found[0][0] == '"':
            continue
        end = _end_of_bracket(line, at)
        if end < 0:
            break
        kept.append(line[start : found.start()])
        start = at = end
    return "".join([*kept, line[start:]]).rstrip()


def _end_of_bracket(line: str, start: int) -> int:
    """Return where the bracket ends that was opened before `start`, -1 if nowhere."""
    depth = 1
    for found in _BRACKET.finditer(line, start):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return -1


_NODE = re.compile(r"(!\d+) = (?:distinct )?(!DI)?")
_NODE_NAME = re.compile(r"!\d+")
_DEBUG_REFERENCE = re.compile(r",? !dbg !\d+")
_LLVM_NOISE = re.compile(
    r"\s*;|source_filename =|!llvm\.(?:dbg|ident)|\s*#dbg_|\s*(?:tail )?call void @llvm\.dbg\."
)
_LLVM_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\\?$))|;.*$')


def llvm_lines(text: str) -> Iterator[Numbered]:
    """Yield the lines of LLVM IR, and those metadata that are not there for debuggers alone."""
    nodes: dict[str, Numbered] = {}
    wanted: list[str] = []
    for number, line in _numbered(text):
        if node := _NODE.match(line):
            if node[2] is None:
                nodes[node[1]] = number, line
        elif not _LLVM_NOISE.match(line):
            found = _DEBUG_REFERENCE.sub("", line)
            found = _LLVM_COMMENT.sub(lambda match: match[1] or "", found).rstrip()
            wanted += _NODE_NAME.findall(found)
            yield number, found
    reached: dict[str, Numbered] = {}
    while wanted:
        name = wanted.pop()
        if name in nodes and name not in reached:
            reached[name] = nodes[name]
            wanted += _NODE_NAME.findall(nodes[name][1])
    yield from sorted(reached.values())


_COMMENT = re.compile(r'("[^"]*")|//.*$')
_DIRECTIVE = r"\.loc\s[^;]*|\.file\s[^;\"]*\"[^\"]*\"[^;]*|\.reg\s+\.\w+\s+%\w+<\d+>;"
_PTX_NOISE = re.compile(  # alone on its line: behind it inline assembly may go on
    rf"\s*(?:{_DIRECTIVE}|\$L__(?:tmp|func_begin|func_end|info_string|debug)\w*:)$"
)
_DEBUG_SECTION = re.compile(r"\s*\.section\s+\.debug")


def ptx_lines(text: str) -> Iterator[Numbered]:
    """Yield the lines of PTX without how many virtual registers there are."""
    is_debug = False
    for number, line in _numbered(text):
        if is_debug or _DEBUG_SECTION.match(line):
            is_debug = not line.rstrip().endswith("}")
        elif not _PTX_NOISE.match(words := _COMMENT.sub(r"\1", line).rstrip()):
            yield number, words


_SASS_LINE = re.compile(r"\s*(?:/\*[0-9a-f]{4,16}\*/\s*(?P<words>.*)|(?P<label>\.?[\w.$]+:)\s*$)")
_FILLING = "NOP;"


def sass_lines(text: str) -> Iterator[Numbered]:
    """Yield the instructions and labels of SASS, without their addresses."""
    for number, line in _numbered(text):
        match = _SASS_LINE.match(line)
        if match is None:
            continue
        words = match["label"] or "    " + match["words"].replace(".reuse", "").rstrip()
        if words.strip() != _FILLING:
            yield number, words


_AMD_KEPT = re.compile(r"\s+(?:[a-z]\w*(?:\s|;|$)|\.amdhsa_)|[\w.$]+:")
_AMD_NOISE = re.compile(r"\s*\.L(?:tmp|func_|debug|info_|str|section|cst)\w*:")
_AMD_COMMENT = re.compile(r"\s;.*$")
_SECTION = re.compile(r"\s*\.(?:section\s+(?P<name>\S+)|(?P<metadata>amdgpu_metadata)|text\b)")


def amd_lines(text: str) -> Iterator[Numbered]:
    """Yield the instructions, labels and settings of AMD assembly."""
    is_debug = False
    for number, line in _numbered(text):
        if section := _SECTION.match(line):
            is_debug = bool(section["metadata"]) or (section["name"] or "").startswith(".debug")
        elif not is_debug and _AMD_KEPT.match(line) and not _AMD_NOISE.match(line):
            yield number, _AMD_COMMENT.sub("", line).rstrip()


def _numbered(text: str) -> Iterator[Numbered]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r")


CLEANERS: Mapping[Syntax, Callable[[str], Iterator[Numbered]]] = {
    "mlir": mlir_lines,
    "llvm": llvm_lines,
    "ptx": ptx_lines,
    "sass": sass_lines,
    "amdgcn": amd_lines,
}
"""The reader of a text whose lines are compared, by its syntax."""
CLEANED = {name: CLEANERS[BY_NAME[name].syntax] for name in COMPARED}
"""The same by the name of a stage, in the order of the pipeline."""
