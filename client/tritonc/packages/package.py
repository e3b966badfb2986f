"""A kernel's file as a module of its package, and what of the package the service was sent.

At first that is the file and the `__init__.py` of the packages around it. The service executes them
and names the modules that the kernel needs; these are sent, or listed as absent.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tritonc.diagnostic import Problem
from tritonc.packages.module_place import (
    INIT,
    LIBRARIES,
    ModulePlace,
    climbs,
    is_sendable,
    place_of,
)
from tritonc.packages.module_sources import (
    FolderModules,
    ModuleSources,
    ModuleText,
    ReadText,
    parents_of,
    parsed,
    read_text,
)

MAX_ROUNDS = 5
NEAR_ROUNDS = 3
"""Of these: those that send only modules that the file, or a module that was sent, imports."""
MAX_FILES = 512  # in one request
MAX_BYTES = 4 << 20  # of their texts
MAX_ABSENT = 512
_SHOWN = 3
_STANDARD = Path("-")
_MAX_CHARS = 1 << 20


class Package:
    """The part of a file's package that a request has; `supply` adds what the service asks for.

    `named` are further files by their paths in the request, which are always sent. With
    `sends_modules=False` nothing else is. `paths` are the files on this machine by their names.
    """

    def __init__(
        self,
        module: str,
        text: str,
        sources: ModuleSources,
        *,
        named: Mapping[str, str] | None = None,
        sends_modules: bool = True,
        place: ModulePlace | None = None,
    ) -> None:
        self.module = module
        self.files: dict[str, str] = {}
        self.absent: list[str] = []
        self.paths: dict[str, Path] = {}
        self.asked: list[str] = []
        """The modules that the service asked for."""
        self.unreadable: dict[str, str] = {}
        """The reason for each module that is here and cannot be read; it is absent, too."""
        self._sources = sources
        self._named = dict(named or {})
        self._sends_modules = sends_modules
        self._place = place
        self._rounds = 0
        self._imported = _imported_names(text, module)
        self._left_out: list[str] = []
        self._add(*(ModuleText(name, text) for name, text in self._named.items()))
        if sends_modules:
            own = module.removesuffix(f".{INIT}")
            self._add(*self._parents(own))

    @classmethod
    def of_file(
        cls,
        path: Path,
        text: str,
        *,
        named: Mapping[str, str] | None = None,
        sends_modules: bool = True,
        read: ReadText = read_text,
        folders: Iterable[Path] = (),
    ) -> "Package":
        """Return the package of a file with this text.

        `read` reads a module, and may refuse to; `folders` are searched like the working directory.
        Standard input, `-`, is in a package of the working directory only if it imports relatively.
        """
        place = place_of(path, text)
        roots = [*folders, Path.cwd(), place.root]
        if path == _STANDARD and not climbs(text):
            place = replace(place, packages=())
        sources = FolderModules(place, roots, read)
        return cls(place.name, text, sources, named=named, sends_modules=sends_modules, place=place)

    @property
    def members(self) -> dict[str, Any]:
        """The members of a compile request."""
        members = {"files": dict(self.files), "absent": list(self.absent)}
        return {"module": self.module} | {name: value for name, value in members.items() if value}

    def supply(self, needs: Iterable[str]) -> bool:
        """Add the modules that the service asks for; return whether to ask it again.

        Those that are not here become absent, and after some rounds, or beyond the bounds of a
        request, all others.
        """
        asked = filter(is_sendable, dict.fromkeys(needs))
        needed = [name for name in asked if not self._is_absent(name)]
        if not needed or self._rounds > MAX_ROUNDS:
            return False
        self._rounds += 1
        near = [name for name in needed if name in self._imported]
        # what the packages around the file import may be all there is, and is seldom needed
        if self._rounds <= NEAR_ROUNDS and self._supply_all(near):
            return True
        return self._supply_all(needed)

    def _supply_all(self, names: Sequence[str]) -> bool:
        before = len(self.files), len(self.absent)
        for name in names:
            self.asked.append(name)
            self._supply_one(name)
        return before != (len(self.files), len(self.absent))

    def _supply_one(self, name: str) -> None:
        module = self._found(name)
        if module is not None and module.name in self.files:
            return
        if module is None:
            self._add_absent(name)
            return
        new = [item for item in (*self._parents(name), module) if item.name not in self.files]
        if self._rounds > MAX_ROUNDS or not self._has_room(new):
            self._left_out.append(name)
            self._add_absent(name, is_here=True)
        else:
            self._add(*new)
            self._imported |= _imported_names(module.text, _module_of(module.name))

    def _parents(self, name: str) -> list[ModuleText]:
        """Return the `__init__.py` of the packages around a module; folders may have none."""
        parents = map(self._found, parents_of(name))
        return [item for item in parents if item is not None and (item.text or item.path)]

    def _found(self, name: str) -> ModuleText | None:
        if (named := self._found_named(name)) is not None:
            return named
        if not self._sends_modules:
            return None
        try:
            return self._sources.find(name)
        except OSError as error:
            self.unreadable[name] = str(error)
            return None

    def _found_named(self, name: str) -> ModuleText | None:
        """Return the further file that an import finds, of the file's own folder as well."""
        path = name.replace(".", "/")
        folder = "/".join(self.module.split(".")[:-1])
        for at in (path, path.removeprefix(f"{folder}/") if folder else path):
            for suffix in (f"/{INIT}.py", ".py"):
                if (text := self._named.get(at + suffix)) is not None:
                    return ModuleText(path + suffix, text)
        return None

    def _add(self, *modules: ModuleText) -> None:
        for item in modules:
            self.files[item.name] = item.text
            if item.path is not None:
                self.paths[item.name] = item.path

    def _add_absent(self, name: str, *, is_here: bool = False) -> None:
        """List a module as absent, or the outermost package of it that is not here either."""
        missing = name
        if not is_here and name.partition(".")[0] not in LIBRARIES:
            gone = (item for item in parents_of(name) if self._found(item) is None)
            missing = next(gone, name)
        own = self.module.removesuffix(f".{INIT}")
        if f"{own}.".startswith(f"{missing}."):
            missing = name  # the packages of the file itself are there
        if len(self.absent) < MAX_ABSENT and missing not in self.absent:
            self.absent.append(missing)

    def _is_absent(self, name: str) -> bool:
        return any(f"{name}.".startswith(f"{item}.") for item in self.absent)

    def _has_room(self, new: list[ModuleText]) -> bool:
        texts = [*self.files.values(), *(item.text for item in new)]
        return len(texts) <= MAX_FILES and sum(len(text.encode()) for text in texts) <= MAX_BYTES

    @property
    def notes(self) -> list[str]:
        """Lines on what was left out, for people."""
        lines = [
            f"note: {name} cannot be read, so it counts as absent: {reason}"
            for name, reason in self.unreadable.items()
        ]
        if self._left_out:
            more = len(self._left_out) - _SHOWN
            names = ", ".join(self._left_out[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
            lines.append(
                f"note: {names} were asked for and not sent, as a request has at most "
                f"{MAX_FILES} modules, {MAX_BYTES >> 20} MiB and {MAX_ROUNDS} rounds; "
                "send others instead with --file and --no-local-imports"
            )
        return lines

    @property
    def share(self) -> str:
        """The share of the package that was sent: "3 of 211 modules of `pkg` were needed".

        "" for a file without a package.
        """
        if self._place is None or not self._place.packages:
            return ""
        top = self._place.packages[0]
        if not self.paths and f"{top}/{INIT}.py" not in self.files:
            return ""  # a folder of scripts
        sent = 1 + sum(name.startswith(f"{top}/") and name in self.paths for name in self.files)
        whole = max(sent, self._place.python_files())
        return f"{sent} of {whole} modules of `{top}` were needed"


def _module_of(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def needs_of(problem: Problem | None) -> tuple[str, ...]:
    """Return the modules that a problem asks for."""
    return problem.needs if problem is not None else ()


def with_modules(body: Mapping[str, Any], package: Package | None) -> Mapping[str, Any]:
    """Return the JSON of a request, with the module, files and absent modules of its package."""
    if package is None:
        return body
    for name in ("base", "compilation"):
        if isinstance(inner := body.get(name), Mapping):
            return {**body, name: with_modules(inner, package)}
    return {**body, **package.members}


def _imported_names(text: str, module: str) -> set[str]:
    """Return what a module may import: of `from a import b` both `a` and `a.b`.

    `module` is its own dotted name, for relative imports. Invalid Python imports nothing.
    """
    if len(text) > _MAX_CHARS:
        return set()
    return {
        name for node in ast.walk(parsed(text)) for name in _names(node, module.split(".")[:-1])
    }


def _names(node: ast.AST, package: list[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level <= len(package):
        above = package[: len(package) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)
