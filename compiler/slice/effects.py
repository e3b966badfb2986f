"""Statements that can affect a kernel: the rule behind slices.

A statement may be left out only when nothing it runs can reach an object that the kernel reaches.
What cannot be decided counts as an effect. Reads syntax only;
docs/explanation/correctness.md has the rule.
"""

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence

from compiler.slice.jit_decorator import Aliases
from compiler.slice.kinds import DTYPES, Kind, Kinds
from compiler.slice.outline import Outline, Unit
from compiler.slice.posted_files import has_module
from compiler.slice.scopes import Imported, Mention

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
"""Functions of the standard library that change only their arguments."""

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


class Effects:
    """The possible effects of one module's statements on the objects of its names."""

    def __init__(self, outline: Outline, aliases: Aliases, files: Collection[str]) -> None:
        self._kinds = Kinds(outline, aliases)
        self._files = files

    def binding(self, name: str) -> list[Unit]:
        """Return the units that bind a name when they are run."""
        return self._kinds.binding.get(name, [])

    @property
    def imported(self) -> Mapping[str, Imported]:
        """The imports behind names that nothing else binds."""
        return self._kinds.imported

    def kind(self, name: str) -> Kind:
        """Return the value of a name."""
        return self._kinds.kind(name)

    def is_foreign(self, known: Imported) -> bool:
        """Return whether a module is neither posted, nor Triton's, nor of the standard library."""
        ours = known.root == "triton" or known.root in sys.stdlib_module_names
        return not ours and not self.is_posted(known)

    def is_posted(self, known: Imported) -> bool:
        """Return whether a module is one of the request's further files."""
        return has_module(self._files, known.module, known.path[-1] if known.path else "")

    def imports_posted(self, mention: Mention) -> bool:
        """Return whether an import leads to one of the request's further files."""
        return has_module(self._files, *mention.path)

    def run_by(self, unit: Unit) -> list[Mention]:
        """Return the mentions of running a unit, with those of its definitions if they may run."""
        return [*unit.mentions] if self.may_call(unit) else unit.reading.now

    def may_call(self, unit: Unit) -> bool:
        """Return whether a unit's definition may be called at once, by a decorator or a base."""
        if not unit.defines or unit.reading.uses_own:
            return True
        return any(
            mention.name in self._kinds.binding and self._calls_what_it_is_given(mention)
            for mention in unit.reading.now
        )

    def _calls_what_it_is_given(self, mention: Mention) -> bool:
        """Return whether a name may stand for what calls functions that are defined with it.

        Of the standard library an `Enum` does: it makes its members when it is defined.
        """
        known = self.imported.get(mention.name)
        return known is None or known.root == "enum" or self.is_posted(known)

    def follow(self, mentions: Iterable[Mention]) -> list[Mention]:
        """Return `mentions`, and those of all their callees in the file."""
        found, left = [], list(mentions)
        followed: set[str] = set()
        units: set[int] = set()
        while left:
            mention = left.pop()
            found.append(mention)
            if mention.name in followed or self._is_launch(mention):
                continue
            followed.add(mention.name)
            for unit in self._kinds.binding.get(mention.name, []):
                if id(unit) not in units:
                    units.add(id(unit))
                    left += unit.mentions
        return found

    def _is_launch(self, mention: Mention) -> bool:
        """Return whether a mention only launches a kernel: what that runs is no Python."""
        return mention.how == "launch" and self.kind(mention.name) is Kind.KERNEL

    def asked_by(self, unread: Sequence[Mention], own: Collection[str]) -> list[Mention]:
        """Return what a decorator above a kernel may use otherwise than by reading it.

        What it only hands to Triton is read; what it hands to a function of the file may be
        changed there, and so may what is the kernel's own.
        """
        called = {m.name for m in unread if m.how == "call" and not m.path}
        if any(name in self._kinds.binding and name not in self.imported for name in called):
            return list(unread)
        return [m for m in unread if m.how not in _READS or m.name in own]

    def without_posted(self, closure: Iterable[Mention]) -> list[Mention]:
        """Return `closure` without what it uses of the request's further files."""
        found = []
        for mention in closure:
            known = self.imported.get(mention.name)
            if mention.how != "import" and (known is None or not self.is_posted(known)):
                found.append(mention)
        return found

    def calls_posted(self, closure: Iterable[Mention]) -> bool:
        """Return whether something of the request's further files is called."""
        called = (self.imported.get(m.name) for m in closure if m.how in {"call", "launch"})
        return any(known is not None and self.is_posted(known) for known in called)

    def later_binds(self, closure: Iterable[Mention]) -> set[str]:
        """Return the names that functions declare global and bind, when they are called."""
        names = {mention.name for mention in closure}
        return set[str]().union(*(self._kinds.later_binds.get(name, ()) for name in names))

    def changes(self, unit: Unit) -> set[str]:
        """Return the names whose objects a unit itself certainly changes when it is run."""
        found = {m.name for m in unit.reading.now if m.how == "store"}
        found |= {m.name for m in unit.reading.now if self._calls_method(m)}
        return found | self.later_binds(self.run_by(unit)) | unit.reading.later_binds

    def _calls_method(self, mention: Mention) -> bool:
        called = mention.how == "call" and bool(mention.path)
        return called and self.kind(mention.name) is Kind.OTHER

    def touches(self, mention: Mention, seen: Collection[str], roots: Collection[str]) -> bool:
        """Return whether a use can reach an object of the names `seen` or the modules `roots`."""
        known = self.imported.get(mention.name)
        if mention.how == "import":
            return self.imports_posted(mention)
        if mention.how == "local_import":
            return self._touches_by_import(mention, roots)
        if known is not None:
            return self._touches_module(mention, known, roots)
        if mention.name not in seen or mention.name not in self._kinds.binding:
            return False
        return not self._is_harmless(mention)

    def _touches_by_import(self, mention: Mention, roots: Collection[str]) -> bool:
        """Return whether a module under a name that is not followed may be one of `roots`."""
        seen = mention.name in roots or mention.name in _ALWAYS_SEEN
        return self.imports_posted(mention) or (seen and mention.name not in _STATELESS)

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
        if self.is_posted(known):
            return True
        if known.root not in roots and known.root not in _ALWAYS_SEEN:
            return False
        if mention.how == "store":
            return True
        if known.root == "triton":
            return self._touches_triton(mention, known)
        if known.root in _STATELESS or self.is_foreign(known):
            return False
        return not _only_reads(known, mention)

    def _touches_triton(self, mention: Mention, known: Imported) -> bool:
        dotted = ".".join([*known.path, *mention.path])
        if mention.how in {"load", "attribute", "call"}:
            inert = dotted in _INERT_OF_TRITON or dotted.removeprefix("language.") in DTYPES
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
            elif mention.how == "local_import" and mention.name in _OPAQUE_MODULES | {"sys"}:
                found.add(f"the module {mention.name}")
            elif mention.how in {"import", "local_import"}:
                continue
            elif known is not None and known.root in _OPAQUE_MODULES:
                found.add(f"the module {known.root}")
            elif known is not None and known.root == "sys":
                found |= {f"sys.{path[0]}"} if path and path[0] in _OPAQUE_OF_SYS else set()
                found |= {"sys"} if not path else set()
        return found


_LAUNCHING = {("warmup",), ("run",)}
_READS = frozenset({"load", "attribute", "item"})
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
