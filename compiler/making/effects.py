"""Which statements can change what a kernel sees: the rule that a slice stands on.

A statement may be left out only when nothing it runs can reach an object that the kernel reaches.
What cannot be decided counts as an effect. Reads syntax only; docs/correctness.md has the rule.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum, auto
from functools import cached_property

from compiler.making import names
from compiler.making.import_names import Imported, imports
from compiler.making.jit import Aliases
from compiler.making.names import Mention
from compiler.making.outline import Outline, Unit

OPAQUE_NAMES = frozenset(
    {"globals", "locals", "vars", "exec", "eval", "compile", "breakpoint", "help", "__import__",
     "__builtins__", "__loader__", "__spec__"}
)  # fmt: skip
"""Builtins through which every name of a module can be seen or changed."""

_OPAQUE_MODULES = frozenset(
    {"builtins", "importlib", "inspect", "gc", "ctypes", "runpy", "pkgutil", "code", "codeop",
     "threading", "_thread", "multiprocessing", "concurrent", "asyncio", "signal", "atexit",
     "pickle", "marshal", "linecache", "zipimport", "imp", "trace", "pdb", "bdb", "dis", "site",
     "weakref", "user", "__main__"}
)  # fmt: skip
_OPAQUE_OF_SYS = frozenset(
    {"modules", "_getframe", "_current_frames", "settrace", "setprofile", "meta_path",
     "path_hooks", "path_importer_cache", "addaudithook", "monitoring", "exc_info", "excepthook"}
)  # fmt: skip
_STATELESS = frozenset(
    {"math", "cmath", "typing", "typing_extensions", "dataclasses", "enum", "abc", "functools",
     "itertools", "collections", "operator", "numbers", "string", "textwrap", "copy", "struct",
     "contextlib", "types", "fractions", "bisect", "heapq", "__future__", "time", "datetime"}
)  # fmt: skip
"""Of the standard library: calls of these change nothing but what they are given."""

_ALWAYS_SEEN = frozenset({"triton", "os", "sys", "warnings"})
"""Modules that Triton itself looks into, whatever the kernel does."""

_INERT_OF_TRITON = frozenset(
    {"cdiv", "next_power_of_2", "autotune", "heuristics", "Config", "compile", "set_allocator",
     "jit", "constexpr", "testing.perf_report", "testing.Benchmark", "testing.do_bench",
     "testing.do_bench_cudagraph", "testing.assert_close", "language.constexpr",
     "runtime.driver.active.get_active_torch_device", "runtime.driver.active.get_current_target",
     "runtime.driver.active.get_current_device", "runtime.driver.active.get_device_interface",
     "language.cdiv", "runtime.jit.jit", "runtime.autotuner.autotune", "language.core.constexpr",
     "runtime.autotuner.heuristics", "tools.tensor_descriptor.TensorDescriptor", "runtime.Config",
     "tools.tensor_descriptor.TensorDescriptor.from_tensor", "experimental.gluon.jit",
     "language.dtype", "constexpr_function", "runtime.jit.constexpr_function"}
)  # fmt: skip


class Kind(Enum):
    """What a name stands for, as far as all statements that bind it say."""

    IMMUTABLE = auto()
    CONSTEXPR = auto()
    KERNEL = auto()
    FUNCTION = auto()
    ENUM = auto()
    MODULE = auto()
    OTHER = auto()


class Effects:
    """What the statements of one module can do to the objects of its names."""

    def __init__(self, outline: Outline, aliases: Aliases, files: Collection[str]) -> None:
        self._outline = outline
        self._aliases = aliases
        self._posted = {name.split("/")[0].removesuffix(".py") for name in files} | {"."}
        self._binding: dict[str, list[Unit]] = {}
        self._rebound: set[str] = set()
        for unit in outline.units:
            for name in unit.binds:
                self._binding.setdefault(name, []).append(unit)
            self._rebound |= unit.reading.later_binds
        self._kinds: dict[str, Kind] = {}
        self._closures: dict[int, list[Mention]] = {}

    def binding(self, name: str) -> list[Unit]:
        """Return the units that bind a name when they are run."""
        return self._binding.get(name, [])

    def is_foreign(self, root: str) -> bool:
        """Return whether a module is neither posted, nor Triton's, nor of the standard library."""
        return root not in self._posted and root != "triton" and root not in sys.stdlib_module_names

    def is_posted(self, root: str) -> bool:
        """Return whether a module is one of the request's further files."""
        return root in self._posted

    # -- kinds ----------------------------------------------------------------------------

    @cached_property
    def _any_name_may_come(self) -> bool:
        """Whether a star import can bind any name to anything."""
        return any(star_imports(unit) for unit in self._outline.units)

    @cached_property
    def imported(self) -> dict[str, Imported]:
        """What each name was imported as, for names that nothing else binds."""
        found: dict[str, Imported | None] = {}
        for unit in self._outline.units:
            said: dict[str, set[Imported]] = {}
            for name, origin in imports(unit.nodes):
                said.setdefault(name, set()).add(origin)
            others = names.stored(unit.nodes, imports=False) if said else unit.binds
            for name in unit.binds:
                meanings = said.get(name, set())
                meant = next(iter(meanings)) if len(meanings) == 1 and name not in others else None
                found[name] = meant if found.get(name, meant) == meant else None
        return {n: v for n, v in found.items() if v is not None and n not in self._rebound}

    def kind(self, name: str) -> Kind:
        """Return what a name stands for."""
        known = self._kinds.get(name)
        if known is None:
            self._kinds[name] = Kind.OTHER  # while it is being asked: a name made of itself
            known = self._kinds[name] = self._find_kind(name)
        return known

    def _find_kind(self, name: str) -> Kind:
        if name in self._rebound:
            return Kind.OTHER
        if name in self.imported:
            return Kind.MODULE
        units = self.binding(name)
        if not units:
            return Kind.OTHER
        kinds = {self._bound_as(name, node) for unit in units for node in self._binders(unit, name)}
        kind = kinds.pop() if len(kinds) == 1 else Kind.OTHER
        if self._any_name_may_come and kind is not Kind.KERNEL:
            return Kind.OTHER
        return kind

    def _binders(self, unit: Unit, name: str) -> Iterator[ast.stmt]:
        yield from unit.nodes if len(unit.nodes) == 1 else self._of_several(unit, name)

    def _of_several(self, unit: Unit, name: str) -> Sequence[ast.stmt]:
        simple = [n for n in unit.nodes if isinstance(n, ast.Assign) and _only_target(n) == name]
        return simple if len(simple) == len(unit.nodes) else [ast.Pass()]

    def _bound_as(self, name: str, node: ast.stmt) -> Kind:
        if isinstance(node, ast.FunctionDef):
            return self._function_kind(node)
        if isinstance(node, ast.ClassDef):
            return Kind.ENUM if self._is_enum(node) else Kind.OTHER
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            return self._value_kind(node.value)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return Kind.IMMUTABLE if self.is_immutable(node.value) else Kind.OTHER
        if isinstance(node, ast.Assign) and _only_target(node) == name:
            return self._value_kind(node.value)
        return Kind.OTHER

    def _function_kind(self, node: ast.FunctionDef) -> Kind:
        decorator = self._aliases.decorator_of(node)
        if decorator is not None:
            return Kind.KERNEL
        defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        if not node.decorator_list and all(self.is_immutable(default) for default in defaults):
            return Kind.FUNCTION
        return Kind.OTHER

    def _is_enum(self, node: ast.ClassDef) -> bool:
        bases = {self._aliases.dotted(base) for base in node.bases}
        plain = all(isinstance(part, (ast.Assign, ast.Expr, ast.Pass)) for part in node.body)
        values = [part.value for part in node.body if isinstance(part, (ast.Assign, ast.Expr))]
        return (
            bool(bases)
            and bases <= {"enum.Enum", "enum.IntEnum", "enum.IntFlag", "enum.StrEnum"}
            and plain
            and not node.decorator_list
            and all(self.is_immutable(value) for value in values)
        )

    def _value_kind(self, value: ast.expr) -> Kind:
        if self.is_immutable(value):
            return Kind.IMMUTABLE
        if isinstance(value, ast.Call):
            if self._aliases.jitted_by_call(value):
                return Kind.KERNEL
            if self._triton_name(value.func) in {"language.constexpr", "language.core.constexpr"}:
                plain = all(self.is_immutable(argument) for argument in value.args)
                return Kind.CONSTEXPR if plain and not value.keywords else Kind.OTHER
        return Kind.OTHER

    def is_immutable(self, node: ast.expr) -> bool:
        """Return whether a value is certainly a number, text, dtype, or a tuple of such."""
        match node:
            case ast.Constant():
                return True
            case ast.Tuple(elts=items):
                return all(self.is_immutable(item) for item in items)
            case ast.UnaryOp(operand=operand):
                return self.is_immutable(operand)
            case ast.BinOp(left=left, right=right):
                return self.is_immutable(left) and self.is_immutable(right)
            case ast.Name(id=name):
                return self.kind(name) is Kind.IMMUTABLE
            case ast.Attribute():
                dotted = self._triton_name(node)
                return dotted is not None and dotted.removeprefix("language.") in _DTYPES
        return False

    def _triton_name(self, node: ast.expr) -> str | None:
        """Return `language.exp` for what certainly is `triton.language.exp`, else `None`."""
        path: list[str] = []
        while isinstance(node, ast.Attribute):
            path.append(node.attr)
            node = node.value
        known = self.imported.get(node.id) if isinstance(node, ast.Name) else None
        if known is None or known.root != "triton":
            return None
        return ".".join([*known.path, *reversed(path)])

    # -- what running a statement touches -------------------------------------------------

    def closure(self, unit: Unit) -> list[Mention]:
        """Return all that running a unit mentions, what it may call of the file included."""
        found = self._closures.get(id(unit))
        if found is None:
            start = [*unit.reading.now]
            if self._may_call(unit):
                start += unit.reading.later
                called = unit.binds if unit.reading.later_binds else ()
                start += [Mention(name, "call") for name in called]
            found = self._closures[id(unit)] = self.follow(start)
        return found

    def _may_call(self, unit: Unit) -> bool:
        """Return whether what a unit defines may be called at once, by a decorator or a base."""
        return not unit.defines or any(
            mention.name in self._binding and self._is_ours(mention) for mention in unit.reading.now
        )

    def _is_ours(self, mention: Mention) -> bool:
        known = self.imported.get(mention.name)
        return known is None or self.is_posted(known.root)

    def follow(self, mentions: Iterable[Mention]) -> list[Mention]:
        """Return `mentions`, and all that what they call of the file mentions."""
        found, seen, left = [], set(), list(mentions)
        followed: set[int] = set()
        while left:
            mention = left.pop()
            if mention in seen:
                continue
            seen.add(mention)
            found.append(mention)
            if mention.how == "launch" and self.kind(mention.name) is Kind.KERNEL:
                continue  # what a launch runs is no Python
            for unit in self._binding.get(mention.name, []):
                if id(unit) not in followed:
                    followed.add(id(unit))
                    left += (Mention(m.name, m.how, m.path) for m in unit.mentions)
        return found

    def later_binds(self, closure: Iterable[Mention]) -> set[str]:
        """Return the names that functions declare global and bind, when they are called."""
        found = set[str]()
        for name in {mention.name for mention in closure}:
            for unit in self._binding.get(name, []):
                found |= unit.reading.later_binds
        return found

    def changes(self, unit: Unit) -> set[str]:
        """Return the names whose objects a unit itself certainly changes when it is run."""
        found = {m.name for m in unit.reading.now if m.how == "store"}
        found |= {m.name for m in unit.reading.now if self._calls_method(m)}
        return found | self.later_binds(self.closure(unit))

    def _calls_method(self, mention: Mention) -> bool:
        called = mention.how == "call" and bool(mention.path)
        return called and self.kind(mention.name) is Kind.OTHER

    def touches(self, mention: Mention, seen: Collection[str], roots: Collection[str]) -> bool:
        """Return whether a use can reach an object of the names `seen` or the modules `roots`."""
        known = self.imported.get(mention.name)
        if mention.how == "import":
            return self.is_posted(mention.name)
        if known is not None:
            return self._touches_module(mention, known, roots)
        if mention.name not in seen or mention.name not in self._binding:
            return False
        return not self._is_harmless(mention)

    def _is_harmless(self, mention: Mention) -> bool:
        kind = self.kind(mention.name)
        if mention.how == "argument":
            given_to = self.kind(mention.path[0])
            return kind is Kind.IMMUTABLE or given_to is Kind.KERNEL
        match kind:
            case Kind.IMMUTABLE:
                return mention.how != "store"
            case Kind.CONSTEXPR:
                return mention.how == "attribute" and mention.path == ("value",)
            case Kind.KERNEL:
                launched = mention.how == "launch" and not mention.path
                return launched or (mention.how == "call" and mention.path in _LAUNCHING)
            case Kind.FUNCTION:
                return mention.how == "call" and not mention.path
            case Kind.ENUM:
                return mention.how == "attribute"
        return False

    def _touches_module(self, mention: Mention, known: Imported, roots: Collection[str]) -> bool:
        if self.is_posted(known.root):
            return True
        if known.root not in roots and known.root not in _ALWAYS_SEEN:
            return False
        if mention.how == "store":
            return True
        if known.root == "triton":
            return self._touches_triton(mention, known)
        if known.root in _STATELESS or self.is_foreign(known.root):
            return False
        return not _only_reads(known, mention)

    def _touches_triton(self, mention: Mention, known: Imported) -> bool:
        dotted = ".".join([*known.path, *mention.path])
        if mention.how in {"load", "attribute", "call"}:
            inert = dotted in _INERT_OF_TRITON or dotted.removeprefix("language.") in _DTYPES
            return not inert and dotted != "__version__"
        return True

    def opaque(self, mentions: Iterable[Mention]) -> set[str]:
        """Return what no reading of the text can follow among `mentions`."""
        found = set()
        for mention in mentions:
            known = self.imported.get(mention.name)
            path = (*known.path, *mention.path) if known else ()
            if mention.how == "opaque":
                found.add(mention.path[0])
            elif known is None and mention.name in OPAQUE_NAMES:
                if not self.binding(mention.name):
                    found.add(mention.name)
            elif mention.how == "import":
                continue
            elif known is not None and known.root in _OPAQUE_MODULES:
                found.add(f"the module {known.root}")
            elif known is not None and known.root == "sys":
                found |= {f"sys.{path[0]}"} if path and path[0] in _OPAQUE_OF_SYS else set()
                found |= {"sys"} if not path else set()
        return found


_LAUNCHING = {("warmup",), ("run",)}
_DTYPES = frozenset(
    {"int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float8e5",
     "float8e4nv", "float8e4b15", "float8e4b8", "float8e5b16", "float16", "bfloat16", "float32",
     "float64", "pi32_t", "void"}
)  # fmt: skip
_READING = frozenset(
    {"os.getenv", "os.environ", "os.environ.get", "os.cpu_count", "os.getpid", "os.name", "os.sep",
     "sys.getsizeof", "sys.version_info", "sys.version", "sys.platform", "sys.argv", "sys.maxsize",
     "sys.stdout", "sys.stderr", "sys.byteorder", "sys.float_info", "sys.executable",
     "sys.stdout.write", "sys.stdout.flush", "random.Random"}
)  # fmt: skip


def _only_reads(known: Imported, mention: Mention) -> bool:
    dotted = ".".join([known.root, *known.path, *mention.path])
    if mention.how == "attribute" and dotted == "os.environ":
        return False  # the mapping itself, which others may write into
    read = mention.how in {"attribute", "item", "call"}
    return read and (dotted in _READING or dotted.startswith("os.path."))


def star_imports(unit: Unit) -> list[str]:
    """Return the modules that a unit imports everything from, dots included."""
    return [m.path[0] for m in unit.reading.now if m.how == "import" and m.path[1:] == ("*",)]


def _only_target(node: ast.Assign) -> str | None:
    target = node.targets[0]
    return target.id if len(node.targets) == 1 and isinstance(target, ast.Name) else None
