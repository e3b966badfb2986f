"""Advice for failed imports: the missing file, or the content of a posted one.

Reads texts and what is imported already; nothing is imported here.
"""

import ast
import linecache
import sys
from collections.abc import Iterator, Sequence

from compiler.diagnostic import KERNEL_FOLDER, USER_FILE, Span, file_in_kernel
from compiler.front.diagnosis import replacements
from compiler.front.stubs.torch_stub import FOR_KERNELS
from compiler.reading.posted_files import PACKAGE
from compiler.rejection import closest

_BEYOND_TOP = "beyond top-level package"
_NO_PACKAGE = "no known parent package"
_TRITON = "triton"
_MAX_NAMES = 8
_ALIKE_IN_A_FILE = 0.66  # few names, so one that is only somewhat like it is meant


def missing_module(place: Span, module: str) -> str:
    """Return advice on a module (its dotted name) that is neither installed nor posted.

    `place` is that of the import.
    """
    if module.split(".", maxsplit=1)[0] == _TRITON:
        return _of_triton(module)
    return posting(_needed_modules(place, module))


def posting(modules: Sequence[str]) -> str:
    """Return the advice to post one of some modules."""
    paths = [f'"{module.replace(".", "/")}.py"' for module in modules]
    return (
        f"Post its file in `files` as {' or '.join(paths)}, or put what is needed into the source."
    )


def needs_of(error: ImportError, place: Span) -> list[str]:
    """Return the module to post for an import that found none; none for Triton's and Python's."""
    if (helpers := _helpers_of_torch(error)) is not None:
        return [helpers]
    if (submodule := missing_submodule(error, place)) is not None:
        return [submodule]
    top = str(error.name).split(".", maxsplit=1)[0]
    if top == _TRITON or top in sys.stdlib_module_names:
        return []
    return _needed_modules(place, str(error.name))


def _needed_modules(place: Span, module: str) -> list[str]:
    """Return the modules of which the import at `place` needs one: mostly it can only be one."""
    node = _import_at(place)
    wanted = _import_text(node, module) if node is not None else module.removeprefix(f"{PACKAGE}.")
    if not isinstance(node, ast.ImportFrom):
        return [wanted]
    tree = _tree(KERNEL_FOLDER + place.file)
    if not _is_used_as_module(node.names[0], tree):
        return [wanted]
    inner = f"{wanted}.{node.names[0].name}"
    in_kernels = any(_is_used_as_module(node.names[0], kernel) for kernel in _kernels(tree))
    return [inner] if in_kernels else [inner, f"{wanted}.__init__"]


def _kernels(tree: ast.Module) -> Iterator[ast.Module]:
    """Yield the bodies of functions below `jit`: they read attributes of modules, not objects."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = (ast.unparse(decorator) for decorator in node.decorator_list)
            if any("jit" in name.partition("(")[0].split(".") for name in names):
                yield ast.Module(node.body, type_ignores=[])


def missing_submodule(error: ImportError, place: Span) -> str | None:
    """Return the module that a file imports from a package, if that lacks it.

    Either the package's own file imports it, or the package is a folder without an `__init__.py`.
    A name that is called is not a module: the missing file is `__init__.py`.
    """
    if _BEYOND_TOP in str(error) and place.file == USER_FILE and not _packaged_name():
        return _above(place)  # the source has no path, and is in a folder as soon as one is needed
    wanted = _wanted_name(error)
    if _is_plain_folder(error) and _is_called(wanted, place):
        return f"{error.name}.__init__"
    is_own = wanted and file_in_kernel(error.path or "") == place.file
    return f"{error.name}.{wanted}" if is_own or _is_plain_folder(error) else None


def _above(place: Span) -> str | None:
    """Return the module that `from ..x import y` names, from the folder that the dots lead to."""
    node = _import_at(place)
    return (node.module or node.names[0].name) if isinstance(node, ast.ImportFrom) else None


def _is_plain_folder(error: ImportError) -> bool:
    """Return whether a name was imported from a posted folder without an `__init__.py`."""
    package = sys.modules.get(error.name or "")
    if isinstance(error, ModuleNotFoundError) or getattr(package, "__file__", None) is not None:
        return False
    folders = getattr(package, "__path__", ())
    return any(file_in_kernel(str(folder)) is not None for folder in folders)


def missing_helpers(error: ImportError) -> str | None:
    """Return advice on a module of torch's with functions for kernels, None for other imports."""
    wanted = _helpers_of_torch(error)
    if wanted is None:
        return None
    return (
        f'Post the file of your torch in `files` as "{wanted.replace(".", "/")}.py"; `tritonc` '
        "does so where it is installed next to torch."
    )


def _helpers_of_torch(error: ImportError) -> str | None:
    name = str(error.name)
    wanted = name if name in FOR_KERNELS else f"{name}.{_wanted_name(error)}"
    return wanted if wanted in FOR_KERNELS else None


def missing_name(error: ImportError, place: Span) -> str | None:
    """Return advice on a module that is there and lacks the name, or on dots that lead nowhere."""
    if _BEYOND_TOP in str(error) or _NO_PACKAGE in str(error):
        return _beyond_the_top(place)
    wanted = _wanted_name(error)
    if error.name == PACKAGE and _is_called(wanted, place):
        return (
            f'Put {wanted} into the source; or give it a `module`, such as "package.kernels", and '
            f'post the file of {wanted} in `files` as "package/__init__.py".'
        )
    if error.name == PACKAGE:
        return f'Post it in `files` as "{wanted}.py", or put what is needed into the source.'
    file = file_in_kernel(error.path or "")
    if file is None:
        return _of_installed(str(error.name), wanted)
    names = _defined(file)
    meant = closest(wanted, names, alike=_ALIKE_IN_A_FILE)
    if meant:
        return f"Did you mean {meant!r}? {file} defines it."
    return f"{file} defines {', '.join(names[:_MAX_NAMES]) or 'nothing'}."


def _wanted_name(error: ImportError) -> str:
    return str(error).partition("cannot import name '")[2].partition("'")[0]


def _posted_name() -> str:
    """Return the dotted name of the source, which is that of its `module` where it has one."""
    path = KERNEL_FOLDER + USER_FILE
    # not `getattr`, which stand-ins note as a use
    members = ((name, getattr(module, "__dict__", {})) for name, module in sys.modules.items())
    return next((name for name, own in list(members) if own.get("__file__") == path), "")


def _packaged_name() -> str:
    """Return the name of a source that the request put into a package, "" of any other."""
    name = _posted_name()
    return name if "." in name or hasattr(sys.modules.get(name), "__path__") else ""


def _beyond_the_top(place: Span) -> str:
    node = _import_at(place)
    level = node.level if isinstance(node, ast.ImportFrom) else 1
    wanted = f"package/{_path_above(place)}.py"
    if place.file == USER_FILE:
        name = _posted_name()
        is_package = hasattr(sys.modules.get(name), "__path__")
        folders = _folders_above(level, name.count(".") + is_package)
        whole = ".".join([*folders, name, *(["__init__"] if is_package else [])])
        return (
            "These dots lead out of the package of `module`: give its whole name, such as "
            f'"{whole}", and post all files under their paths in the package, such as "{wanted}".'
        )
    folders = _folders_above(level, place.file.count("/"))
    path = "/".join([*folders, place.file])
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    hint = (
        "These dots lead out of the posted files: post all files under their paths in the "
        f'package, such as "{path}" and "{wanted}", and import {module}'
    )
    name = _packaged_name()
    if "/" in place.file and not name:
        return f"{hint}."
    folder = ".".join([*folders, name or "NAME"])
    return f'{hint}, or keep a `from .` in the source: its `module` is then "{folder}".'


def _folders_above(level: int, depth: int) -> list[str]:
    """Return folders to add above a file in `depth` ones, whose `level` dots lead to the first."""
    return ["package", *["folder"] * (level - depth - 1)]


def _path_above(place: Span) -> str:
    """Return the path, without its ending, of the file that `from ..x import y` needs."""
    node = _import_at(place)
    if not isinstance(node, ast.ImportFrom):
        return "module"
    if node.module is not None:
        return node.module.replace(".", "/")
    name = node.names[0].name
    return "__init__" if name == "*" or _is_called(name, place) else name


def _of_triton(module: str) -> str:
    parent, _, name = module.rpartition(".")
    siblings = [known.rpartition(".") for known in sys.modules if known.startswith(f"{parent}.")]
    meant = closest(name, [last for above, _, last in siblings if above == parent])
    if meant is not None:
        return f"Did you mean {parent}.{meant}?"
    return (
        f"This version of Triton has no module {module}: what is needed of it has to be in the "
        "source, or in `files` under another name."
    )


def _of_installed(module: str, name: str) -> str:
    """Return advice on a name that an installed module, such as triton.language, does not have."""
    if module.startswith(f"{_TRITON}.language"):
        known = replacements.of_name(name) or replacements.advice(name)
        if known is not None:
            return known
    meant = closest(name, dir(sys.modules[module])) if module in sys.modules else None
    if meant is not None:
        return f"Did you mean {meant!r}?"
    return f"There is no {module}.{name} in the version that is installed here."


def _import_text(node: ast.Import | ast.ImportFrom, module: str) -> str:
    """Return the whole module that the import asks for, from the top of the posted files.

    `module` is the first part of it that is not there.
    """
    top = module.removeprefix(f"{PACKAGE}.")
    if isinstance(node, ast.Import):
        asked = (alias.name for alias in node.names)
        return next((name for name in asked if f"{name}.".startswith(f"{top}.")), top)
    parts = (node.module or "").split(".")
    for count in range(len(parts), 0, -1):
        if f".{top}".endswith("." + ".".join(parts[:count])):
            return ".".join([top, *parts[count:]])
    return top


def _import_at(place: Span) -> ast.Import | ast.ImportFrom | None:
    for node in ast.walk(_tree(KERNEL_FOLDER + place.file)):
        if isinstance(node, ast.Import | ast.ImportFrom) and (
            node.lineno <= place.line <= (node.end_lineno or node.lineno)
        ):
            return node
    return None


def _is_used_as_module(alias: ast.alias, tree: ast.AST) -> bool:
    """Return whether code uses an attribute of an imported name."""
    name = alias.asname or alias.name
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in ast.walk(tree)
    )


def _is_called(name: str, place: Span) -> bool:
    """Return whether the file that imports `name` calls it, as it would not call a module."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        for node in ast.walk(_tree(KERNEL_FOLDER + place.file))
    )


def _tree(path: str) -> ast.Module:
    return ast.parse("".join(linecache.getlines(path)))


def _defined(file: str) -> list[str]:
    names: dict[str, None] = {}
    for node in _tree(KERNEL_FOLDER + file).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = None
        elif isinstance(node, ast.Assign):
            names |= {target.id: None for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(a.asname or a.name).split(".")[0]: None for a in node.names}
    return list(names)
