"""Python's scopes as its rules have them: which names a piece of syntax binds, and whose they are.

With the records of what `names` reads by them: what names were imported as, the uses of a
module-level name, and what a statement binds and mentions. From syntax trees alone; judges nothing.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal


@dataclass(frozen=True)
class Imported:
    """The origin of an imported name: `from triton.math import exp` is `triton`, `math.exp`."""

    root: str
    path: tuple[str, ...]
    module: str = ""
    """The module that was asked for, with its dots."""


def imports(body: Iterable[ast.stmt]) -> Iterator[tuple[str, Imported]]:
    """Yield the names that imports among statements, and in their blocks, bind."""
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                root, *path = alias.name.split(".")
                meant = Imported(root, tuple(path) if alias.asname else (), alias.name)
                yield alias.asname or root, meant
        elif isinstance(node, ast.ImportFrom):
            root, *path = (node.module or "").split(".") if not node.level else ["."]
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                yield alias.asname or alias.name, Imported(root, (*path, alias.name), module)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                blocks = getattr(node, field, [])
                yield from imports([part for part in blocks if isinstance(part, ast.stmt)])
                for part in blocks:
                    if not isinstance(part, ast.stmt):
                        yield from imports(part.body)


How = Literal[
    "load",
    "attribute",
    "item",
    "call",
    "launch",
    "argument",
    "store",
    "import",
    "local_import",
    "opaque",
]


@dataclass(frozen=True, slots=True)
class Mention:
    """One use of a module-level name.

    `load`: its value; `attribute`: `name.path`; `item`: `name.path[...]`; `call`:
    `name.path(...)`; `launch`: `name.path[...](...)`; `argument`: a value given to the launch of
    `path[0]`; `store`: something in it is assigned or deleted; `import`: the module `name` is
    imported; `local_import`: it is, under a name that the module does not have; `opaque`:
    `path[0]` says what cannot be followed. `sure` tells that it happens whenever the statement is
    run.
    """

    name: str
    how: How
    path: tuple[str, ...] = ()
    sure: bool = False


@dataclass
class Reading:
    """A statement's effects on its module when it runs (`now`), and when called (`later`)."""

    binds: set[str] = field(default_factory=set)
    later_binds: set[str] = field(default_factory=set)
    now: list[Mention] = field(default_factory=list)
    later: list[Mention] = field(default_factory=list)
    raises: bool = False
    uses_own: bool = False
    """True if a class body reads its own definitions, such as a decorator of its methods."""


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LEAVES = (ast.Constant, ast.alias)


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes below `node`; as `ast.iter_child_nodes`, which takes five times as long."""
    found: list[ast.AST] = []
    if node.__class__ in _LEAVES:
        return found
    for name in node._fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and name != "ctx":
            found.append(value)
    return found


def stored(nodes: Sequence[ast.AST], *, imports: bool = True) -> set[str]:
    """Return the names that `nodes` bind in their own scope, those they import only if asked."""
    found: set[str] = set()
    left: list[ast.AST] = list(nodes)
    while left:
        node = left.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                found.add(node.id)
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
            left += node.decorator_list
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = {(alias.asname or alias.name).split(".")[0] for alias in node.names}
            found |= names if imports else set()
        elif isinstance(node, COMPREHENSIONS):
            found |= walrus([node])
        elif not isinstance(node, ast.Lambda):
            found |= _captured(node)
            left += children(node)
    return found


def _captured(node: ast.AST) -> set[str]:
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return {node.name} if node.name else set()
    if isinstance(node, ast.MatchMapping):
        return {node.rest} if node.rest else set()
    if node.__class__.__name__ == "TypeAlias":
        return {node.name.id}  # type: ignore[attr-defined]
    return set()


def walrus(nodes: Sequence[ast.AST]) -> set[str]:
    """Return what `:=` binds in `nodes`: a comprehension passes it on to the scope around it."""
    found: set[str] = set()
    left = list(nodes)
    while left:
        node = left.pop()
        if isinstance(node, ast.NamedExpr):
            found.add(node.target.id)
        if not isinstance(node, ast.Lambda):
            left += children(node)
    return found


def declared(body: Sequence[ast.stmt]) -> tuple[set[str], set[str]]:
    """Return the names that a body declares `global`, and those it declares `nonlocal`."""
    module: set[str] = set()
    outer: set[str] = set()
    left: list[ast.AST] = list(body)
    while left:
        node = left.pop()
        if isinstance(node, ast.Global):
            module.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            outer.update(node.names)
        elif not isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.expr)):
            left += children(node)
    return module, outer


def arguments_of(arguments: ast.arguments) -> list[ast.arg]:
    """Return all parameters, those behind the stars included."""
    extra = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


def root_of(node: ast.AST) -> str | None:
    """Return the name at the root of `a.b[i].c`, `None` when it is something computed."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def launched_name(function: ast.expr) -> str | None:
    """Return `a` for the callee `a[...]` or `a.b[...]`, else `None`."""
    if not isinstance(function, ast.Subscript):
        return None
    node = function.value
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


@lru_cache(maxsize=256)
def parsed_annotation(annotation: str) -> ast.expr | None:
    """Return the expression that an annotation in quotes is, `None` when it is none."""
    try:
        return ast.parse(annotation, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None  # a string that is no expression looks nothing up


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope inside of a module, and the names that are its own."""

    own: frozenset[str]
    module: frozenset[str] = frozenset()
    """The names that are declared `global`."""
    kind: Literal["function", "comprehension", "class"] = "function"


class ScopeStack:
    """The scopes around a node, the module's own aside."""

    def __init__(self) -> None:
        self._scopes: list[Scope] = []

    def __bool__(self) -> bool:
        return bool(self._scopes)

    @contextmanager
    def inside(self, scope: Scope) -> Iterator[None]:
        """Enter a scope for the block."""
        self._scopes.append(scope)
        yield
        self._scopes.pop()

    @contextmanager
    def around_comprehensions(self) -> Iterator[None]:
        """Leave the comprehensions for the block: what `:=` binds in them is bound around them."""
        left = []
        while self._scopes and self._scopes[-1].kind == "comprehension":
            left.append(self._scopes.pop())
        yield
        self._scopes += reversed(left)

    def reads_module(self, name: str) -> tuple[bool, bool]:
        """Return whether reading `name` may find the module's, and whether a class's own.

        A class body reads what it has not bound yet from the module, and functions do not see it.
        """
        in_class = False
        for scope in reversed(self._scopes):
            if name in scope.module:
                return True, in_class
            if name in scope.own:
                if scope.kind != "class":
                    return False, in_class
                in_class = True
        return True, in_class

    def binds_module(self, name: str) -> bool:
        """Return whether binding `name` binds the module's: at the top, or declared global."""
        for scope in reversed(self._scopes):
            if name in scope.module:
                return True
            if name in scope.own:
                return False
        return True
