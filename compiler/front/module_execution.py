"""Executes the statements of the user's modules one by one, as Python does, each in its turn.

Runs user Python, so only children that are thrown away may use it. A statement that asks for what
is not here (another package, a GPU, a file) is left out and noted; one that would fail anywhere
ends the module, as in Python.
"""

import __future__

import ast
import builtins
import copy
import faulthandler
import linecache
import signal
import sys
import time
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from traceback import walk_tb
from types import FrameType
from typing import Any, NoReturn

from compiler.back import triton_api
from compiler.diagnostic import KERNEL_FOLDER, USER_FILE, Assumption, file_in_kernel
from compiler.front.code_reach import UserCalls, unnoted
from compiler.front.diagnosis.wording import words_of
from compiler.front.dropped_statements import (
    DroppedStatement,
    dropped_statement,
    modules_lacked,
    removed_module,
)
from compiler.front.environment import (
    Assumptions,
    StandIn,
    StandInUsed,
    executing_line,
    is_lacking,
    is_missing,
)
from compiler.front.stubs import triton_modules
from compiler.front.stubs.torch_stub import StandIns
from compiler.front.taint import Executed, Taint, TaintAnalysis, Walks
from compiler.front.unknown_defaults import UnknownDefault, constexpr_defaults, with_defaults
from compiler.posted_text import lines_of, python_text
from compiler.reading.scopes import stored

MODULE = "user"
"""The name of the module that the posted source is, where the request gives none."""
_ANSWER_NAME = " answer"
"""Not a valid Python name, so that it hides no other."""
_PEELED = " peeled"
"""The name of the identity function that replaces a decorator that cannot run."""
MAX_CPU_S = 30.0
"""The CPU time that a source and all it imports may take."""
_STDERR = 2


def _unchanged(function: Any) -> Any:
    return function


@dataclass(frozen=True)
class _ExecutionScope:
    """The context of statements: the module, its path, its future features, whether in a `try`."""

    module: types.ModuleType
    path: str
    flags: int
    tried: bool
    is_posted: bool
    """True for the posted source, False for a further file."""


class StatementFailed(BaseException):
    """Ends the loading; `dropped` is the statement that failed for good."""

    def __init__(self, dropped: DroppedStatement) -> None:
        super().__init__()
        self.dropped = dropped


class ModuleExecution:
    """The execution of a module and all it imports.

    `dropped` are the statements left out, `missing` the names that are missing by it.
    """

    def __init__(self, assumptions: Assumptions) -> None:
        self.assumptions = assumptions
        self.dropped: list[DroppedStatement] = []
        self.missing: set[str] = set()
        self._walks = Walks()
        self.taint_analysis = TaintAnalysis(assumptions, self._walks)
        self.assumed = TaintAnalysis(assumptions, self._walks, passes_on=False)
        """Follows the assumptions that statements made, as taint is followed."""
        self.assumptions_of: dict[Taint, list[Assumption]] = {}
        self.place = (USER_FILE, 1)
        """The file and line of the last statement that was begun."""
        self._tried: dict[str, list[tuple[int, int]]] = {}
        self._lacking_above: dict[tuple[str, str], list[str]] = {}
        sys.unraisablehook = self._swallowed

    def _swallowed(self, unraisable: Any) -> None:
        """Doubt the statement in which Python ignored an error, of a `__del__` for example."""
        error = unraisable.exc_value
        if error is not None and is_lacking(error, self.missing):
            self.assumptions.ask(words_of(error)[:200])
        sys.__unraisablehook__(unraisable)

    @unnoted()
    def run(self, module: types.ModuleType, posted: str, path: str) -> None:
        """Run a module's statements in order.

        Raises `SyntaxError`, what a statement raised that would raise anywhere, and, inside of a
        `try` of the user's, whatever is raised.
        """
        text = python_text(posted, path)
        linecache.cache[path] = (
            len(text),
            None,
            lines_of(text),
            path,
        )  # no mtime: never looked for on disk
        tree = ast.parse(text, path)
        tried = self._is_tried()
        self._tried[path] = [_body_of(node) for node in _tries(tree.body)]
        flags = future_flags(tree)
        module.__doc__ = ast.get_docstring(tree, clean=False)
        asks = self.assumptions.asks
        is_posted = path == KERNEL_FOLDER + USER_FILE
        self._run_all(tree.body, _ExecutionScope(module, path, flags, tried, is_posted))
        self.assumptions.asks = asks  # taint_analysis its own statements, not the importer's

    @unnoted()
    def run_more(self, module: types.ModuleType, body: Sequence[ast.stmt], flags: int) -> None:
        """Run statements from within the posted source at its top level.

        Raises `StatementFailed`.
        """
        path = KERNEL_FOLDER + USER_FILE
        self._run_all(body, _ExecutionScope(module, path, flags, tried=False, is_posted=True))

    def assume_of(self, value: Any, assumption: Assumption) -> None:
        """Note an assumption that an object, and all that reads it, depends on."""
        taint = Taint(KERNEL_FOLDER + assumption.file, assumption.line, assumption.message)
        self.assumptions.add(assumption)
        self.assumed.mark(value, taint)
        self.assumptions_of[taint] = [assumption]

    def _run_all(self, body: Sequence[ast.stmt], scope: _ExecutionScope) -> None:
        for statement in _one_import_each(body):
            if isinstance(statement, ast.If):
                self._run_if(statement, scope)
                continue
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # compiled alone, a text would become the module's docstring
            logged = len(self.assumptions.log)
            runnable = self._without_absent_decorators(statement, scope)
            run = self._run_one if runnable is statement else self._run_undecorated
            run(runnable, scope, logged=logged)
            for name in [name for name in scope.module.__dict__ if name.startswith(_PEELED)]:
                del scope.module.__dict__[name]
            triton_modules.stand_in(statement, scope.module.__dict__)

    def _without_absent_decorators(self, statement: ast.stmt, scope: _ExecutionScope) -> ast.stmt:
        """Replace the decorators above `@triton.jit` that are not here, and note each.

        The kernel below is compiled without them.
        """
        if not isinstance(statement, ast.FunctionDef):
            return statement
        namespace, decorators = scope.module.__dict__, statement.decorator_list
        jit = next((i for i, node in enumerate(decorators) if _is_jit(node, namespace)), 0)
        lacking = [node for node in decorators[:jit] if self._is_lacking(node, namespace)]
        if not lacking:
            return statement
        return self._peeled(statement, lacking, scope, "cannot be imported, so it is ignored")

    def _peeled(
        self,
        function: ast.FunctionDef,
        lacking: list[ast.expr],
        scope: _ExecutionScope,
        why: str,
        instead: Callable[[Any], Any] = _unchanged,
    ) -> ast.FunctionDef:
        """Return a function with other decorators in place of some, and note each."""
        file = file_in_kernel(scope.path) or USER_FILE
        for node in lacking:
            message = f"the decorator @{ast.unparse(node)[:100]} {why}"
            self.assumptions.add(Assumption(file, node.lineno, message))
        name = _PEELED + str(len(self.assumptions.log))
        scope.module.__dict__[name] = instead
        peeled = copy.copy(function)
        peeled.decorator_list = [
            ast.copy_location(ast.Name(name, ast.Load()), node) if node in lacking else node
            for node in function.decorator_list
        ]
        return peeled

    def _without_failed(
        self,
        statement: ast.stmt,
        scope: _ExecutionScope,
        code: types.CodeType,
        dropped: DroppedStatement,
    ) -> ast.stmt | None:
        """Replace the decorator above `@triton.jit` that raised; None if none did.

        Triton's own decide what is compiled, so only a tuner is replaced that lacks a module.
        """
        if not isinstance(statement, ast.FunctionDef):
            return None
        namespace, decorators = scope.module.__dict__, statement.decorator_list
        jit = next((i for i, node in enumerate(decorators) if _is_jit(node, namespace)), 0)
        trace = dropped.error.__traceback__
        lines = [line for frame, line in walk_tb(trace) if frame.f_code is code]
        for node in decorators[:jit]:
            if not lines or not node.lineno <= lines[0] <= (node.end_lineno or 0):
                continue
            root = node.func if isinstance(node, ast.Call) else node
            value = _value_of(root, namespace)
            for decorator, kind in triton_api.TUNERS.items():
                if value is decorator:
                    return self._untuned(statement, (node, kind), scope, dropped)
            module = getattr(value, "__module__", None)
            if not isinstance(module, str) or module.split(".")[0] != "triton":
                return self._peeled(statement, [node], scope, "cannot run here, so it is ignored")
        if not any(_is_jit(node, namespace) for node in decorators):
            return None
        without_name = self._without_lacking_name(statement, scope, dropped)
        return without_name or self._without_defaults(statement, scope, dropped)

    def _without_lacking_name(
        self, function: ast.FunctionDef, scope: _ExecutionScope, dropped: DroppedStatement
    ) -> ast.stmt | None:
        """Return a kernel without the `repr` of its `@triton.jit` that lacks a module."""
        modules = modules_lacked(dropped, self.dropped)
        jits = [node for node in function.decorator_list if isinstance(node, ast.Call)]
        named = ((jit, word) for jit in jits for word in jit.keywords if word.arg == "repr")
        jit, word = next(named, (None, None))
        namespace, file = scope.module.__dict__, file_in_kernel(scope.path) or USER_FILE
        if not modules or jit is None or word is None:
            return None
        if not (_is_jit(jit, namespace) and self._lacks_a_name(word.value, namespace)):
            return None
        message = (
            f"the repr of {function.name} needs {' or '.join(modules)}, which is missing: the "
            "kernel keeps the name of its function"
        )
        self.assumptions.add(Assumption(file, jit.lineno, message))
        self._note_lacking(scope, function, modules)
        others = [other for other in jit.keywords if other is not word]
        unnamed = ast.copy_location(ast.Call(jit.func, jit.args, others), jit)
        bare = copy.copy(function)
        bare.decorator_list = [unnamed if n is jit else n for n in function.decorator_list]
        return bare

    def _without_defaults(
        self, function: ast.FunctionDef, scope: _ExecutionScope, dropped: DroppedStatement
    ) -> ast.stmt | None:
        """Return a kernel without defaults of constexprs that lack a module; None if none does."""
        modules = modules_lacked(dropped, self.dropped)
        namespace, file = scope.module.__dict__, file_in_kernel(scope.path) or USER_FILE
        pairs = constexpr_defaults(function) if modules else ()
        lacking = [name for name, node in pairs if self._lacks_a_name(node, namespace)]
        if not lacking:
            return None
        namespace[_PEELED] = UnknownDefault(modules)
        message = (
            f"the default of {' and '.join(lacking)} needs {' or '.join(modules)}, which is "
            "missing: the kernel is assumed not to read it"
        )
        self.assumptions.add(Assumption(file, function.lineno, message))
        self._note_lacking(scope, function, modules)
        return with_defaults(function, {name: ast.Name(_PEELED, ast.Load()) for name in lacking})

    def _note_lacking(
        self, scope: _ExecutionScope, function: ast.FunctionDef, modules: list[str]
    ) -> None:
        known = self._lacking_above.setdefault((scope.path, function.name), [])
        known += [module for module in modules if module not in known]

    def _lacks_a_name(self, expression: ast.expr, namespace: dict[str, Any]) -> bool:
        names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
        names -= vars(builtins).keys()
        return any(is_missing(name, self.missing) for name in names.difference(namespace))

    def _untuned(
        self,
        function: ast.FunctionDef,
        tuner: tuple[ast.expr, type],
        scope: _ExecutionScope,
        dropped: DroppedStatement,
    ) -> ast.stmt | None:
        """Return a function without a tuner that lacks a module; None if it lacks none."""
        modules = modules_lacked(dropped, self.dropped)
        removed = removed_module(dropped, self.dropped)
        if not modules and removed is None:
            return None
        self._note_lacking(scope, function, modules)
        why = f"needs {' or '.join(modules)}, which is missing"
        if removed is not None:
            why = f"needs {removed}, which this version of Triton does not have"
        why += ", and is left out: what it would set is assumed"
        decorator, kind = tuner
        instead = _unknown_tuner(kind, self.assumptions)
        return self._peeled(function, [decorator], scope, why, instead)

    def modules_lacked_by(self, kernel: Any) -> list[str]:
        """Return the modules for whose lack tuners or defaults of a kernel were left out."""
        path = kernel.fn.__code__.co_filename
        return self._lacking_above.get((path, kernel.__name__), [])

    def _run_undecorated(
        self, statement: ast.stmt, scope: _ExecutionScope, logged: int
    ) -> Taint | None:
        """Run a function without some of its decorators, which may work with further modules."""
        taint = self._run_one(statement, scope, logged=logged)
        if self.assumptions.needs:
            self._taint_undecorated(statement, scope)
        return taint

    def _doubt_half_run(self, failed: Executed) -> None:
        """Have what a decorator may have changed before it failed depend on it."""
        asked = "a decorator of it ended halfway"
        try:
            self.taint_analysis.after(replace(failed, asked=asked), self.missing)
        finally:
            self._walks.forget()

    def _taint_undecorated(self, statement: ast.stmt, scope: _ExecutionScope) -> None:
        """Have a function depend on its missing decorators, which may yet be sent."""
        asked = "a decorator of it was not sent"
        taint = Taint(scope.path, statement.lineno, asked)
        self.taint_analysis.bind(stored([statement]), scope.module.__dict__, taint)

    def _is_lacking(self, decorator: ast.expr, namespace: dict[str, Any]) -> bool:
        root = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(_value_of(root, namespace), StandIn):
            return True
        while isinstance(root, (ast.Call, ast.Attribute)):
            root = root.func if isinstance(root, ast.Call) else root.value
        if not isinstance(root, ast.Name):
            return False
        return root.id not in namespace and is_missing(root.id, self.missing)

    def _run_if(self, statement: ast.If, scope: _ExecutionScope) -> None:
        """Run an `if` part by part, so that what is lacking in it takes only itself away."""
        truth = ast.IfExp(statement.test, ast.Constant(True), ast.Constant(False))
        asks = ast.Assign([ast.Name(_ANSWER_NAME, ast.Store())], truth)
        located = ast.fix_missing_locations(ast.copy_location(asks, statement))
        known = scope.module.__dict__
        loses = stored([statement]) - set(_packages_bound(statement, known))
        taint = self._run_one(located, scope, loses=loses)
        if _ANSWER_NAME in known:
            self._run_all(statement.body if known.pop(_ANSWER_NAME) else statement.orelse, scope)
        if taint is not None:
            self.taint_analysis.branched(statement, known, taint)

    def _run_one(
        self,
        statement: ast.stmt,
        scope: _ExecutionScope,
        *,
        loses: Collection[str] | None = None,
        logged: int | None = None,
    ) -> Taint | None:
        """Run a statement, and return the source of its taint, if any.

        `loses` are the names that are missing when it is left out. What was assumed since there
        were `logged` assumptions is the statement's, too.
        """
        module, path = scope.module, scope.path
        self.place = file_in_kernel(path) or USER_FILE, statement.lineno
        program = ast.Module([statement], type_ignores=[])
        code = compile(program, path, "exec", flags=scope.flags, dont_inherit=True)
        touches, asks = self.assumptions.touches, self.assumptions.asks
        logged = len(self.assumptions.log) if logged is None else logged
        asked, raised = None, False
        calls = UserCalls()
        try:
            with calls.noted():
                exec(code, module.__dict__)  # noqa: S102 - the child exists to do this
        except (MemoryError, StatementFailed, CpuBudgetUsedUp):
            raise
        except BaseException as error:
            if scope.tried:
                raise
            if isinstance(error, ImportError) and (apart := _apart(statement)):
                for part in apart:
                    self._run_one(part, scope)
                return None
            dropped = dropped_statement(path, statement, error, loses)
            fails_here = self.assumptions.touches != touches or is_lacking(error, self.missing)
            failed = Executed(statement, code, module.__dict__, path, None, True, calls.seen)
            if fails_here and (bare := self._without_failed(statement, scope, code, dropped)):
                self._doubt_half_run(failed)
                return self._run_undecorated(bare, scope, logged)
            if not fails_here and self.taint_analysis.read_by(failed) is None:
                _fail(dropped, scope, error)
            self._leave_out(dropped, module)
            asked, raised = words_of(dropped.error)[:200], True
        if self.assumptions.asks != asks:
            asked = self.assumptions.asked
        executed = Executed(statement, code, module.__dict__, path, asked, raised, calls.seen)
        try:
            self._note_assumptions(executed, logged)
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                self._hide(executed)
            return self.taint_analysis.after(executed, self.missing)
        finally:
            self._walks.forget()

    def _note_assumptions(self, executed: Executed, logged: int) -> None:
        """Follow what depends on the assumptions that a statement made."""
        made = self.assumptions.of_this_statement(logged)
        asked = made[0].message if made else None
        self.assumed.after(replace(executed, asked=asked, raised=False), ())
        if asked is not None:
            taint = Taint(executed.path, executed.statement.lineno, asked)
            self.assumptions_of[taint] = made

    def _hide(self, executed: Executed) -> None:
        """Have what a star import may have bound again depend on it, where it brought nothing."""
        statement = executed.statement
        assert isinstance(statement, ast.ImportFrom)
        module = sys.modules.get(statement.module or "")
        is_stand_in = isinstance(getattr(module, "__loader__", None), StandIns)
        if not executed.raised and not is_stand_in:
            return
        words = f"{'.' * statement.level}{statement.module or ''}"
        message = f"what `from {words} import *` brings is not known: nothing of the kernel's"
        taint = Taint(executed.path, statement.lineno, message)
        if self.assumptions.needs:
            self.taint_analysis.bind(executed.namespace, executed.namespace, taint)
        else:
            file = file_in_kernel(executed.path) or USER_FILE
            assumption = Assumption(file, statement.lineno, message)
            self.assumptions.add(assumption)
            self.assumed.bind(executed.namespace, executed.namespace, taint)
            self.assumptions_of[taint] = [assumption]

    def _leave_out(self, dropped: DroppedStatement, module: types.ModuleType) -> None:
        self.dropped.append(dropped)
        self.missing |= dropped.names
        for name in dropped.names:
            if not name.startswith("__"):  # Python itself gave it to the module
                module.__dict__.pop(name, None)

    def _is_tried(self) -> bool:
        """Return whether a user's `try` surrounds the current statement."""
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            for first, last in self._tried.get(frame.f_code.co_filename, ()):
                if first <= frame.f_lineno <= last:
                    return True
            frame = frame.f_back
        return False


_UNKNOWN = StandIn()


def _unknown_tuner(base: Any, assumptions: Assumptions) -> type:
    """Return a class in place of a tuner, of class `base`, that was left out: it knows nothing."""

    class UnknownTuner(base):  # type: ignore[misc]
        def __init__(self, fn: Any) -> None:
            self.fn = fn
            self.arg_names = fn.arg_names

        def run(self, *arguments: Any, **options: Any) -> Any:
            return self.fn.run(*arguments, **options)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            words = f"the {name} of a tuner that was left out is not known"
            assumptions.ask(words)
            raise StandInUsed(words)

    return UnknownTuner


def _fail(dropped: DroppedStatement, scope: _ExecutionScope, error: BaseException) -> NoReturn:
    """Raise what ends the module: for a further file, the error that its importer may catch."""
    if not scope.is_posted and not isinstance(error, SystemExit):
        raise error
    raise StatementFailed(dropped) from error


def _is_jit(decorator: ast.expr, namespace: dict[str, Any]) -> bool:
    """Return whether a decorator is `triton.jit`, called, applied in part, or by itself."""
    if isinstance(decorator, ast.Call):
        parts = [decorator.func, *decorator.args[:1]]
        return any(_is_jit(part, namespace) for part in parts)
    value = _value_of(decorator, namespace)
    return any(value is jit for jit in triton_api.JIT_DECORATORS)


def _value_of(node: ast.expr, namespace: dict[str, Any]) -> Any:
    """Return the value of `name` or `module.name`, asking nothing but modules; else None."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _value_of(node.value, namespace)
        if isinstance(owner, types.ModuleType):
            is_stand_in = isinstance(vars(owner).get("__loader__"), StandIns)
            return vars(owner).get(node.attr, _UNKNOWN if is_stand_in else None)
        return owner if isinstance(owner, StandIn) else None
    return None


def _packages_bound(statement: ast.stmt, namespace: dict[str, Any]) -> Iterator[str]:
    """Yield names that a statement binds only by `import name.module`, and to what they are."""
    others = stored([statement], imports=False)
    packages: set[str] = set()
    for node in ast.walk(statement):
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            name, dot, _ = alias.name.partition(".")
            is_package = isinstance(node, ast.Import) and dot and not alias.asname
            (packages if is_package else others).add(alias.asname or name)
    for name in packages - others:
        if name in namespace and namespace[name] is sys.modules.get(name):
            yield name


def _tries(body: Sequence[ast.AST]) -> Iterator[ast.Try]:
    """Yield the `try` statements of a body and of all that is in it, without expressions."""
    left = list(body)
    while left:
        node = left.pop()
        if isinstance(node, ast.Try):
            yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, None)
            if isinstance(inner, list):  # the body of a lambda is an expression
                left += inner


def _body_of(node: ast.Try) -> tuple[int, int]:
    return node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno


def _one_import_each(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Split imports of several things, so that a missing one does not take the others with it."""
    for statement in body:
        if isinstance(statement, ast.Import) and len(statement.names) > 1:
            for alias in statement.names:
                yield ast.copy_location(ast.Import([alias]), statement)
        elif isinstance(statement, ast.ImportFrom) and len(statement.names) > 1:
            yield from triton_modules.one_by_one(statement)
        else:
            yield statement


def _apart(statement: ast.stmt) -> list[ast.ImportFrom]:
    """Return an import of several names as one import for each."""
    if not isinstance(statement, ast.ImportFrom) or len(statement.names) == 1:
        return []
    parts = [ast.ImportFrom(statement.module, [a], statement.level) for a in statement.names]
    return [ast.copy_location(part, statement) for part in parts]


def future_flags(tree: ast.Module) -> int:
    """Return the compiler's flags for the `__future__` imports of a module."""
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    names = {alias.name for node in imports if node.module == "__future__" for alias in node.names}

    features = (getattr(__future__, name, None) for name in names)
    flags = 0
    for feature in features:
        flags |= getattr(feature, "compiler_flag", 0)
    return flags


# The bound on the CPU time of code at module level, which names the line that used it up.
#
# The sandbox sends SIGXCPU after each second of CPU time. Python then raises at the line that
# runs; within a long call of C code it cannot, so the C library's handler also writes the lines to
# stderr, where the worker finds them if it has to kill the child.


class CpuBudgetUsedUp(BaseException):
    """Module-level code took too long, at the file and line `place`, if any of it was running."""

    def __init__(self, place: tuple[str, int] | None) -> None:
        super().__init__()
        self.place = place


@contextmanager
def bounded(most_cpu_s: float, *, writes_lines: bool = True) -> Iterator[None]:
    """Raise `CpuBudgetUsedUp` in the block once it has taken `most_cpu_s`.

    To be used in the main thread. `writes_lines`: the lines are written to stderr from then on for
    good.
    """
    end_s = time.process_time() + most_cpu_s
    running = True

    def notice(_number: int, _frame: FrameType | None) -> None:
        if running and time.process_time() > end_s:
            raise CpuBudgetUsedUp(executing_line())

    faulthandler.unregister(signal.SIGXCPU)  # of a zygote: registered twice, it does nothing
    signal.signal(signal.SIGXCPU, notice)
    if writes_lines:
        faulthandler.register(signal.SIGXCPU, file=_STDERR, all_threads=False, chain=True)
    try:
        yield
    finally:
        running = False
