"""Decides by its syntax alone whether executing a source would run any code of its author.

A text is inert when it only imports, defines functions, and gives names to plain values: then what
a module holds afterwards follows from the text, and no code of the user's could have changed it.
"""

import ast
from collections.abc import Iterator, Mapping

from compiler.diagnostic import USER_FILE, Failure
from compiler.posted_text import python_text

CANONICAL: Mapping[str, frozenset[str]] = {
    "triton": frozenset({"triton"}),
    "tl": frozenset({"triton.language"}),
    "language": frozenset({"triton.language"}),
    "jit": frozenset({"triton.jit", "triton.runtime.jit.jit"}),
    "constexpr": frozenset({"triton.language.constexpr", "triton.language.core.constexpr"}),
    "gluon": frozenset({"triton.experimental.gluon"}),
    "gl": frozenset({"triton.experimental.gluon.language"}),
    "ttgl": frozenset({"triton.experimental.gluon.language"}),
}
"""The only allowed meanings of these names, by which calls are recognised."""

_CALLED = frozenset(
    {
        "triton.jit", "triton.autotune", "triton.heuristics", "triton.Config",
        "triton.constexpr_function", "triton.cdiv", "triton.next_power_of_2", "jit", "constexpr",
        "tl.constexpr", "triton.language.constexpr", "language.constexpr", "tl.pointer_type",
        "triton.language.pointer_type", "gluon.jit", "gluon.constexpr_function", "gl.constexpr",
        "ttgl.constexpr",
    }
)  # fmt: skip
_JIT = frozenset({"triton.jit", "jit", "gluon.jit"})
_JIT_KEYWORDS = frozenset(
    {"noinline", "debug", "do_not_specialize", "do_not_specialize_on_alignment"}
)
_VALUES = (
    ast.Constant, ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.UnaryOp,
    ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Slice, ast.Starred,
    ast.keyword, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.Call,
)  # fmt: skip


def check_inert(text: str, files: Mapping[str, str]) -> None:
    """Raise `Failure` (`not_derivable`), with the line, where `text` or one of `files` is not."""
    for path in files:
        if path.split("/")[0].removesuffix(".py") == "triton":
            raise _refusal(path, 1, "a file of that name stands in front of Triton's own")
    for path, body in {USER_FILE: text, **files}.items():
        for statement in ast.parse(python_text(body)).body:
            for line, why in _faults(statement):
                raise _refusal(path, line, why)


def _faults(statement: ast.stmt) -> Iterator[tuple[int, str]]:
    match statement:
        case ast.Expr(ast.Constant()) | ast.Pass():
            return
        case ast.Import() | ast.ImportFrom():
            yield from ((statement.lineno, why) for why in _wrong_import(statement))
        case ast.Assign(targets, value):
            for target in targets:
                yield from _wrong_target(target)
            yield from _wrong_value(value)
        case ast.AnnAssign(target, annotation, value):
            yield from _wrong_target(target)
            yield from _wrong_value(annotation)
            yield from _wrong_value(value)
        case ast.FunctionDef():
            yield from _wrong_function(statement)
        case _:
            kind = type(statement).__name__
            yield statement.lineno, f"a statement of kind {kind} runs code of the module's own"


def _wrong_import(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    prefix = ""
    if isinstance(statement, ast.ImportFrom):
        prefix = "." * statement.level + (statement.module or "") + "."
    for alias in statement.names:
        if alias.name == "*":
            if prefix not in ("triton.language.", "triton."):
                yield "the names of `import *` are not in the text"
            continue
        bound = alias.asname or (alias.name if prefix else alias.name.split(".")[0])
        meant = prefix + alias.name if alias.asname or prefix else bound
        if meant not in CANONICAL.get(bound, {meant}):
            yield f"`{bound}` is not what it is called elsewhere, but {meant}"


def _wrong_target(target: ast.expr) -> Iterator[tuple[int, str]]:
    names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    for name in names:
        if not isinstance(name, ast.Name):
            yield target.lineno, "something is assigned to that is not a name of the module"
        elif name.id in CANONICAL or name.id.startswith("__"):
            yield target.lineno, f"`{name.id}` is given another meaning"


def _wrong_function(function: ast.FunctionDef) -> Iterator[tuple[int, str]]:
    if function.name in CANONICAL or function.name.startswith("__"):
        yield function.lineno, f"`{function.name}` is given another meaning"
    for decorator in function.decorator_list:
        called = ast.unparse(decorator)
        if not isinstance(decorator, ast.Call) and called not in _CALLED:
            yield decorator.lineno, f"`{called[:60]}` decorates a function, and runs to do it"
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for value in (
        *function.decorator_list,
        *arguments.defaults,
        *arguments.kw_defaults,
        *(argument.annotation for argument in named),
        function.returns,
    ):
        yield from _wrong_value(value)


def _wrong_value(value: ast.expr | None) -> Iterator[tuple[int, str]]:
    for node in ast.walk(value) if value is not None else ():
        if not isinstance(node, _VALUES):
            kind = type(node).__name__
            yield getattr(node, "lineno", 1), f"an expression of kind {kind} may run any code"
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, why) for why in _wrong_call(node))


def _wrong_call(call: ast.Call) -> Iterator[str]:
    called = ast.unparse(call.func)
    if called not in _CALLED:
        yield f"`{called[:60]}` is called while the module is loaded"
    elif called in _JIT:
        unknown = {str(keyword.arg) for keyword in call.keywords} - _JIT_KEYWORDS
        if unknown:
            names = ", ".join(sorted(unknown))
            yield f"`{called}` is given {names}, which Triton's hash leaves out"


def _refusal(path: str, line: int, why: str) -> Failure:
    message = (
        f"{path}:{line}: {why}. Triton's cache is only told of kernels whose key follows from "
        "their text; move what the kernel does not need out of its module, or export it as `c`."
    )
    return Failure("not_derivable", "cache_key", message)
