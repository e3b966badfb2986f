"""Names and objects that user code may read and change, by its bytecode, values and calls.

Functions are gone into, whether or not they would be called; kernels are not, as a launch runs
nothing here. Runs nothing itself.
"""

import builtins
import dis
import inspect
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from compiler.back import triton_api
from compiler.diagnostic import KERNEL_FOLDER, file_in_kernel
from compiler.front.environment import StandIn

Namespace = dict[str, Any]
_NAMES_ALL = frozenset(
    {"globals", "locals", "vars", "exec", "eval", "setattr", "delattr", "__dict__"}
)
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS"})
_CATCHING = frozenset({"PUSH_EXC_INFO", "SETUP_FINALLY", "SETUP_WITH"})
_COMPARING = frozenset({"IS_OP", "CONTAINS_OP", "MATCH_CLASS", "MATCH_MAPPING", "MATCH_SEQUENCE"})
_COMPARING_FUNCTIONS = frozenset({"callable", "dir", "id", "isinstance", "issubclass", "type"})
_READING = frozenset({".get", ".items", ".keys", ".values", ".copy", ".index", ".count"})
_ASKING_BY_NAME = frozenset({"getattr", "hasattr", "setattr", "delattr", "vars"})
_NO_ATTRIBUTES = frozenset({"STORE_NAME", "DELETE_NAME", "IMPORT_NAME", "IMPORT_FROM"})
identity = object.__hash__
"""As `id` is: equal for no two living objects. Python calls audit hooks at each `id`, and a child
has one; no class of the user's can change this."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None), types.BuiltinFunctionType)
_PLAIN_TYPES = frozenset(_PLAIN)
_CONTAINERS = (list, tuple, set, frozenset)
_MAX_COUNT = 100
MAX_FUNCTIONS = 2_000
MAX_REACHED = 20_000
"""Names and objects that are followed from one kernel."""


@dataclass(frozen=True)
class UserCall:
    """A call of a user's function: its code, and the namespace and values that it begins with."""

    code: types.CodeType
    namespace: dict[str, Any]
    values: tuple[Any, ...]


@dataclass
class CodeFacts:
    """The names that one code object loads, binds in its module, and uses as attributes."""

    loads: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    sets: set[str] = field(default_factory=set)
    """Attributes that are assigned to or deleted."""
    modules: set[str] = field(default_factory=set)
    """The written keys of `sys.modules`, "" for any other use of `modules`."""
    uses: dict[str, set[str]] = field(default_factory=dict)
    """The steps that follow each name where it is loaded: `[]`, `.attribute`, or ``."""
    asks_by_name: bool = False
    """True if it may use attributes whose names are not written in it."""
    catches: bool = False
    """True if it may continue after its callee has raised."""
    compares: bool = False
    """True if it may ask for an object's identity or type, which no object notices."""


@lru_cache(maxsize=4096)
def facts_of(code: types.CodeType, *, bodies: bool) -> CodeFacts:
    """Return the facts of a code object, and of the code in it that is run with it.

    `bodies`: also of the functions that it defines.
    """
    facts = CodeFacts()
    waiting = [code]
    while waiting:
        part = waiting.pop()
        steps = list(dis.get_instructions(part))
        for index, step in enumerate(steps):
            facts.catches |= step.opname in _CATCHING
            facts.compares |= step.opname in _COMPARING or step.opname.endswith("NONE")
            facts.compares |= (
                step.argval in _COMPARING_FUNCTIONS if step.opname in _LOADS else False
            )
            if step.opname in _LOADS:
                facts.loads.add(step.argval)
                facts.uses.setdefault(step.argval, set()).add(_use(steps[index + 1 : index + 3]))
                if step.argval in _ASKING_BY_NAME:
                    written = _written_name(steps[index + 1 : index + 5])
                    facts.attributes |= {written} - {""}
                    facts.asks_by_name |= not written
            elif step.opname in {"STORE_GLOBAL", "DELETE_GLOBAL"}:
                facts.binds.add(step.argval)
            elif step.opname in {"STORE_ATTR", "DELETE_ATTR"}:
                facts.sets.add(step.argval)
                facts.attributes.add(step.argval)
            elif step.opcode in dis.hasname and step.opname not in _NO_ATTRIBUTES:
                facts.attributes.add(step.argval)
            is_name = step.opcode in dis.hasname and step.opname not in _NO_ATTRIBUTES
            if step.argval == "modules" and (is_name or step.opname in _LOADS):
                facts.modules.add(_written_key(steps[index + 1 : index + 4]))
                if any(later.opname == "STORE_SUBSCR" for later in steps[index + 1 : index + 3]):
                    facts.sets.add(step.argval)
        inner = (item for item in part.co_consts if isinstance(item, types.CodeType))
        waiting += [item for item in inner if bodies or _is_run_at_once(item)]
    return facts


def _use(following: list[dis.Instruction]) -> str:
    """Return the use of a loaded value: `[]`, `.attribute`, or `` for other uses."""
    if following and following[0].opname in {"LOAD_ATTR", "LOAD_METHOD"}:
        return f".{following[0].argval}"
    if len(following) == 2 and following[0].opname in {"LOAD_CONST", "LOAD_FAST"}:
        step = following[1]
        return "[]" if step.opname == "BINARY_SUBSCR" or step.argrepr == "[]" else ""
    return ""


def _written_key(following: list[dis.Instruction]) -> str:
    """Return the string that an item is read or set by, or `get` is called with; else ``."""
    if following and following[0].argval == "get":
        following = following[1:]
        taken = {"PRECALL", "CALL"}
    else:
        taken = {"BINARY_SUBSCR", "STORE_SUBSCR"}
    if len(following) < 2 or following[0].opname != "LOAD_CONST":
        return ""
    key, step = following[0].argval, following[1]
    is_taken = step.opname in taken or step.argrepr == "[]"
    return key if is_taken and isinstance(key, str) else ""


def _written_name(following: list[dis.Instruction]) -> str:
    """Return the name that `getattr` or the like is called with, `` if it is computed.

    The call is of two simple arguments, or of three.
    """
    names = [step.opname for step in following]
    calls = {"PRECALL", "CALL"}
    simple = len(names) == 4 and names[0].startswith("LOAD_") and names[1] == "LOAD_CONST"
    is_call = simple and (names[2] in calls or (names[2].startswith("LOAD_") and names[3] in calls))
    name = following[1].argval if is_call else ""
    return name if isinstance(name, str) else ""


def _is_run_at_once(code: types.CodeType) -> bool:
    """Return whether code belongs to a comprehension or a class, not to a function."""
    is_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
    return code.co_name.startswith("<") or not is_function


@dataclass
class Reach:
    """The names and objects that running code may read: of namespaces, and their values."""

    names: dict[tuple[int, str], Namespace] = field(default_factory=dict)
    """The namespace of each name, by the identity of that namespace and the name."""
    missing: set[str] = field(default_factory=set)
    """Names that nothing binds."""
    objects: dict[int, Any] = field(default_factory=dict)
    binds: dict[tuple[int, str], Namespace] = field(default_factory=dict)
    """The global names that functions declare and bind."""
    exposed: set[int] = field(default_factory=set)
    """Objects that may be changed: they are used for more than plain values."""
    sets: set[str] = field(default_factory=set)
    catches: bool = False
    compares: bool = False
    sees_all: bool = False

    @property
    def size(self) -> int:
        """Return the number of its names and objects."""
        return len(self.names) + len(self.objects)


def reach_of(
    facts: CodeFacts, namespace: Namespace, most: int, calls: Iterable[UserCall] = ()
) -> Reach:
    """Return what code may read that is run in `namespace`, and what `calls` may.

    What reaches more than `most` names and objects may reach all.
    """
    walk = _Walk(most)
    pieces = [(facts, namespace)]
    for call in calls:
        pieces.append((facts_of(call.code, bodies=True), call.namespace))
        walk.waiting += call.values
        walk.reach.exposed |= {identity(value) for value in call.values}
    return walk.of(pieces)


def reach_of_value(value: Any, most: int) -> Reach:
    """Return what using a value may read: a kernel, with all that it names."""
    walk = _Walk(most, into_kernels=True)
    walk.waiting.append(value)
    return walk.of([])


class _Walk:
    def __init__(self, most: int, *, into_kernels: bool = False) -> None:
        self.reach = Reach()
        self._most = most
        self.waiting: list[Any] = []
        self._into_kernels = into_kernels
        self._codes: set[tuple[int, int]] = set()

    def of(self, pieces: Iterable[tuple[CodeFacts, Namespace]]) -> Reach:
        for facts, namespace in pieces:
            self._names(facts, namespace)
        reach, objects = self.reach, self.reach.objects
        while self.waiting:
            value = self.waiting.pop()
            number = identity(value)
            if number in objects or isinstance(value, _PLAIN):
                continue
            if len(reach.names) + len(objects) > self._most:
                reach.sees_all = True
                break
            objects[number] = value
            for part in self._parts(value):
                if type(part) not in _PLAIN_TYPES:
                    reach.exposed.add(identity(part))
                    self.waiting.append(part)
        return reach

    def _names(self, facts: CodeFacts, namespace: Namespace) -> None:
        reach = self.reach
        reach.sets |= facts.sets
        reach.catches |= facts.catches
        reach.compares |= facts.compares
        reach.sees_all |= bool(_NAMES_ALL & (facts.loads | facts.attributes))
        for name in facts.modules:
            self._module(name, facts)
        for name in facts.binds:
            reach.binds[identity(namespace), name] = namespace
        for name in facts.loads:
            if name in namespace:
                value = namespace[name]
                reach.names[identity(namespace), name] = namespace
                self.waiting.append(value)
                if not all(_gives_plain(value, use) for use in facts.uses[name]):
                    reach.exposed.add(identity(value))
                self._attributes(value, facts)
            elif not hasattr(builtins, name):
                reach.missing.add(name)

    def _module(self, name: str, facts: CodeFacts) -> None:
        """Follow `sys.modules[name]`: nothing of a library, of the user's what is read of it."""
        package, module = sys.modules.get(name.partition(".")[0]), sys.modules.get(name)
        self.reach.exposed.add(identity(module))
        self.waiting.append(module)
        if isinstance(package, types.ModuleType) and not is_users(package):
            return
        if isinstance(module, types.ModuleType) and is_users(module) and not facts.sets:
            self._attributes(module, facts)
        else:
            self.reach.sees_all = True

    def _attributes(self, value: Any, facts: CodeFacts) -> None:
        """Follow `module.name` into a module of the user's, and `package.module.name`."""
        modules, seen = [value], set[int]()
        while modules:
            module = modules.pop()
            if not isinstance(module, types.ModuleType) or identity(module) in seen:
                continue
            seen.add(identity(module))
            held = vars(module)
            for name in self._asked_of(module, facts):
                self.reach.names[identity(held), name] = held
                self.reach.exposed.add(identity(held[name]))
                self.waiting.append(held[name])
                modules.append(held[name])

    def _asked_of(self, module: types.ModuleType, facts: CodeFacts) -> Iterable[str]:
        if not is_users(module):
            return ()
        if facts.asks_by_name:
            return list(vars(module))
        return facts.attributes & vars(module).keys()

    def _parts(self, value: Any) -> Iterator[Any]:
        if isinstance(value, types.FunctionType):
            yield from self._of_function(value)
        elif isinstance(value, triton_api.JITFunction):
            yield from [value.fn] if self._into_kernels else []
        elif isinstance(value, dict):
            yield from dict.keys(value)
            yield from dict.values(value)
        elif isinstance(value, _CONTAINERS):
            kind: Any = next(kind for kind in _CONTAINERS if isinstance(value, kind))
            yield from kind.__iter__(value)
        elif isinstance(value, type):
            if is_users(value):
                yield from vars(value).values()
                yield from value.__mro__[1:]
                yield type(value)
        elif not isinstance(value, (types.ModuleType, StandIn)):
            yield type(value)
            yield from _held(value)

    def _of_function(self, function: types.FunctionType) -> Iterator[Any]:
        code, namespace = function.__code__, function.__globals__
        key = (identity(code), identity(namespace))
        if key not in self._codes and file_in_kernel(code.co_filename) is not None:
            self._codes.add(key)
            self._names(facts_of(code, bodies=True), namespace)
        for cell in function.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:
                continue  # it is bound later
        yield from function.__defaults__ or ()
        yield from (function.__kwdefaults__ or {}).values()


def _gives_plain(value: Any, use: str) -> bool:
    """Return whether a use of a value only reads something of it that cannot be changed."""
    if use == "[]" or use in _READING:
        items = value.values() if type(value) is dict else value
        held = list(items) if type(value) in {dict, list, tuple} else [value]
        return all(isinstance(item, _PLAIN) for item in held)
    return bool(use) and isinstance(_attributes_of(value).get(use[1:], value), _PLAIN)


def _attributes_of(value: Any) -> Mapping[str, Any]:
    """Return what an object holds by its attributes, without asking it."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except Exception:  # noqa: BLE001 - a class of the user's may do anything here
        return {}
    return held if isinstance(held, (dict, types.MappingProxyType)) else {}


def _held(value: Any) -> Iterator[Any]:
    """Yield what an object holds."""
    if isinstance(value, types.MethodType):
        yield value.__self__
    if isinstance(value, (types.MethodType, staticmethod, classmethod)):
        yield value.__func__
    if isinstance(value, property):
        yield from (value.fget, value.fset)
    yield from _attributes_of(value).values()


def is_users(value: Any) -> bool:
    """Return whether a module or a class is one of the posted files'."""
    if isinstance(value, types.ModuleType):
        return file_in_kernel(str(vars(value).get("__file__"))) is not None
    if isinstance(value, type):
        functions = (item for item in vars(value).values() if isinstance(item, types.FunctionType))
        if any(file_in_kernel(function.__code__.co_filename) is not None for function in functions):
            return True
        module = sys.modules.get(str(vars(value).get("__module__")))
        return isinstance(module, types.ModuleType) and is_users(module)
    return False


# The calls of the user's functions that one statement makes, named in it or not.
#
# Python also calls functions that no statement names: special methods, annotations, finalizers, and
# what a library is given.


class UserCalls:
    """The first calls in a block, and the first one of each function after that."""

    def __init__(self) -> None:
        self.seen: list[UserCall] = []
        self._functions: set[types.CodeType] = set()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note the calls in the block, except those in an `unnoted` block inside it."""
        outer = sys.getprofile()
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(outer)

    def _note(self, frame: types.FrameType, event: str, _: object) -> None:
        # Triton's own calls and returns come here too, 18,000 for a file of five kernels, so the
        # cheap tests are first and nothing is called
        if event != "call":
            return
        code = frame.f_code
        if not code.co_filename.startswith(KERNEL_FOLDER):
            return
        if not code.co_flags & inspect.CO_OPTIMIZED:
            return
        if code in self._functions and len(self.seen) >= _MAX_COUNT:
            return
        if len(self._functions) < MAX_FUNCTIONS:
            self._functions.add(code)
            values = tuple(frame.f_locals.values())
            self.seen.append(UserCall(code, frame.f_globals, values))


@contextmanager
def unnoted() -> Iterator[None]:
    """Note no calls in the block: most of them would be this package's own."""
    outer = sys.getprofile()
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(outer)
