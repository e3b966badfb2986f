"""The kind of each name of a module (function, constant, module …), from all its bindings.

Reads syntax only. Uncertain names are `OTHER`.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import cached_property

from compiler.slice.jit_decorator import Aliases
from compiler.slice.outline import Outline, Unit
from compiler.slice.scopes import Imported, imports, stored

DTYPES = frozenset(
    {"int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float8e5",
     "float8e4nv", "float8e4b15", "float8e4b8", "float8e5b16", "float16", "bfloat16", "float32",
     "float64", "pi32_t", "void"}
)  # fmt: skip
"""The types of `triton.language`, which cannot be changed."""


_MOST_ON_A_LINE = 20


class Kind(Enum):
    """The meaning of a name, as far as all statements that bind it show."""

    IMMUTABLE = auto()
    CONSTEXPR = auto()
    KERNEL = auto()
    FUNCTION = auto()
    ENUM = auto()
    MODULE = auto()
    OTHER = auto()


class Kinds:
    """The kinds of one module's names."""

    def __init__(self, outline: Outline, aliases: Aliases) -> None:
        self._outline = outline
        self._aliases = aliases
        self.binding: dict[str, list[Unit]] = {}
        """The units that bind a name when they are run."""
        self.later_binds: dict[str, set[str]] = {}
        """The global names that calling a name's value may bind."""
        self._rebound: set[str] = set()
        for unit in outline.units:
            for name in unit.binds:
                self.binding.setdefault(name, []).append(unit)
                if unit.reading.later_binds:
                    self.later_binds.setdefault(name, set()).update(unit.reading.later_binds)
            self._rebound |= unit.reading.later_binds
        self._left_out = {id(item.node) for unit in outline.units for item in unit.left_out}
        self._kinds: dict[str, Kind] = {}

    @cached_property
    def _any_name_may_come(self) -> bool:
        """True if a star import can bind any name to anything."""
        return any(star_imports(unit) for unit in self._outline.units)

    @cached_property
    def imported(self) -> Mapping[str, Imported]:
        """The imports behind names that nothing else binds."""
        found: dict[str, Imported | None] = {}
        for unit in self._outline.units:
            origins: dict[str, set[Imported]] = {}
            for name, origin in imports(unit.nodes):
                origins.setdefault(name, set()).add(origin)
            others = stored(unit.nodes, imports=False) if origins else unit.binds
            for name in unit.binds:
                meanings = origins.get(name, set())
                meant = next(iter(meanings)) if len(meanings) == 1 and name not in others else None
                found[name] = meant if found.get(name, meant) == meant else None
        return {n: v for n, v in found.items() if v is not None and n not in self._rebound}

    def kind(self, name: str) -> Kind:
        """Return the value of a name."""
        known = self._kinds.get(name)
        if known is None:
            self._kinds[name] = Kind.OTHER  # while it is being asked: a name made of itself
            try:
                known = self._kinds[name] = self._find_kind(name)
            except RecursionError:
                return Kind.OTHER
        return known

    def _find_kind(self, name: str) -> Kind:
        if name in self._rebound:
            return Kind.OTHER
        if name in self.imported:
            return Kind.MODULE
        units = self.binding.get(name)
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
        if len(unit.nodes) > _MOST_ON_A_LINE:
            return [ast.Pass()]
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
            above = node.decorator_list[: decorator.index]
            return Kind.KERNEL if all(id(item) in self._left_out for item in above) else Kind.OTHER
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
                return dotted is not None and dotted.removeprefix("language.") in DTYPES
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


def star_imports(unit: Unit) -> list[str]:
    """Return the modules that a unit imports everything from, dots included."""
    return [m.path[0] for m in unit.reading.now if m.how == "import" and m.path[1:] == ("*",)]


def _only_target(node: ast.Assign) -> str | None:
    target = node.targets[0]
    return target.id if len(node.targets) == 1 and isinstance(target, ast.Name) else None
