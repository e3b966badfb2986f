"""Finds names and objects that may differ with the real torch, package, file or GPU.

A statement that branches on a stand-in, swallows an exception of one, or fails by it, may bind and
change something else there. This taints all that it may have bound or changed, and all that is made
from those. A kernel that reads something tainted is refused.
"""

import ast
import copy
import enum
import importlib.util
import sys
import types
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import triton.language as tl
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import KernelInterface

from compiler.front import code_reach
from compiler.front.code_reach import (
    MAX_FUNCTIONS,
    CodeFacts,
    Namespace,
    Reach,
    UserCall,
    identity,
)
from compiler.front.environment import Assumptions, StandIn, is_missing
from compiler.reading.scopes import children, stored

_MAX_COUNT = 20_000
_MAX_OF_ALL = 100_000
"""Names and objects that are followed from one statement, and from all of one execution."""
_IMMUTABLE = (
    type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType,
    types.CodeType, tuple, frozenset, range, property, staticmethod, classmethod, enum.Enum,
    StandIn,
)  # fmt: skip
_NAMING = (
    ast.Constant, ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Starred,
    ast.keyword, ast.expr_context, ast.Call, ast.Subscript, ast.Slice,
)  # fmt: skip
"""Expressions that pass a stand-in on unchanged, or get another one from it."""
_KEEPING = frozenset(
    {"print", "list", "dict", "tuple", "set", "property", "staticmethod", "classmethod"}
)
_LIBRARIES = frozenset({"triton", "torch", "numpy", "dataclasses", "typing", "functools", "abc"})
"""They keep their arguments unchanged, or they are stand-ins."""
_EXECUTING = frozenset({"exec", "eval"})
_WITH_STATE = frozenset({"random", "os", "decimal", "locale"})
"""Modules of the standard library whose own state is changed by calls and assignments."""
_SIMPLE = (
    ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Delete
)  # fmt: skip
"""Statements that bind the same names whenever they run."""


@dataclass(frozen=True)
class Taint:
    """The source of a taint: the statement, and the stand-in involved."""

    path: str
    line: int
    asked: str


@dataclass(frozen=True)
class Executed:
    """An executed statement: its module, whether it ended, and its requests to stand-ins."""

    statement: ast.stmt
    code: types.CodeType
    namespace: Namespace
    path: str
    asked: str | None
    """Its last request that nothing here can answer, or its missing part."""
    raised: bool = False
    calls: Sequence[UserCall] = ()


class Walks:
    """Follows what statements may read, as long as not too much of one execution was followed.

    What the last statement may read is kept, since several analyses ask for it in turn.
    """

    def __init__(self) -> None:
        self._left = _MAX_OF_ALL
        self._last: tuple[types.CodeType, Sequence[UserCall], Reach] | None = None

    def of_statement(self, executed: Executed) -> Reach:
        """Return what an executed statement may have read, and its calls."""
        if self._last is not None:
            code, calls, reach = self._last
            if code is executed.code and calls is executed.calls:
                return reach
        bodies = _may_call_what_it_defines(executed.statement, executed.namespace)
        facts = code_reach.facts_of(executed.code, bodies=bodies)
        reach = self.of(facts, executed.namespace, executed.calls)
        self._last = executed.code, executed.calls, reach
        return reach

    def forget(self) -> None:
        """Release the objects that the last statement read, as user code may delete them next."""
        self._last = None

    def of(self, facts: CodeFacts, namespace: Namespace, calls: Iterable[UserCall] = ()) -> Reach:
        """Return what code may read that is run in `namespace`."""
        reach = code_reach.reach_of(facts, namespace, min(_MAX_COUNT, self._left), calls)
        self._left -= min(self._left, reach.size)
        return reach


class TaintAnalysis:
    """The tainted names and objects of one execution.

    `passes_on`: a statement that only names or passes on what a stand-in gave taints nothing, as it
    stays a stand-in. Not so for an answer that was assumed: it looks like any other value.
    """

    def __init__(self, assumptions: Assumptions, walks: Walks, *, passes_on: bool = True) -> None:
        self._assumptions = assumptions
        self._walks = walks
        self._passes_on = passes_on
        self._names: dict[tuple[int, str], Taint] = {}
        self._objects: dict[int, tuple[Any, Taint]] = {}  # held, so that none gets another's number

    def after(self, executed: Executed, missing: Collection[str]) -> Taint | None:
        """Record what a statement taints, and return the source, if any.

        `missing` are names that statements left out would have bound.
        """
        possible = bool(self._names or self._objects or missing or executed.asked)
        possible = possible or self._assumptions.touches > 0
        if not possible and not executed.raised:
            return None
        statement, namespace = executed.statement, executed.namespace
        self._import(statement, namespace)
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return None
        reach = self._walks.of_statement(executed)
        taint = self._within(reach) or self._of(executed, reach, missing, executed.calls)
        names = stored([statement])
        if taint is not None and not self._is_only_tuned(executed, missing):
            self._spread(names, namespace, reach, taint)
        elif isinstance(statement, _SIMPLE):
            for name in names:
                self._names.pop((identity(namespace), name), None)
            if taint is not None:
                self._spread((), namespace, reach, taint)
        return taint

    def read_by(self, executed: Executed) -> Taint | None:
        """Return the source of a taint that a statement reads: it may have failed for that."""
        if not self._names and not self._objects:
            return None
        try:
            return self._within(self._walks.of_statement(executed))
        finally:
            self._walks.forget()

    def _is_only_tuned(self, executed: Executed, missing: Collection[str]) -> bool:
        """Return True if only decorators that act at a launch taint a statement."""
        statement = executed.statement
        if not isinstance(statement, ast.FunctionDef) or executed.raised:
            return False
        if not isinstance(executed.namespace.get(statement.name), (Autotuner, Heuristics)):
            return False
        bare = copy.copy(statement)
        bare.decorator_list = [
            decorator for decorator in bare.decorator_list if not _acts_at_launch(decorator)
        ]
        reach = self._walks.of(_facts_of(bare, executed.path), executed.namespace)
        rest = replace(executed, statement=bare, calls=())
        ran = executed.calls
        return self._within(reach) is None and self._of(rest, reach, missing, ran) is None

    def branched(self, statement: ast.If, namespace: Namespace, taint: Taint) -> None:
        """Taint what either branch of an `if` with a tainted condition may bind or change."""
        reach = self._walks.of(_facts_of(statement, taint.path), namespace)
        self._spread(stored([statement]), namespace, reach, taint)

    def _spread(
        self, names: Iterable[str], namespace: Namespace, reach: Reach, taint: Taint
    ) -> None:
        """Taint the `names` that a statement binds, and all that it may have changed."""
        bound = {(identity(namespace), name): namespace for name in names} | reach.binds
        if reach.sees_all:
            bound |= {(identity(namespace), name): namespace for name in namespace}
        for (_, name), owner in bound.items():
            if not isinstance(owner.get(name), (StandIn, types.ModuleType)):
                self._names[identity(owner), name] = taint
        for number, value in reach.objects.items():
            if number not in reach.exposed:
                continue
            named = not reach.sets.isdisjoint(_held_names(value))
            named |= isinstance(value, types.ModuleType) and _module_name(value) in _WITH_STATE
            if named or not (isinstance(value, _IMMUTABLE) or _is_tritons(value)):
                self._objects[number] = value, taint
        self._names |= dict.fromkeys(self._of_modules(reach), taint)

    def _of_modules(self, reach: Reach) -> list[tuple[int, str]]:
        """Return the names that a statement may set in modules of the user's."""
        modules = [v for v in reach.objects.values() if isinstance(v, types.ModuleType)]
        owners = {identity(vars(module)) for module in modules if code_reach.is_users(module)}
        return [(at, name) for at, name in reach.names if at in owners and name in reach.sets]

    def bind(self, names: Iterable[str], namespace: Namespace, taint: Taint) -> None:
        """Taint names that something which is not here may have bound again."""
        for name in names:
            if not name.startswith("__"):
                self._names[identity(namespace), name] = taint

    def mark(self, value: Any, taint: Taint) -> None:
        """Taint an object."""
        self._objects[identity(value)] = value, taint

    def all_of_kernel(self, kernel: Any, namespace: Namespace, name: str | None) -> set[Taint]:
        """Return the sources of all taints of the kernel and of the values that it reads."""
        if not self._names and not self._objects:
            return set()
        reach = code_reach.reach_of_value(kernel, _MAX_COUNT)
        if reach.sees_all:
            return {*self._names.values(), *(taint for _, taint in self._objects.values())}
        keys = [*reach.names, *([(identity(namespace), name)] if name else [])]
        named = {self._names[key] for key in keys if key in self._names}
        return named | {self._objects[n][1] for n in reach.objects if n in self._objects}

    def of_kernel(self, kernel: Any, namespace: Namespace, name: str | None) -> Taint | None:
        """Return the source of a taint of the kernel, or of something that it reads."""
        if not self._names and not self._objects:
            return None
        own = self._names.get((identity(namespace), name)) if name else None
        return own or self._within(code_reach.reach_of_value(kernel, _MAX_COUNT))

    def _within(self, reach: Reach) -> Taint | None:
        for key in reach.names:
            if key in self._names:
                return self._names[key]
        if reach.sees_all:
            return next(iter(self._names.values()), None)
        for number in reach.objects:
            if number in self._objects:
                return self._objects[number][1]
        return None

    def _of(
        self,
        executed: Executed,
        reach: Reach,
        missing: Collection[str],
        ran: Sequence[UserCall],
    ) -> Taint | None:
        """Return the taint that a statement itself is the source of, if it is one.

        `ran` are the calls that were made by running it.
        """
        asked = executed.asked
        all_lacked = (name for name in reach.missing if is_missing(name, missing))
        lacked = sorted(all_lacked) if reach.catches else []
        if lacked:
            asked = asked or f"{lacked[0]} is missing"
        if reach.compares and self._passes_on and _compared(executed.code, ran):
            held = (item for item in reach.objects.values() if isinstance(item, StandIn))
            asked = asked or next((f"{item!r} is passed on" for item in held), None)
        if asked is None:
            return None
        passes_on = self._passes_on and not (executed.raised or lacked or executed.calls)
        if passes_on and _is_naming(executed.statement, executed.namespace):
            return None
        return Taint(executed.path, executed.statement.lineno, asked)

    def _import(self, statement: ast.stmt, namespace: Namespace) -> None:
        """Taint names that an import binds if they are tainted in their module."""
        if not isinstance(statement, ast.ImportFrom):
            return
        dotted = "." * statement.level + (statement.module or "")
        try:
            package = namespace.get("__package__") or ""
            resolved = importlib.util.resolve_name(dotted, package)
        except ImportError:
            return  # it was not found either
        owner = identity(vars(sys.modules[resolved])) if resolved in sys.modules else 0
        for alias in statement.names:
            names = [alias.name]
            if alias.name == "*":
                names = [name for at, name in self._names if at == owner]
            for name in names:
                bound = name if alias.name == "*" else alias.asname or name
                self._names.pop((identity(namespace), bound), None)
                if (owner, name) in self._names:
                    self._names[identity(namespace), bound] = self._names[owner, name]


def _compared(code: types.CodeType, ran: Sequence[UserCall]) -> bool:
    """Return whether what ran may have asked for an object's identity or type.

    Code of texts that were executed is not among the calls.
    """
    if len(ran) >= MAX_FUNCTIONS:
        return True
    facts = [
        code_reach.facts_of(code_object, bodies=False)
        for code_object in (code, *(c.code for c in ran))
    ]
    return any(fact.compares or not _EXECUTING.isdisjoint(fact.loads) for fact in facts)


def _facts_of(statement: ast.stmt, path: str) -> CodeFacts:
    module = ast.fix_missing_locations(ast.Module([statement], type_ignores=[]))
    return code_reach.facts_of(compile(module, path, "exec", dont_inherit=True), bodies=False)


def _acts_at_launch(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
    return name in {"autotune", "heuristics"}


def _may_call_what_it_defines(statement: ast.stmt, namespace: Namespace) -> bool:
    """Return whether running a statement may call a function that it defines.

    Its name may be gone afterwards, or stand for what a decorator made of it.
    """
    defined = list(_definitions([statement]))
    decorators = [decorator for node in defined for decorator in node.decorator_list]
    if not all(
        _is_of_library(decorator, namespace) or _is_accessor(decorator) for decorator in decorators
    ):
        return True
    classes = (node for node in defined if isinstance(node, ast.ClassDef))
    if any(node.keywords or not _are_plain(node.bases, namespace) for node in classes):
        return True
    names = {node.name for node in defined if node is not statement}
    return bool(names) and not names.isdisjoint(_loaded(statement))


def _loaded(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement, and the code in it, loads."""
    left: list[ast.AST] = [statement]
    while left:
        node = left.pop()
        if isinstance(node, ast.Name):
            yield node.id
        else:
            left += children(node)


def _definitions(
    body: list[ast.stmt],
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield the functions and classes that running statements defines."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from _definitions(getattr(node, field, []))
        for part in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            yield from _definitions(part.body)


def _is_accessor(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Attribute) and decorator.attr in {"setter", "deleter"}


def _are_plain(bases: list[ast.expr], namespace: Namespace) -> bool:
    """Return whether no base class runs code of the user's when a class is derived from it."""
    for base in bases:
        value = namespace.get(base.id) if isinstance(base, ast.Name) else None
        if isinstance(value, type) and type(value) is type:
            hooked = any("__init_subclass__" in vars(base) for base in value.__mro__[:-1])
            if not hooked or not code_reach.is_users(value):
                continue
        if not _is_of_library(base, namespace):
            return False
    return True


def _held_names(value: Any) -> Collection[str]:
    """Return the attributes that can change an object that is otherwise unchanged."""
    if isinstance(value, (type, types.FunctionType)):
        return vars(value).keys()
    return {"value"} if isinstance(value, tl.constexpr) else ()


def _module_name(module: types.ModuleType) -> str:
    return str(vars(module).get("__name__"))


def _is_tritons(value: Any) -> bool:
    return str(type(value).__module__).partition(".")[0] == "triton"


def _is_naming(statement: ast.stmt, namespace: Namespace) -> bool:
    """Return whether a statement only passes stand-ins on, or also defines something else."""
    if isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass, ast.Global)):
        return True
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        arguments = statement.args
        parts = [*statement.decorator_list, *arguments.defaults, *arguments.kw_defaults]
        plain = all(part is None or _passes_on(part, namespace) for part in parts)
        return plain and all(_is_of_library(d, namespace) for d in statement.decorator_list)
    if isinstance(statement, ast.ClassDef):
        parts = [*statement.decorator_list, *statement.bases]
        plain = all(_passes_on(part, namespace) for part in parts if part is not None)
        plain &= all(_is_of_library(d, namespace) for d in statement.decorator_list)
        plain &= not statement.keywords and _are_plain(statement.bases, namespace)
        return plain and all(_is_naming(part, namespace) for part in statement.body)
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)):
        return statement.value is None or _passes_on(statement.value, namespace)
    return False


def _passes_on(expression: ast.expr, namespace: Namespace) -> bool:
    for node in ast.walk(expression):
        if not isinstance(node, _NAMING):
            return False
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            return False
        if isinstance(node, ast.Call) and not _is_of_library(node.func, namespace):
            return False
    return True


def _is_of_library(function: ast.expr, namespace: Namespace) -> bool:
    """Return whether a callee belongs to Triton or to a stand-in, or changes nothing."""
    while isinstance(function, (ast.Attribute, ast.Call, ast.Subscript)):
        function = function.func if isinstance(function, ast.Call) else function.value
    if not isinstance(function, ast.Name):
        return False
    if function.id not in namespace:
        return function.id in _KEEPING
    value = namespace[function.id]
    if isinstance(value, types.ModuleType):
        return _module_name(value).partition(".")[0] in _LIBRARIES
    if isinstance(value, KernelInterface):
        return True  # it is launched
    if isinstance(value, (type, types.FunctionType)):
        return str(value.__module__).partition(".")[0] in _LIBRARIES | {"compiler"}
    return isinstance(value, StandIn)
