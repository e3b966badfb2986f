"""Writes tests/MAP.md, the map from modules to their tests: `make map`."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAP = ROOT / "tests/MAP.md"
PACKAGES = (
    "compiler launch jobs sweeps programs proofs store worker service adapters tritonc".split()
)
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w., ]+))",
    re.MULTILINE,
)
MAX_THROUGH = 3
HEAD = """# Modules and their tests

Written by `make map`. For each module: the tests that import it. If no test does, the modules
through which tests reach it (at most three); a module without either is run as a process, or by
name.
"""


def product() -> dict[str, Path]:
    """Return the file of each module of the product, by its dotted name."""
    files = {}
    for package in PACKAGES:
        root = ROOT / "client" if package == "tritonc" else ROOT
        for path in sorted((root / package).rglob("*.py")):
            name = ".".join(path.relative_to(root).with_suffix("").parts)
            if path.stem != "__init__" and "._sync." not in name:
                files[name] = path
    return files


def imported(text: str) -> set[str]:
    """Return the dotted names that a text imports: modules, and names of modules."""
    names = set()
    for module, members, plain in IMPORT.findall(text):
        names.update(re.findall(r"[\w.]+", plain))
        if module:
            names.add(module)
            names.update(f"{module}.{name}" for name in re.findall(r"\w+", members))
    return names


def importers(files: Iterable[Path], modules: Mapping[str, Path]) -> dict[str, list[Path]]:
    """Return the files among `files` that import each module."""
    users = defaultdict(list)
    for path in sorted(files):
        for name in imported(path.read_text()) & set(modules):
            users[name].append(path)
    return users


def module_map() -> str:
    """Return the text of the map."""
    modules = product()
    tests = importers((ROOT / "tests").rglob("test_*.py"), modules)
    through = importers(modules.values(), modules)
    lines, folder = [HEAD], None
    for name, path in sorted(modules.items(), key=lambda item: (item[1].parent, item[0])):
        if path.parent != folder:
            folder = path.parent
            lines.append(f"\n## {folder.relative_to(ROOT)}\n\n")
        text = ", ".join(str(test.relative_to(ROOT / "tests")) for test in tests[name])
        if not text and through[name]:
            near = [str(user.relative_to(ROOT)) for user in through[name][:MAX_THROUGH]]
            text = f"through {', '.join(near)}"
        lines.append(f"- `{path.name}`: {text or 'by name'}\n")
    return "".join(lines)


if __name__ == "__main__":
    MAP.write_text(module_map())
