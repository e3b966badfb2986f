"""Loads user code as Python imports modules, from the request's texts, without any file.

Runs user Python, so only children that are thrown away may use it. How its statements are executed
is decided by `module_execution`.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from compiler.back import triton_api
from compiler.diagnostic import (
    KERNEL_FOLDER,
    USER_FILE,
    Assumption,
    Failure,
    Span,
    diagnostic,
    excerpt,
)
from compiler.front import module_execution, posted_folder
from compiler.front.diagnosis.wording import words_of
from compiler.front.dropped_statements import DroppedStatement
from compiler.front.environment import (
    Assumptions,
    CommandLine,
    LaunchResult,
    MissingModules,
    notice_attempts,
    noticing_memory,
)
from compiler.front.module_execution import (
    MODULE,
    ModuleExecution,
    StatementFailed,
)
from compiler.front.standard_library import StandardLibrary
from compiler.front.stubs import driver_stub
from compiler.front.stubs.torch_stub import LIBRARY, NUMPY, KnownNames, StandIns
from compiler.posted_text import python_text
from compiler.reading.posted_files import package_of, root_package

"""A handler that may be of a `MemoryError`."""


@dataclass(frozen=True)
class Loaded:
    """The user's module, the statements that it does without, and the one that ended it, if any."""

    module: types.ModuleType
    dropped: Sequence[DroppedStatement]
    failed: DroppedStatement | None = None
    assumptions: Assumptions = field(default_factory=Assumptions)
    execution: ModuleExecution | None = None

    def modules_lacked_by(self, kernel: Any) -> list[str]:
        """Return the modules for whose lack tuners or defaults of a kernel were left out."""
        return self.execution.modules_lacked_by(kernel) if self.execution is not None else []

    def assumptions_of(self, kernel: Any, name: str | None) -> list[Assumption]:
        """Return the assumptions that a kernel, or anything that it reads, depends on."""
        if self.execution is None:
            return self.assumptions.made
        taints = self.execution.assumed.all_of_kernel(kernel, vars(self.module), name)
        needed = {item for taint in taints for item in self.execution.assumptions_of[taint]}
        return [item for item in self.assumptions.made if item in needed]


@dataclass(frozen=True)
class PostedModule:
    """The posted source as Python knows it: its dotted name, and the package that it is in."""

    name: str
    package: str
    is_package: bool = False

    @property
    def parents(self) -> list[str]:
        """The packages around it, the outermost first."""
        parts = self.name.split(".")
        return [".".join(parts[:count]) for count in range(1, len(parts))]


def posted_module(module: str | None, text: str, files: Mapping[str, str]) -> PostedModule:
    """Return what a source posted as `module` is; `pkg.__init__` is the package `pkg` itself."""
    if module is None:
        return PostedModule(MODULE, package_of(text, files, root_package(files)))
    name = module.removesuffix(".__init__")
    if name != module:
        return PostedModule(name, name, is_package=True)
    return PostedModule(name, name.rpartition(".")[0])


class PostedFiles(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the request's texts as if they were files in the folder /kernel.

    The source itself is `/kernel/user.py`, whatever its module is called.
    """

    def __init__(
        self, text: str, files: Mapping[str, str], posted: PostedModule, execution: ModuleExecution
    ) -> None:
        self._files = {**files, USER_FILE: text}
        self._root = root_package(files)
        self._posted = posted
        self._execution = execution

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        """Return the spec of a module that one of the files holds, else `None`.

        The package of the folder itself exists for relative imports.
        """
        del path, target
        if fullname == self._posted.name:
            folders = [KERNEL_FOLDER + fullname.replace(".", "/")]
            return self._spec(fullname, USER_FILE, folders if self._posted.is_package else None)
        if fullname == self._root:
            return self._spec(fullname, None, [KERNEL_FOLDER.rstrip("/")])
        folder = fullname.removeprefix(f"{self._root}.").replace(".", "/")
        if f"{folder}/__init__.py" in self._files:
            return self._spec(fullname, f"{folder}/__init__.py", [KERNEL_FOLDER + folder])
        if f"{folder}.py" in self._files:
            return self._spec(fullname, f"{folder}.py", None)
        library = fullname.partition(".")[0]
        if library in {LIBRARY, NUMPY} and f"{library}/__init__.py" not in self._files:
            return None  # a stand-in, which the files complete
        is_folder = any(name.startswith(f"{folder}/") for name in self._files)
        if is_folder or fullname in self._posted.parents:
            return self._spec(fullname, None, [KERNEL_FOLDER + folder])
        return None

    def _spec(self, fullname: str, file: str | None, folders: list[str] | None) -> Any:
        if file is None:
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        else:
            path = KERNEL_FOLDER + file
            spec = importlib.machinery.ModuleSpec(
                fullname, self, origin=path, is_package=folders is not None
            )
            spec.has_location = True
        if folders is not None:
            spec.submodule_search_locations = folders
        return spec

    def get_source(self, fullname: str) -> str:
        """Return a module's text. Raises `ImportError` for a module that is not loaded."""
        if fullname not in sys.modules:
            raise ImportError(f"module {fullname} is not loaded")
        path = str(sys.modules[fullname].__file__)
        return python_text(self._text(path))

    def get_data(self, path: Any) -> bytes:
        """Return a file's bytes. Raises `OSError` for one that was not posted."""
        return self._text(str(path)).encode()

    def _text(self, path: str) -> str:
        name = path.removeprefix(KERNEL_FOLDER)
        if name not in self._files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self._files[name]

    def exec_module(self, module: types.ModuleType) -> None:
        """Run a file, statement by statement."""
        path = str(module.__file__)
        self._execution.run(module, self._text(path), path)


@dataclass(frozen=True)
class HostRun:
    """Runs a source as `__main__`, its host code included.

    `known_names` returns the names in torch's modules, for the stand-ins of others. `runs`
    are the methods `run` of the classes that launch. It may take `most_cpu_s` of CPU time.
    """

    known_names: KnownNames
    runs: Mapping[Any, Callable[..., Any]]
    most_cpu_s: float


@contextmanager
def launching_nothing(runs: Mapping[Any, Callable[..., Any]]) -> Iterator[None]:
    """Let launches in the block only do what `runs` has for their class."""
    originals = [(kind, kind.run) for kind in runs]
    for kind, run in runs.items():
        kind.run = run
    try:
        yield
    finally:
        for kind, original in originals:
            kind.run = original


def load(
    text: str,
    files: Mapping[str, str],
    *,
    module: str | None = None,
    absent: Collection[str] = (),
    host_run: HostRun | None = None,
) -> Loaded:
    """Load `text` as the module called `module`, its imports coming from `files`.

    Its packages are imported before it, as Python does. Without a `module`, it is `user`. Raises
    `Failure` if that takes too much CPU time.
    """
    if any(isinstance(finder, _FINDERS) for finder in sys.meta_path):
        forget_earlier()
    assumptions = Assumptions(absent=None if module is None else frozenset(absent))
    execution = ModuleExecution(assumptions)
    posted = posted_module(module, text, files)
    finder = PostedFiles(text, files, posted, execution)
    stand_ins = StandIns(assumptions, files, host_run.known_names if host_run else None)
    sys.meta_path[:0] = [finder, stand_ins, StandardLibrary(assumptions)]
    sys.meta_path.append(MissingModules(assumptions))
    spec = finder.find_spec(posted.name, None)
    loaded = importlib.util.module_from_spec(spec)
    loaded.__package__ = posted.package
    if spec.parent != posted.package:
        spec.name = f"{posted.package}.{posted.name}"  # imports compare the two
    failed = None
    most_cpu_s = host_run.most_cpu_s if host_run else module_execution.MAX_CPU_S
    notice_attempts(assumptions)
    sys.argv = CommandLine(KERNEL_FOLDER + USER_FILE, assumptions)
    folder = posted_folder.of_request(text, files, is_whole=module is None)
    catches_memory = any("MemoryError" in each for each in (text, *files.values()))
    with (
        posted_folder.answering(folder, assumptions),
        noticing_memory(assumptions) if catches_memory else nullcontext(),
        driver_stub.noting_assumptions(assumptions),
        launching_nothing(host_run.runs if host_run else _launch_nothing(assumptions)),
    ):
        try:
            with module_execution.bounded(most_cpu_s, writes_lines=not catches_memory):
                loaded = _executed(posted, loaded, finder, is_main=host_run is not None)
        except StatementFailed as failure:
            failed = failure.dropped
        except module_execution.CpuBudgetUsedUp as error:
            place = error.place or execution.place
            raise _took_too_long(place, most_cpu_s) from None
    for dropped in execution.dropped:
        _note(dropped, assumptions)
    return Loaded(loaded, execution.dropped, failed, assumptions, execution)


def _took_too_long(place: tuple[str, int], most_cpu_s: float) -> Failure:
    file, line = place
    message = (
        f"the code at module level took longer than {most_cpu_s:g} s of CPU, "
        f"at {file}:{line}; move work out of module level"
    )
    span = Span(file, line)
    shown = excerpt(linecache.getlines(KERNEL_FOLDER + file), span)
    error = diagnostic("error", "frontend", message, span=span, excerpt=shown)
    return Failure("compile_timeout", "frontend", message, [error])


def _launch_nothing(assumptions: Assumptions) -> Mapping[Any, Callable[..., Any]]:
    def run(*_: Any, **__: Any) -> object:
        return LaunchResult(assumptions)

    return dict.fromkeys(triton_api.LAUNCHABLE, run)


def _executed(
    posted: PostedModule, module: types.ModuleType, finder: PostedFiles, *, is_main: bool
) -> types.ModuleType:
    """Import the packages around a posted module, then run it, unless one of them imported it."""
    try:
        for parent in posted.parents:
            importlib.import_module(parent)
    except Exception as error:
        path = KERNEL_FOLDER + USER_FILE
        raise StatementFailed(DroppedStatement(path, 1, frozenset(), error)) from error
    if posted.name in sys.modules:
        return sys.modules[posted.name]
    if is_main:
        module.__name__ = "__main__"
    sys.modules[posted.name] = module
    finder.exec_module(module)
    if posted.parents:
        setattr(sys.modules[posted.parents[-1]], posted.name.rpartition(".")[2], module)
    return module


_FINDERS = (PostedFiles, StandIns, StandardLibrary, MissingModules)


def forget_earlier() -> None:
    """Take away what an earlier load of this process left: its finders, and their modules.

    A zygote does it before it forks: to look through all modules copies pages in a child.
    """
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _FINDERS)]
    for name, module in list(sys.modules.items()):
        if isinstance(getattr(getattr(module, "__spec__", None), "loader", None), _FINDERS):
            del sys.modules[name]


def _note(dropped: DroppedStatement, assumptions: Assumptions) -> None:
    """Report the assumption behind a skipped statement, replacing earlier ones at its line."""
    file = dropped.path.removeprefix(KERNEL_FOLDER)
    others = [item for item in assumptions.made if (item.file, item.line) != (file, dropped.line)]
    assumptions.made[:] = others
    if isinstance(dropped.error, ImportError):
        what = f"{dropped.error}; this import is skipped, as the kernel does not need it"
    else:
        message = words_of(dropped.error)[:300]
        what = f"skipped ({message}): the kernel is assumed not to need this"
    assumptions.add(Assumption(file, dropped.line, what))
