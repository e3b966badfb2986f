"""Turns what statements at module level raised into diagnostics at the user's own lines."""

import linecache
import os
import re
import sys
import traceback
from collections.abc import Sequence

from compiler.diagnostic import (
    KERNEL_FOLDER,
    USER_FILE,
    Assumption,
    Diagnostic,
    Failure,
    Severity,
    Span,
    diagnostic,
    excerpt,
    file_in_kernel,
)
from compiler.front import environment
from compiler.front.diagnosis import import_errors, name_errors, wording
from compiler.front.diagnosis.value_errors import OUTSIDE
from compiler.front.dropped_statements import (
    HOST_LIBRARIES,
    UNDEFINED,
    DroppedStatement,
    chain_of,
    modules_lacked,
)
from compiler.front.module import Loaded
from compiler.front.taint import Taint
from compiler.reading import syntax_errors

_ABSENT = re.compile(r"'Absent'|is not known here: (torch|numpy)")
_NO_ARGUMENT_OF_JIT = re.compile(r"^jit\(\) got an unexpected keyword argument '(\w+)'")
_LAUNCH_OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu"})
_JIT_ARGUMENTS = ("version", "repr", "launch_metadata", "do_not_specialize",
                  "do_not_specialize_on_alignment", "debug", "noinline")  # fmt: skip
_DEFINES = re.compile(r"\s*(@|(def|class|import|from)\b)")
_RUNS_WHEN_LOADED = (
    "This runs when the file is loaded. If the kernel does not need it, put it below "
    '`if __name__ == "__main__":`.'
)
_DECIDE = "Write its value into the source, or make it a tl.constexpr parameter of the kernel."
_MAX_NOTES = 20
_MAX_NEEDS_SHOWN = 8


def of_definition(
    dropped: DroppedStatement, name: str, others: Sequence[DroppedStatement] = ()
) -> Failure:
    """Return the failure for a kernel, or a name it needs, whose definition raised.

    `others` are all statements that raised: when this one only missed a name of theirs, the failure
    is that of the first in the chain, with a note for each that followed from it.
    """
    *followed, root = chain_of(dropped, name, others)
    cause, wanted = root
    error = cause.error
    unread = file_in_kernel(error.filename or "") if isinstance(error, SyntaxError) else None
    if isinstance(error, SyntaxError) and unread is not None:
        text = "".join(linecache.getlines(KERNEL_FOLDER + unread))
        return syntax_errors.failure_of(error, text, unread)
    missing = missing_module(error)
    message = _explanation(cause)
    slug = "missing_module" if missing and missing not in HOST_LIBRARIES else "compile_error"
    if isinstance(error, ImportError) and (
        import_errors.missing_helpers(error) or import_errors.missing_submodule(error, cause.span)
    ):
        slug = "missing_module"
    slug = environment.SLUG if environment.was_refused(error) else slug
    located = _at_module_level(cause, "error", message, _definition_hint(cause))
    notes = [_at_module_level(d, "note", f"so {n!r} is missing", None) for d, n in followed]
    detail = f"line {located.line}: {message} (so {wanted!r} is missing)"
    failure = Failure(slug, "frontend", detail, [located, *reversed(notes)])
    if slug == "missing_module" and isinstance(error, ImportError):
        failure.needs = import_errors.needs_of(error, cause.span)
    return failure


def check_executed(loaded: Loaded) -> None:
    """Raise `Failure` for a statement that would end the module on any machine."""
    if loaded.failed is not None:
        failure = of_definition(loaded.failed, "", loaded.dropped)
        message = failure.message.removesuffix(" (so '' is missing)")
        ended = Failure(failure.slug, failure.stage, message, failure.diagnostics)
        ended.needs = failure.needs
        raise ended


def of_needs(failure: Failure, loaded: Loaded) -> Failure:
    """Return the failure of a kernel that may need modules that were not sent, and name them."""
    needs = list(loaded.assumptions.needs)
    shown = ", ".join(needs[:_MAX_NEEDS_SHOWN])
    shown += ", ..." if len(needs) > _MAX_NEEDS_SHOWN else ""
    message = (
        f"the kernel needs modules that were not sent ({shown}): post each in `files`, or list it "
        f"in `absent` if it is not installed where the kernel runs. Without them: {failure.message}"
    )
    asked = Failure("missing_module", "frontend", message, failure.diagnostics)
    asked.needs = needs
    return asked


def check_certain(loaded: Loaded, kernel: object, name: str | None) -> None:
    """Raise `Failure` where a kernel depends on data that only a package, a GPU or a file has."""
    if loaded.execution is None:
        return
    taint = loaded.execution.taint_analysis.of_kernel(kernel, vars(loaded.module), name)
    if taint is None:
        return
    span = Span(taint.path.removeprefix(KERNEL_FOLDER), taint.line)
    shown = excerpt(linecache.getlines(taint.path), span)
    place = f"line {span.line}" if span.file == USER_FILE else f"{span.file}, line {span.line}"
    modules = _modules_lacked_at(taint, loaded.dropped)
    if modules:
        message = (
            f"the kernel may depend on this statement, which needs {' or '.join(modules)}: "
            f"{taint.asked}"
        )
        hint = import_errors.posting(modules)
        error = diagnostic("error", "frontend", message, hint=hint, span=span, excerpt=shown)
        missing = Failure("missing_module", "frontend", f"{place}: {message}", [error])
        missing.needs = modules
        raise missing
    message = f"the kernel depends on this statement, which cannot be decided here: {taint.asked}"
    error = diagnostic("error", "frontend", message, hint=_DECIDE, span=span, excerpt=shown)
    notes = of_assumptions(loaded)
    raise Failure("compile_error", "frontend", f"{place}: {message}", [error, *notes])


def _modules_lacked_at(taint: Taint, dropped: Sequence[DroppedStatement]) -> list[str]:
    """Return the modules to post where a statement that was left out decides about the kernel."""
    place = taint.path, taint.line
    statement = next((each for each in dropped if (each.path, each.line) == place), None)
    return [] if statement is None else modules_lacked(statement, dropped)


def of_assumptions(
    loaded: Loaded, assumptions: Sequence[Assumption] | None = None
) -> list[Diagnostic]:
    """Return a warning for each of `assumptions`, by default for all that were made."""
    warned = []
    made = loaded.assumptions.made if assumptions is None else assumptions
    for assumption in made[:_MAX_NOTES]:
        span = Span(assumption.file, assumption.line)
        shown = excerpt(linecache.getlines(KERNEL_FOLDER + assumption.file), span)
        warned.append(
            diagnostic("warning", "frontend", assumption.message[:500], span=span, excerpt=shown)
        )
    return warned


def _explanation(dropped: DroppedStatement) -> str:
    """Return the exception of a statement, in words that do not mislead."""
    if re.search(OUTSIDE, str(dropped.error)):
        span = dropped.span
        line = linecache.getline(KERNEL_FOLDER + span.file, span.line)
        called = line[span.column - 1 : (span.end_column or 0) - 1] if span.column else ""
        return f"{called or 'triton.language'} is called outside of a kernel"
    if isinstance(dropped.error, environment.StandInUsed):
        return str(dropped.error)
    return wording.words_of(dropped.error)


def missing_module(error: Exception) -> str | None:
    """Return the top of the module that an import did not find, `None` for other errors."""
    return (error.name or "").split(".")[0] if isinstance(error, ModuleNotFoundError) else None


def _raised_in(error: Exception) -> str:
    """Return the name of the module that raised `error`."""
    frames_of_error = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return str(frames_of_error[-1].f_globals.get("__name__")) if frames_of_error else ""


def _definition_hint(dropped: DroppedStatement) -> str | None:
    error = dropped.error
    if environment.was_refused(error):
        return environment.HINT
    if (advice := _of_triton(str(error))) is not None:
        return advice
    if isinstance(error, KeyError) and _raised_in(error) == os.__name__:
        return "No environment variable is set while a kernel is compiled: give a default."
    if isinstance(error, TypeError) and (match := _ABSENT.search(str(error))):
        return (
            f"{match[1] or 'torch'} is not there while a kernel is compiled: write the value "
            "into the source, or make it a tl.constexpr parameter of the kernel."
        )
    if isinstance(error, environment.StandInUsed):
        return _DECIDE
    if isinstance(error, ImportError):
        return _import_hint(dropped, error)
    if isinstance(error, NameError) and (match := UNDEFINED.match(str(error))):
        return _on_name(match[1])
    if _DEFINES.match(linecache.getline(dropped.path, dropped.line)):
        return None
    return _RUNS_WHEN_LOADED


def _import_hint(dropped: DroppedStatement, error: ImportError) -> str | None:
    if (advice := import_errors.missing_helpers(error)) is not None:
        return advice
    missing = missing_module(error)
    if (submodule := import_errors.missing_submodule(error, dropped.span)) is not None:
        return import_errors.posting([submodule])
    if missing is None:
        return import_errors.missing_name(error, dropped.span)
    if missing in sys.stdlib_module_names:
        return f"Python's {missing} does not exist while a kernel is compiled: do not use it."
    if missing in HOST_LIBRARIES:
        return f"{missing} does not exist here: keep it out of the code that the kernel needs."
    return import_errors.missing_module(dropped.span, str(error.name))


def _on_name(name: str) -> str | None:
    if name in HOST_LIBRARIES | sys.stdlib_module_names:
        return f"Add `import {name}` at the top of the source, or leave {name} out."
    return name_errors.advice_on_name(name, set()) or (
        f"Define or import {name} above, or leave this out: only the kernel and what it needs has "
        "to be in the source."
    )


def _of_triton(message: str) -> str | None:
    """Return advice on what Triton's decorators and builtins raise at module level."""
    if re.search(OUTSIDE, message):
        return (
            "Only functions with @triton.jit above them can call triton.language: move this line "
            "into the kernel."
        )
    if (match := _NO_ARGUMENT_OF_JIT.search(message)) is not None:
        if match[1] in _LAUNCH_OPTIONS:
            return (
                f"{match[1]} is not an argument of triton.jit: give it in the request's `options` "
                "(in Python: where the kernel is launched, or in a triton.Config)."
            )
        return f"triton.jit takes: {', '.join(_JIT_ARGUMENTS)}."
    if "has no attribute 'arg_names'" in message:
        return (
            "Put @triton.jit directly above `def`, and @triton.autotune and @triton.heuristics "
            "above it."
        )
    if "got JITFunction" in message:
        return "Leave one @triton.jit out: the function has it twice."
    if "do not support **" in message:
        return "Name every parameter: a kernel takes no keyword arguments that it does not name."
    return None


def _at_module_level(
    dropped: DroppedStatement, severity: Severity, message: str, hint: str | None
) -> Diagnostic:
    span = dropped.span
    shown = excerpt(linecache.getlines(KERNEL_FOLDER + span.file), span)
    return diagnostic(severity, "frontend", message, hint=hint, span=span, excerpt=shown)
